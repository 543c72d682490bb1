/* SPDX-License-Identifier: MIT */
/* The largest magnitude of each row, as its bits. A group handles one row. Values that are not finite are skipped,
 * because they say nothing about the other values. */
#define ITEMS 128
#define INFINITE 0x7f800000

/* The row of view view0 + v and slice s begins at first + v view_stride + s slice_stride; the result is written to
 * largest[(view0 + v) slices + s]. */
KERNEL GROUPS_OF(ITEMS, 1) void rows_largest(GLOBAL const float *RESTRICT rows, ulong first, ulong view_stride,
                                             ulong slice_stride, int columns, uint slices, uint view0,
                                             GLOBAL int *RESTRICT largest) {
    LOCAL int most[ITEMS];
    const uint row = group_id(0), v = row / slices, s = row - v * slices;
    const int item = (int)local_id(0);
    int mine = 0;
    rows += first + (ulong)v * view_stride + (ulong)s * slice_stride;
    for (int c = item; c < columns; c += ITEMS) {
        int bits = AS_INT(rows[c]) & 0x7fffffff; /* bits of magnitudes have the same order as the magnitudes */
        if (bits < INFINITE && bits > mine) mine = bits;
    }
    most[item] = mine;
    for (int n = ITEMS / 2; n > 0; n /= 2) {
        BARRIER();
        if (item < n && most[item + n] > most[item]) most[item] = most[item + n];
    }
    if (item == 0) largest[(ulong)view0 * slices + row] = most[0];
}
