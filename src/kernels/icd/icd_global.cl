/* SPDX-License-Identifier: MIT */
/* MBIR_GPU_Kernel of Algorithm 3 (Wang et al., PPoPP 2017): PARTS groups of items per SuperVoxel, in parallel. A group
 * takes one voxel after another, sums theta1 over its entries with all items, and adds the step to the buffer
 * atomically, because other groups update neighbouring voxels. The order of groups is random, and so are the last bits.
 * theta2 was summed once before. */
#ifndef PARTS
#define PARTS 32
#endif
#ifndef ITEMS
#define ITEMS 256
#endif
#ifndef PAIR
#define PAIR 2 /* numbers per read: 64 bits of the buffers, else 32 */
#endif
#ifndef READ_ONLY
#define READ_ONLY 1 /* read the matrix through the read-only cache, else through L2 only */
#endif
#ifndef DYNAMIC
#define DYNAMIC 1 /* groups fetch the next voxel, else each has its share */
#endif
#ifndef NEARBY
#define NEARBY 1 /* per-voxel data of items are in local memory, not in registers */
#endif
#include "icd_global.clh"

#define SCATTER 2654435761u /* consecutive voxels lie far apart */

#if QB_CUDA
#define READ_ENTRY(from) (READ_ONLY ? __ldg(from) : __ldcg(from))
#else
#define READ_ENTRY(from) (*(from))
#endif
#if CHUNK
#define ACROSS (CHUNK / PAIR) /* items per row */
#define TEAMS (ITEMS / ACROSS)
#endif

/* The n-th voxel of a SuperVoxel: an order that visits all, with neighbours long after each other. */
FUNCTION int voxel_of(int n) { return (int)(((uint)n * (SCATTER % (SIDE * SIDE) | 1u)) % (SIDE * SIDE)); }

#if PAIR == 2
#if QB_CUDA
#define READ_PAIR(from) __ldcg((const float2 *)(from))
#else
#define READ_PAIR(from) FLOAT2(READ_SHARED(from), READ_SHARED((from) + 1))
#endif
FUNCTION float2 ENTRIES_AT(GLOBAL const ENTRY *from) {
#if BYTES && QB_CUDA
    ushort both = READ_ENTRY((const ushort *)from);
    return FLOAT2((float)(both & 0xff), (float)(both >> 8));
#elif QB_CUDA
    return READ_ENTRY((const float2 *)from);
#else
    return FLOAT2((float)from[0], (float)from[1]);
#endif
}
#endif

/* An item's part of theta1 or, with a step, of the update of the buffer. */
#if CHUNK
#define VISIT(each)                                                                                                    \
    for (int q = item / ACROSS; q < CHUNKS && item < TEAMS * ACROSS; q += TEAMS) {                                     \
        int head = starts[slot * CHUNKS + (size_t)q], rows = head >> 16;                                               \
        size_t to = (size_t)((head & 0xffff) * VIEWS + q * CHUNK + item % ACROSS * PAIR);                              \
        size_t from = slot * ENTRIES + (size_t)(q * ROWS_MOST * CHUNK + item % ACROSS * PAIR);                         \
        for (int r = 0; r < rows; r++, to += VIEWS, from += CHUNK) { each; }                                           \
    }
#else
#define VISIT(each)                                                                                                    \
    for (int v = item; v < VIEWS; v += ITEMS) {                                                                        \
        int head = starts[slot * CHUNKS + (size_t)v], rows = head >> 16;                                               \
        size_t to = (size_t)(v * WIDTH + (head & 0xffff)), from = slot * ENTRIES + (size_t)(v * TAPS);                 \
        for (int r = 0; r < rows; r++, to++, from++) { each; }                                                         \
    }
#endif
#if PAIR == 2 && CHUNK
#define SUM                                                                                                            \
    float2 a = ENTRIES_AT(matrix + from), e = READ_PAIR(own + to), w = READ_PAIR(weight + to);                         \
    theta = FMA(a.x * w.x, e.x, theta);                                                                                \
    theta = FMA(a.y * w.y, e.y, theta)
#define TAKE                                                                                                           \
    float2 a = ENTRIES_AT(matrix + from);                                                                              \
    if (a.x != 0.0f) ATOMIC_ADD_FLOAT(own + to, -a.x * step);                                                          \
    if (a.y != 0.0f) ATOMIC_ADD_FLOAT(own + to + 1, -a.y * step)
#else
#define SUM theta = FMA((float)READ_ENTRY(matrix + from) * READ_SHARED(weight + to), READ_SHARED(own + to), theta)
#define TAKE                                                                                                           \
    float a = (float)READ_ENTRY(matrix + from);                                                                        \
    if (a != 0.0f) ATOMIC_ADD_FLOAT(own + to, -a * step)
#endif

