/* SPDX-License-Identifier: MIT */
/* What Algorithm 3 builds before it updates: the matrix, once, and the buffers of each batch's SuperVoxels. */
#include "icd_global.clh"

#define MADE 64 /* items of a group that builds a voxel's column */

/* A voxel of a SuperVoxel in view `view`: entries, and the first column of the buffer that has one; padding views have
 * none. */
FUNCTION int cast(qb_beam beam, int views, int view, int which, int corner, int voxel, float *tap) {
    int of = view < views ? view : 0;
    qb_look look = look_from(beam, of, begin_of(beam, of, which, corner), corner);
    return footprint_in_buffer(look, (float)(voxel % SIDE), (float)(voxel / SIDE), tap);
}

/* One group per voxel: group_id(0) of SuperVoxel group_id(1). */
KERNEL GROUPS_OF(MADE, 1) void icd_matrix(GLOBAL const LONG *RESTRICT rays, GLOBAL const float *RESTRICT shapes,
                                          float area, int views, int stride, int columns,
                                          GLOBAL const int *RESTRICT corner, GLOBAL ENTRY *RESTRICT matrix,
                                          GLOBAL float *RESTRICT scales, GLOBAL int *RESTRICT starts) {
    LOCAL float most[MADE];
    LOCAL int start[CHUNKS], rows[CHUNKS];
    int item = (int)local_id(0), voxel = (int)group_id(0), which = (int)group_id(1);
    size_t slot = (size_t)which * SIDE * SIDE + (size_t)voxel;
    qb_beam beam = {rays, shapes, stride, columns, area};
    float tap[TAPS], largest_of = 0.0f;
    for (int q = item; q < CHUNKS; q += MADE) {
        int low = WIDTH, high = 0;
        for (int n = 0; n < (CHUNK ? CHUNK : 1); n++) {
            int view = q * (CHUNK ? CHUNK : 1) + n;
            if (view >= views) continue;
            int first = cast(beam, views, view, which, corner[which], voxel, tap);
            for (int t = 0; t < TAPS; t++) largest_of = largest(largest_of, tap[t]);
            low = first < low ? first : low;
            high = first + TAPS > high ? first + TAPS : high;
        }
        start[q] = low < high ? low : 0;
        rows[q] = low < high ? (high - low < ROWS_MOST || !CHUNK ? high - low : ROWS_MOST) : 0;
        starts[slot * CHUNKS + (size_t)q] = start[q] | rows[q] << 16;
    }
    most[item] = largest_of;
    for (int n = MADE / 2; n > 0; n /= 2) {
        BARRIER();
        if (item < n) most[item] = largest(most[item], most[item + n]);
    }
    BARRIER();
    float scale = BYTES ? most[0] / 255.0f : 1.0f, per = BYTES && most[0] > 0.0f ? 255.0f / most[0]
                                                         : BYTES                 ? 0.0f
                                                                                 : 1.0f;
    if (item == 0) scales[slot] = scale;
    for (int view = item; view < VIEWS; view += MADE) {
        int first = cast(beam, views, view, which, corner[which], voxel, tap);
#if CHUNK
        int q = view / CHUNK;
        for (int r = 0; r < rows[q]; r++) {
            float entry = 0.0f;
            UNROLL
            for (int t = 0; t < TAPS; t++) entry = start[q] + r == first + t && view < views ? tap[t] : entry;
            matrix[slot * ENTRIES + (size_t)((q * ROWS_MOST + r) * CHUNK + view % CHUNK)] =
                (ENTRY)(entry * per + (BYTES ? 0.5f : 0.0f));
        }
#else
        for (int t = 0; t < TAPS; t++)
            matrix[slot * ENTRIES + (size_t)(view * TAPS + t)] = (ENTRY)(tap[t] * per + (BYTES ? 0.5f : 0.0f));
        (void)first;
#endif
    }
}

/* left[slice][place][BUFFER] and weights as floats, from errors and roots; next[slice][place] = 0. One item per
 * element. */
KERNEL void icd_build(GLOBAL const LONG *RESTRICT rays, GLOBAL const float *RESTRICT shapes, float area, int views,
                      int stride, int columns, GLOBAL const float *RESTRICT error,
                      GLOBAL const half_bits *RESTRICT root, GLOBAL const int *RESTRICT picked, int picked_at,
                      int places, GLOBAL const int *RESTRICT corner, GLOBAL float *RESTRICT left,
                      GLOBAL float *RESTRICT weights, GLOBAL int *RESTRICT next, GLOBAL int *RESTRICT moved) {
    int i = (int)global_id(0), at = (int)group_id(1), slice = (int)group_id(2);
    int which = SUPERVOXEL_OF(at, slice), spot = slice * places + at;
    if (i == 0) {
        next[spot] = 0;
        moved[spot] = 0;
    }
    if (which < 0 || i >= BUFFER) return;
    int view = CHUNK ? i % VIEWS : i / WIDTH, c = CHUNK ? i / VIEWS : i % WIDTH;
    qb_beam beam = {rays, shapes, stride, columns, area};
    float e = 0.0f, w = 0.0f;
    if (view < views) {
        int first = begin_of(beam, view, which, corner[which]);
        size_t from = ((size_t)slice * (size_t)views + (size_t)view) * (size_t)(columns + 2 * WIDTH) +
                      (size_t)(first + WIDTH + c);
        e = error[from];
        w = LOAD_HALF(from, root);
    }
    left[(size_t)spot * BUFFER + (size_t)i] = e;
    weights[(size_t)spot * BUFFER + (size_t)i] = w * w;
}
