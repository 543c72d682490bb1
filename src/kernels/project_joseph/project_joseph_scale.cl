/* SPDX-License-Identifier: MIT */
/* Multiplies rays by their lengths, for the adjoint. If the geometry is not upright, each ray goes into the copy of its
 * own axis, and zeros into the others: copy[axis] is the index of the copy, -1 = none. Rays of a batch are rays_apart
 * and out_apart floats apart. */
#include "project_joseph.clh"
#define ITEMS 256

KERNEL GROUPS_OF(ITEMS, 1) void project_joseph_scale(GLOBAL const float *RESTRICT rays, ulong rays_at,
                                                     GLOBAL const float *RESTRICT records, int first_view, int views,
                                                     ulong rays_apart, ulong out_apart, int rows, int columns,
                                                     int stride, int copy_x, int copy_y, int copy_z, ulong copy_floats,
                                                     float vx, float vy, float vz, GLOBAL float *RESTRICT out) {
    const int i = (int)group_id(0) * ITEMS + (int)local_id(0), column = (int)group_id(1), row = i - FRONT;
    const ulong view = (ulong)((int)group_id(2) % views), member = (ulong)((int)group_id(2) / views);
    if (i >= stride) return;
    rays += member * rays_apart;
    out += member * out_apart;
    const ulong at = (view * (ulong)columns + (ulong)column) * (ulong)stride + (ulong)i;
    const bool real = row >= 0 && row < rows;
    const float value = real ? rays[rays_at + at] : 0.0f;
#if VERTICAL
    GLOBAL const float *fan = records + (((ulong)first_view + view) * (ulong)columns + (ulong)column) * RECORD;
    out[at] = MUL(value, vertical_length(fan, (float)row, vz));
#else
    GLOBAL const float *record = records + ((ulong)first_view + view) * RECORD;
    float2 along[3];
    for (int j = 0; j < 3; j++) along[j] = component(record, 0, j, (float)column, (float)row);
    const int axis = axis_of(along);
    const float scaled = real ? MUL(value, length_of(along, axis, vx, vy, vz)) : 0.0f;
    if (copy_x >= 0) out[at + (ulong)copy_x * copy_floats] = axis == 0 ? scaled : 0.0f;
    if (copy_y >= 0) out[at + (ulong)copy_y * copy_floats] = axis == 1 ? scaled : 0.0f;
    if (copy_z >= 0) out[at + (ulong)copy_z * copy_floats] = axis == 2 ? scaled : 0.0f;
#endif
}
