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

/* The row of view view0 + v and slice s begins at offset + v * view_stride + s * slice_stride
 * floats. Groups of 256 items: x over columns, y over views, z over the groups of slices from
 * `group0`; all of them are scaled alike. */
KERNEL GROUPS_OF(256, 1) void bp_parallel_pack(GLOBAL const float *RESTRICT rows, ulong offset,
                                               ulong view_stride, ulong slice_stride, int columns,
                                               int views, int view0, int view1, int group0,
                                               int slices, float4 scale_low, float4 scale_high,
                                               GLOBAL STORED *RESTRICT packed) {
    const int column = (int)(group_id(0) * 256 + local_id(0));
    const int group = group0 + (int)group_id(2);
    const float scale[8] = {scale_low.x,  scale_low.y,  scale_low.z,  scale_low.w,
                            scale_high.x, scale_high.y, scale_high.z, scale_high.w};
    if (column >= columns) return;
    for (int v = view0 + (int)group_id(1); v < view1; v += (int)group_count(1)) {
        GLOBAL const float *from = rows + offset + (ulong)(v - view0) * view_stride + column;
        float value[SLICES];
        UNROLL for (int s = 0; s < SLICES; s++) {
            const int slice = group * SLICES + s;
            value[s] = slice < slices ? from[(ulong)slice * slice_stride] * scale[s] : 0.0f;
        }
        packed[((ulong)group * (ulong)views + (ulong)v) * (ulong)columns + (ulong)column] =
            STORE(value);
    }
}

/* undo[at ..] of one group's slices. */
KERNEL GROUPS_OF(32, 1) void bp_parallel_pack_undo(float4 low, float4 high,
                                                   GLOBAL float *RESTRICT undo, ulong at) {
    const float value[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
    if (local_id(0) == 0)
        UNROLL for (int s = 0; s < SLICES; s++) undo[at + (ulong)s] = value[s];
}
