/* SPDX-License-Identifier: MIT */
/* Plain rows -> the layout of the families texture, alu, hybrid and direct:
 * packed[group][view][column][slice of the group], float or half. Slices beyond the last are zeros.
 * Halves are scaled by a power of two per slice; the end of the packed memory keeps what undoes it,
 * one float a slice. */
#ifndef SLICES
#define SLICES 4 /* of a group */
#endif
#ifndef HALF
#define HALF 0
#endif

#if HALF
#define STORED JOIN(HALVES_, SLICES)
#define STORE JOIN(PACK_HALVES_, SLICES)
#else
#define STORED JOIN(FLOATS_, SLICES)
#define STORE JOIN(PACK_FLOATS_, SLICES)
#endif

/* Scales of the slices of one launch. */
#define SCALES 64
typedef struct scales {
    float of[SCALES];
} scales;

/* Rows that an item takes at a time, so that several loads are under way. */
#define BATCH (SLICES == 1 ? 8 : SLICES == 2 ? 4 : 2)

/* The row of view view0 + v and slice s begins at offset + v * view_stride + s * slice_stride
 * floats. Groups of 256 items: x over columns, y over views, z over the groups of slices from
 * `group0`. undo: the packed memory again, the factors from undo_at on. */
KERNEL GROUPS_OF(256, 1) void bp_parallel_pack(GLOBAL const float *RESTRICT rows, ulong offset,
                                               ulong view_stride, ulong slice_stride, int columns,
                                               int views, int view0, int view1, int group0,
                                               int slices, const scales scale,
                                               GLOBAL STORED *RESTRICT packed,
                                               GLOBAL float *RESTRICT undo, ulong undo_at) {
    const int column = (int)(group_id(0) * 256 + local_id(0));
    const int group = group0 + (int)group_id(2), step = (int)group_count(1);
    float factor[SLICES];
    UNROLL for (int s = 0; s < SLICES; s++) factor[s] =
        HALF ? scale.of[(int)group_id(2) * SLICES + s] : 1.0f;
    if (HALF && column == 0 && group_id(1) == 0)
        UNROLL for (int s = 0; s < SLICES; s++) undo[undo_at + (ulong)(group * SLICES + s)] =
            1.0f / factor[s];
    if (column >= columns) return;
    rows += offset + (ulong)column + (ulong)(group * SLICES) * slice_stride;
    packed += (ulong)group * (ulong)views * (ulong)columns + (ulong)column;
    for (int first = view0 + (int)group_id(1); first < view1; first += BATCH * step) {
        float value[BATCH][SLICES];
        UNROLL for (int i = 0; i < BATCH; i++) UNROLL for (int s = 0; s < SLICES; s++) {
            const int v = first + i * step;
            const int there = v < view1 && group * SLICES + s < slices;
            GLOBAL const float *from = rows + (ulong)(v - view0) * view_stride;
            value[i][s] = there ? from[(ulong)s * slice_stride] * factor[s] : 0.0f;
        }
        UNROLL for (int i = 0; i < BATCH; i++) {
            const int v = first + i * step;
            if (v < view1) packed[(ulong)v * (ulong)columns] = STORE(value[i]);
        }
    }
}
