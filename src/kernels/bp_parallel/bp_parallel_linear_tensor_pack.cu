// arch: 80
/* SPDX-License-Identifier: MIT */
/* Converts rows of float32 to the layout of bp_parallel_linear_tensor.cu: [group of 64 slices][view] [plane][column +
 * PAD][64 + 8] half floats, the last 8 zero. Values are multiplied by their slice's scale, a power of two, so that they
 * fit; the scales follow the data. Plane 1, with SPLIT, holds the rounding errors of plane 0. A group of 256 threads
 * packs one view, 64 slices, COLUMNS columns. */
#ifndef PAD
#define PAD 48
#endif
#ifndef SPLIT
#define SPLIT 0
#endif
#ifndef COLUMNS
#define COLUMNS 64 /* columns of a group: 64 or 128 */
#endif
#define PLANES (1 + SPLIT)
#define HALVES (COLUMNS / 32)
/* Groups begin at multiples of COLUMNS columns, so that whole cache lines of rows are read. */
#define SHIFT ((COLUMNS - PAD % COLUMNS) % COLUMNS)
#define ROW_BYTES 144
#define GROUPS 8 /* most groups of slices per launch */

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;

struct pack_job {
    u64 view_stride, slice_stride, offset, scales_at; /* strides of the rows in floats; offsets in bytes */
    u32 view0, packed_views, columns, slices, group, unused;
    float scale[GROUPS][64]; /* scales of the groups of this launch; the first of these groups is `group` */
};

__device__ __forceinline__ u32 half_pair(float low, float high) {
    u32 r;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
    return r;
}

__device__ __forceinline__ u32 rest_pair(float low, float high, u32 pair) {
    float h0, h1;
    asm("{\n.reg .b16 a, b;\nmov.b32 {a, b}, %2;\ncvt.f32.f16 %0, a;\ncvt.f32.f16 %1, b;\n}"
        : "=f"(h0), "=f"(h1)
        : "r"(pair));
    return half_pair(low - h0, high - h1);
}

extern "C" __global__ void __launch_bounds__(256)
    bp_parallel_linear_tensor_pack(const float *rows, u8 *packed, struct pack_job job) {
    __shared__ u32 tile[PLANES][COLUMNS][33]; /* [column][pair of slices] */
    const u32 lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const u32 view = blockIdx.y, padded = job.columns + 2 * PAD;
    const u32 row0 = COLUMNS * blockIdx.x - SHIFT; /* may wrap below zero; so may columns */
    const u32 group = job.group + blockIdx.z;
    const float *scale = job.scale[blockIdx.z];
    const float *from = rows + job.offset + view * job.view_stride;
    float value[HALVES][4][2];
#pragma unroll
    for (u32 i = 0; i < 4; i++)
#pragma unroll
        for (u32 odd = 0; odd < 2; odd++)
#pragma unroll
            for (u32 h = 0; h < HALVES; h++) {
                const u32 slice = 64 * group + 2 * (warp + 8 * i) + odd;
                const u32 column = row0 + 32 * h + lane - PAD;
                value[h][i][odd] = slice < job.slices && column < job.columns
                                       ? __ldcs(from + slice * job.slice_stride + column)
                                       : 0.0f;
            }
#pragma unroll
    for (u32 h = 0; h < HALVES; h++)
#pragma unroll
        for (u32 i = 0; i < 4; i++) {
            const u32 pair = warp + 8 * i, column = 32 * h + lane;
            const float low = value[h][i][0] * scale[2 * pair];
            const float high = value[h][i][1] * scale[2 * pair + 1];
            const u32 rounded = half_pair(low, high);
            tile[0][column][pair] = rounded;
#if SPLIT
            tile[1][column][pair] = rest_pair(low, high, rounded);
#endif
        }
    __syncthreads();
    u8 *to = packed + ((u64)group * job.packed_views + job.view0 + view) * PLANES * ((u64)padded * ROW_BYTES);
#pragma unroll
    for (u32 plane = 0; plane < PLANES; plane++)
        for (u32 i = threadIdx.x; i < 9 * COLUMNS; i += 256) {
            const u32 r = i / 9, piece = i - 9 * r;
            const u32 *w = &tile[plane][r][4 * (piece & 7)];
            if (row0 + r < padded)
                *(uint4 *)(to + ((u64)plane * padded + (row0 + r)) * ROW_BYTES + 16 * piece) =
                    piece < 8 ? make_uint4(w[0], w[1], w[2], w[3]) : make_uint4(0, 0, 0, 0);
        }
    if (blockIdx.x == 0 && view == 0 && threadIdx.x < 64)
        ((float *)(packed + job.scales_at))[64 * group + threadIdx.x] = scale[threadIdx.x];
}
