/* SPDX-License-Identifier: MIT */
/* Adds the changes of a batch's SuperVoxel buffers to the errors: SuperVoxel by SuperVoxel in the batch's order, one
 * group of items per view, so that the bits are the same in every run. */
#include "icd_buffers.clh"
#ifdef CHUNK
#include "icd_global.clh"
#define LEFT_AT(spot, view, column) ((size_t)(spot)*BUFFER + (size_t)BUFFER_AT(view, column))
#else
#define LEFT_AT(spot, view, column) (((size_t)(spot) * (size_t)views + (size_t)(view)) * WIDTH + (size_t)(column))
#endif

#define ITEMS 256

/* left[slice][place] of each view [WIDTH]; SuperVoxels that have not changed are skipped. An item owns columns; few
 * SuperVoxels of a batch touch any of them. */
KERNEL GROUPS_OF(ITEMS, 1) void icd_return(GLOBAL const LONG *RESTRICT rays, GLOBAL const float *RESTRICT shapes,
                                           float area, int views, int stride, int columns,
                                           GLOBAL const int *RESTRICT picked, int picked_at, int places,
                                           GLOBAL const int *RESTRICT corner, GLOBAL const int *RESTRICT moved,
                                           GLOBAL const float *RESTRICT left,
                                           GLOBAL float *RESTRICT error LOCAL_DYNAMIC_ARGUMENT(int, start)) {
    LOCAL_DYNAMIC(int, start);
    int item = (int)local_id(0), view = (int)group_id(0), slice = (int)group_id(1), rows = columns + 2 * WIDTH;
    qb_beam beam = {rays, shapes, stride, columns, area};
    GLOBAL float *line = error + ((size_t)slice * (size_t)views + (size_t)view) * (size_t)rows;
    int padded = (places + 31) / 32 * 32;
    for (int at = item; at < padded; at += ITEMS) {
        int which = at < places ? SUPERVOXEL_OF(at, slice) : -1;
        start[at] = -2 * WIDTH - 64; /* before all columns */
        if (which >= 0 && moved[slice * places + at]) start[at] = WIDTH + begin_of(beam, view, which, corner[which]);
    }
    BARRIER();
    for (int low = item / 32 * 32; low < rows; low += ITEMS) {
        int c = low + item % 32;
        float before = c < rows ? line[c] : 0.0f, sum = 0.0f;
        for (int base = 0; base < padded; base += 32) {
#if QB_CUDA
            int from = start[base + item % 32];
            uint hits = __ballot_sync(0xffffffffu, from < low + 32 && from + WIDTH > low);
            for (; hits; hits &= hits - 1) {
                int at = base + __ffs((int)hits) - 1, inner = c - start[at];
                if (inner >= 0 && inner < WIDTH) sum += left[LEFT_AT(slice * places + at, view, inner)] - before;
            }
#else
            for (int at = base; at < base + 32; at++) {
                int inner = c - start[at];
                if (inner >= 0 && inner < WIDTH) sum += left[LEFT_AT(slice * places + at, view, inner)] - before;
            }
#endif
        }
        if (c < rows && sum != 0.0f) line[c] = before + sum;
    }
}
