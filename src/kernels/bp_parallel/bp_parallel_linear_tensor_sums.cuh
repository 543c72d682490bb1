/* SPDX-License-Identifier: MIT */
/* The sums of a warp of bp_parallel_linear_tensor.cu: their layout, moving and storing them. */
#include "bp_parallel_linear_tensor.cuh"

/* The sums of 64 pixels x 64 slices: strip, tile, eight of slices, in the layout of the matrix product. */
typedef float sums[2][2][8][4];

__device__ __forceinline__ void clear(sums &sum) {
#pragma unroll
    for (int i = 0; i < 128; i++) (&sum[0][0][0][0])[i] = 0.0f;
}

/* Pixel of this lane's slot: rows g and g + 8 of both tiles of strip 0. */
__device__ __forceinline__ u32 pixel_of(const u8 *shapes, int shape, int slot) {
    return shapes[shape * 32 + 8 * slot + ((threadIdx.x & 31) >> 2)];
}

/* Put the sums of eight slices (the j-th eight) into the exchange buffer at their pixels. */
__device__ __forceinline__ void put_sums(const sums &sum, int j, const u32 (&pixel)[4], float *buffer) {
    const u32 t = threadIdx.x & 3;
#pragma unroll
    for (int k = 0; k < 8; k++) {
        const u32 p = k < 4 ? pixel[k & 3] : 63 - pixel[k & 3];
        const float *c = sum[k >> 2][(k >> 1) & 1][j] + 2 * (k & 1);
        *(float2 *)&buffer[p * EXCHANGE_ROW + 2 * t] = make_float2(c[0], c[1]);
    }
}

/* Move the sums from one shape's pixels to another's. */
__device__ __forceinline__ void reorder(sums &sum, const u8 *shapes, int from, int to, float *buffer) {
    u32 old[4], pixel[4];
#pragma unroll
    for (int i = 0; i < 4; i++) {
        old[i] = pixel_of(shapes, from, i);
        pixel[i] = pixel_of(shapes, to, i);
    }
    const u32 t = threadIdx.x & 3;
#pragma unroll
    for (int j = 0; j < 8; j++) {
        __syncwarp();
        put_sums(sum, j, old, buffer);
        __syncwarp();
#pragma unroll
        for (int k = 0; k < 8; k++) {
            const u32 p = k < 4 ? pixel[k & 3] : 63 - pixel[k & 3];
            float *c = sum[k >> 2][(k >> 1) & 1][j] + 2 * (k & 1);
            const float2 f = *(const float2 *)&buffer[p * EXCHANGE_ROW + 2 * t];
            c[0] = f.x;
            c[1] = f.y;
        }
    }
}

/* Write the sums, or add them to what this thread has written before. */
__device__ __forceinline__ void store(const sums &sum, const u8 *shapes, int shape, const float *scales, float *out,
                                      const struct job &job, u32 x0, u32 y0, u32 slice0, bool add, float *buffer) {
    const u32 lane = threadIdx.x & 31;
    u32 slot[4];
#pragma unroll
    for (int i = 0; i < 4; i++) slot[i] = pixel_of(shapes, shape, i);
#pragma unroll
    for (int j = 0; j < 8; j++) {
        __syncwarp();
        put_sums(sum, j, slot, buffer);
        __syncwarp();
        for (u32 n = 0; n < 8 && slice0 + 8 * j + n < job.slices; n++) {
            const u32 slice = slice0 + 8 * j + n;
            const float unscale = 1.0f / scales[slice]; /* a power of two, so this is exact */
#pragma unroll
            for (u32 k = 0; k < 2; k++) {
                const u32 pixel = lane + 32 * k, x = x0 + (pixel & 7), y = y0 + (pixel >> 3);
                float *to = out + job.out_offset + ((u64)slice * job.ny + y) * job.nx + x;
                const float value = buffer[pixel * EXCHANGE_ROW + n] * unscale;
                if (x >= job.nx || y >= job.ny) continue;
                if (add)
                    asm volatile("red.global.add.f32 [%0], %1;" ::"l"(to), "f"(value) : "memory");
                else
                    *to = value;
            }
        }
    }
    __syncwarp();
}