/* part[slice][place][part]: |x' - x|, |x'|, updated voxels. */
KERNEL GROUPS_OF(ITEMS, 1) void icd_update(GLOBAL const ENTRY *RESTRICT matrix, GLOBAL const float *RESTRICT scales,
                                           GLOBAL const int *RESTRICT starts, GLOBAL const int *RESTRICT picked,
                                           int picked_at, GLOBAL const int *RESTRICT corner, GLOBAL float *x,
                                           GLOBAL const uchar *RESTRICT inside, GLOBAL const float *RESTRICT curve,
                                           int nx, int ny, qb_surrogate b, float nearest, float diagonal, int positive,
                                           int skip, GLOBAL float *left, GLOBAL const float *RESTRICT weights,
                                           GLOBAL int *next, GLOBAL int *moved, GLOBAL float4 *RESTRICT part) {
    LOCAL float sums[ITEMS], slopes[9], curves[9];
    LOCAL int taken, zeros[9];
    LOCAL float step_of;
#if NEARBY
    LOCAL float moves[3];
    LOCAL size_t slot_of;
#define CHANGED moves[0]
#define SIZE moves[1]
#define UPDATED moves[2]
#define SLOT slot_of
#define KEEPS (item == 0) /* one item writes what all read after the barrier: several writers would be a race */
#else
    float moves_0 = 0.0f, moves_1 = 0.0f, moves_2 = 0.0f;
    size_t slot_0 = 0;
#define CHANGED moves_0
#define SIZE moves_1
#define UPDATED moves_2
#define SLOT slot_0
#define KEEPS 1
#endif
    int item = (int)local_id(0), at = (int)group_id(0) / PARTS, own_part = (int)group_id(0) % PARTS;
    int places = (int)group_count(0) / PARTS, slice = (int)group_id(1), which = SUPERVOXEL_OF(at, slice);
    if (which < 0) return;
    size_t spot = (size_t)(slice * places + at), image = (size_t)slice * (size_t)(nx + 2) * (size_t)(ny + 2);
    GLOBAL float *own = left + spot * BUFFER;
    GLOBAL const float *weight = weights + spot * BUFFER;
    int x0 = corner[which] & 0xffff, y0 = corner[which] >> 16;
    if (item == 0) CHANGED = SIZE = UPDATED = 0.0f;
    for (int n = own_part, turn = 1;; turn++) {
#if DYNAMIC
        BARRIER();
        if (item == 0) taken = ATOMIC_INCREMENT(next + spot);
        BARRIER();
        n = taken;
#endif
        if (n >= SIDE * SIDE) break;
        int voxel = voxel_of(n), ix = x0 + voxel % SIDE, iy = y0 + voxel / SIDE, there = ix < nx && iy < ny;
        size_t pixel = there ? (size_t)(iy + 1) * (size_t)(nx + 2) + (size_t)(ix + 1) : (size_t)(nx + 3);
        there = there && inside[pixel];
        if (item < 9) {
            size_t other = (size_t)((LONG)pixel + (item / 3 - 1) * (nx + 2) + item % 3 - 1);
            float value = READ_SHARED(x + image + other), d = READ_SHARED(x + image + pixel) - value;
            float c = item != 4 && inside[other] ? ((item & 1) ? nearest : diagonal) * surrogate_of(b, d) : 0.0f;
            slopes[item] = c * d;
            curves[item] = c;
            zeros[item] = value == 0.0f;
        }
        if (KEEPS) SLOT = (size_t)which * SIDE * SIDE + (size_t)voxel;
        BARRIER();
        int none = 0;
        for (int m = 0; m < 9; m++) none += zeros[m];
        if (there && !(skip && none == 9)) {
            size_t slot = SLOT;
            float theta = 0.0f;
            VISIT(SUM)
            sums[item] = theta;
            for (int m = ITEMS; m > 1;) {
                int half_of = (m + 1) / 2;
                BARRIER();
                if (item + half_of < m) sums[item] += sums[item + half_of];
                m = half_of;
            }
            if (item == 0) {
                float theta2 = curve[image + pixel], old = READ_SHARED(x + image + pixel), slope = 0.0f, bent = theta2;
                float to = old;
                for (int m = 0; m < 9; m++) {
                    slope += slopes[m];
                    bent += curves[m];
                }
                if (theta2 > 0.0f) to = old + (sums[0] * scales[slot] - slope) / bent;
                to = positive ? largest(to, 0.0f) : to;
                step_of = (to - old) * scales[slot];
                x[image + pixel] = to;
                CHANGED += to > old ? to - old : old - to;
                SIZE += to < 0.0f ? -to : to;
                UPDATED += theta2 > 0.0f ? 1.0f : 0.0f;
            }
            BARRIER();
            float step = step_of;
            slot = SLOT;
            if (step != 0.0f) { VISIT(TAKE) }
            BARRIER();
        }
#if !DYNAMIC
        n = own_part + turn * PARTS;
        BARRIER();
#endif
    }
    if (item > 0) return;
    if (CHANGED != 0.0f) moved[spot] = 1;
    part[spot * PARTS + (size_t)own_part] = FLOAT4(CHANGED, SIZE, UPDATED, 0.0f);
}

/* stats[stats_at + ...][slice][SuperVoxel]: sums over its groups. */
KERNEL void icd_gain(GLOBAL const int *RESTRICT picked, int picked_at, int places, int supervoxels,
                     GLOBAL const float4 *RESTRICT part, GLOBAL float4 *RESTRICT stats, int stats_at) {
    int at = (int)global_id(0), slice = (int)group_id(1), which = at < places ? SUPERVOXEL_OF(at, slice) : -1;
    if (which < 0) return;
    float4 sum = FLOAT4(0.0f, 0.0f, 0.0f, 0.0f);
    for (int n = 0; n < PARTS; n++) {
        float4 one = part[(size_t)(slice * places + at) * PARTS + (size_t)n];
        sum.x += one.x;
        sum.y += one.y;
        sum.z += one.z;
    }
    stats[(size_t)stats_at + (size_t)slice * (size_t)supervoxels + (size_t)which] = sum;
}
