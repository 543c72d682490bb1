// arch: 80
/* SPDX-License-Identifier: MIT */
/* bp_parallel_linear.tensor and .tensor_split: parallel-beam back-projection as a product of small matrices. The
 * weights of a pixel do not depend on the slice, so for pixels that lie within BINS columns of a view
 *
 *   R[pixel][slice] += W[pixel][bin] D[bin][slice],   W = max(0, 1 - |h(pixel) - bin|).
 *
 * A warp owns 8x8 pixels and 64 slices, with the sums in registers. For each view the 64 pixels are divided across the
 * ray into two strips of 32 pixels, each within BINS columns; a strip is two m16 tiles that share their columns. The
 * division into strips, the shape, depends on the angle: views are sorted by shape, and the sums are reordered within
 * the warp when it changes. Strip 1 is strip 0 rotated by 180 degrees and its columns are read in descending order, so
 * the pixels of both have the same distances from their first column, except for a fraction below 1 that depends on the
 * strip's position. The distances are a table made by the host; W is computed from them in registers.
 *
 * Producer warps stream the columns and the table of VIEWS views at a time through STAGES stages. The packed data are
 * [group of 64 slices][view][plane][column + PAD][64 + 8] half floats; the last 8 make matrix loads free of bank
 * conflicts; PAD zero rows are on both sides of the detector. With SPLIT, data and weights are pairs of half floats
 * (high and low) and three products are summed. */
#include "bp_parallel_linear_tensor_produce.cuh"
#include "bp_parallel_linear_tensor_sums.cuh"

/* Rows that a lane reads. In matrix loads, lanes 0-7 and 16-23 address rows of a pair's first block of columns, the
 * others those of its second; lanes 0-15 the even groups of eight slices, the others the odd ones. */
struct fetch {
    u32 lane, second, down;
};

__device__ __forceinline__ struct fetch fetch_of(u32 lane) {
    struct fetch f;
    f.lane = lane;
    f.second = (lane >> 3) & 1;
    f.down = ((lane & 7) + (BLOCKS > 1 ? 8 * f.second : 0)) * ROW_BYTES;
    return f;
}

/* A stage as seen by a consumer. */
struct staged {
    const uint4 *table;
    const u32 *rows, *fractions; /* [strip][view] */
};

/* Blocks of 8 columns are processed in pairs: two views, or two blocks of one. */
#define PAIRS (VIEWS * BLOCKS / 2)
#define FIRST(pair) (2 * (pair) / BLOCKS)
#define SECOND(pair) ((2 * (pair) + 1) / BLOCKS)

/* Address of this lane's row of a strip, for the even eight of slices 0. */
__device__ __forceinline__ u32 row_of(const struct staged &stage, const struct fetch &f, u32 pair, u32 strip) {
    const u32 *rows = stage.rows + strip * VIEWS;
    const u32 row = BLOCKS == 1 ? rows[f.second * (VIEWS / 2) + pair] : rows[FIRST(pair)];
    const u32 down = f.down + (BLOCKS == 1 ? 0 : 8 * (2 * pair % BLOCKS)) * ROW_BYTES;
    return (strip ? row - down : row + down) + ((f.lane >> 4) << 4);
}

#if SPLIT
/* Adds the views of a stage. */
__device__ __forceinline__ void add_stage(sums &sum, const struct staged &stage, const struct fetch &f) {
#pragma unroll unrolled
    for (u32 pair = 0; pair < PAIRS; pair++) {
#pragma unroll
        for (u32 strip = 0; strip < 2; strip++) {
            u32 high[2][4], low[2][4];
            const u32 address = row_of(stage, f, pair, strip);
#pragma unroll
            for (u32 block = 0; block < 2; block++) {
                const u32 *fractions = stage.fractions + strip * VIEWS;
                const float fraction = __uint_as_float(fractions[block ? SECOND(pair) : FIRST(pair)]);
                const uint4 o = stage.table[(2 * pair + block) * 32 + f.lane];
                const u32 offset[4] = {o.x, o.y, o.z, o.w};
#pragma unroll
                for (int i = 0; i < 4; i++)
                    weights_split(fraction + __uint_as_float(offset[i]), high[i >> 1][2 * block + (i & 1)],
                                  low[i >> 1][2 * block + (i & 1)]);
            }
#pragma unroll
            for (int j = 0; j < 8; j += 2) {
                u32 b[4], rest[4];
                load_matrices(b, address + 16 * j);
                load_matrices(rest, address + 16 * j + PLANE_BYTES);
#pragma unroll
                for (int i = 0; i < 4; i++)
                    multiply(sum[strip][i >> 1][j + (i & 1)], high[i >> 1], rest[2 * (i & 1)], rest[2 * (i & 1) + 1]);
#pragma unroll
                for (int i = 0; i < 4; i++)
                    multiply(sum[strip][i >> 1][j + (i & 1)], low[i >> 1], b[2 * (i & 1)], b[2 * (i & 1) + 1]);
#pragma unroll
                for (int i = 0; i < 4; i++)
                    multiply(sum[strip][i >> 1][j + (i & 1)], high[i >> 1], b[2 * (i & 1)], b[2 * (i & 1) + 1]);
            }
        }
    }
}
#else
/* Adds the views of a stage. */
__device__ __forceinline__ void add_stage(sums &sum, const struct staged &stage, const struct fetch &f) {
#pragma unroll unrolled
    for (u32 pair = 0; pair < PAIRS; pair++) {
        const uint2 *table = (const uint2 *)stage.table + 2 * pair * 32 + f.lane;
        const uint2 o0 = table[0], o1 = table[32];
        const u32 offset[2][2] = {{o0.x, o0.y}, {o1.x, o1.y}};
#pragma unroll
        for (u32 strip = 0; strip < 2; strip++) {
            const u32 *fractions = stage.fractions + strip * VIEWS;
            const u32 f0 = fractions[FIRST(pair)], f1 = fractions[SECOND(pair)];
            const u32 address = row_of(stage, f, pair, strip);
            u32 a[2][4], b[4][4];
#pragma unroll
            for (int j = 0; j < 4; j++) load_matrices(b[j], address + 32 * j);
#pragma unroll
            for (int i = 0; i < 4; i++) {
                a[i >> 1][i & 1] = weights(f0, offset[0][i >> 1], i & 1);
                a[i >> 1][2 + (i & 1)] = weights(f1, offset[1][i >> 1], i & 1);
            }
#pragma unroll
            for (int j = 0; j < 8; j++)
#pragma unroll
                for (int tile = 0; tile < 2; tile++)
                    multiply(sum[strip][tile][j], a[tile], b[j >> 1][2 * (j & 1)], b[j >> 1][2 * (j & 1) + 1]);
        }
    }
}
#endif

__device__ __forceinline__ void consume(const u8 *shapes, const float *scales, float *out, const struct job &job,
                                        u32 works, const u8 *ring, struct shared_tables *shared) {
    const u32 warp = threadIdx.x >> 5, lane = threadIdx.x & 31;
    const u32 wx = 8 * (warp % WARPS_X), wy = 8 * (warp / WARPS_X);
    const struct fetch fetch = fetch_of(lane);
    float *buffer = shared->exchange[warp];
    u32 stage = 0, phase = 0;
    for (u32 work = blockIdx.x; work < works; work += gridDim.x) {
        const struct place at = place_of(work, job);
        sums sum;
        clear(sum);
        int shape = -1;
        u32 done = 0; /* views written */
        for (u32 v = 0; v < job.views; v += VIEWS) {
            barrier_wait(shared_address(&shared->full[stage]), phase);
            const int next = shared->shape[stage];
            if (next >= 0) { /* else these views are off the detector */
                if (SPLIT && v - done >= PART) {
                    store(sum, shapes, max(shape, 0), scales, out, job, at.x + wx, at.y + wy, 64 * at.group, done > 0,
                          buffer);
                    clear(sum);
                    done = v;
                } else if (shape >= 0 && next != shape) {
                    reorder(sum, shapes, shape, next, buffer);
                }
                shape = next;
                const struct staged staged = {(const uint4 *)(ring + stage * STAGE_BYTES + VIEWS * VIEW_BYTES),
                                              shared->rows[stage][warp][0], shared->fractions[stage][warp][0]};
                add_stage(sum, staged, fetch);
            }
            __syncwarp();
            empty_arrive(stage);
            if (++stage == STAGES) {
                stage = 0;
                phase ^= 1;
            }
        }
        store(sum, shapes, max(shape, 0), scales, out, job, at.x + wx, at.y + wy, 64 * at.group, done > 0, buffer);
    }
}

/* Groups of THREADS, as many as are resident; each takes every gridDim.x-th piece of work. The packed data end with the
 * slices' scales. table: [view][block][lane][4 slots] distances of the lane's pixels from column 2 t of the block, as
 * half floats, with SPLIT as floats. */
extern "C" __global__ void __launch_bounds__(THREADS, 1)
    bp_parallel_linear_tensor(const u8 *packed, const struct view *views, const u8 *table, const u8 *shapes, float *out,
                              struct job job) {
    extern __shared__ __align__(128) u8 dynamic[];
    __shared__ struct shared_tables shared;
    const u32 groups = (job.slices + 63) / 64;
    const u32 works = groups * ((job.nx + 31) / 32) * ((job.ny + 15) / 16);
    if (threadIdx.x < STAGES) {
        barrier_init(shared_address(&shared.full[threadIdx.x]), FULL_ARRIVALS);
#if BULK
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
#endif
    }
    __syncthreads();
    if (threadIdx.x >= 32 * WARPS) {
        GIVE_REGISTERS;
        if (threadIdx.x < 32 * (WARPS + TURNS))
            produce(packed, views, table, job, works, shared_address(dynamic), &shared);
    } else {
        TAKE_REGISTERS;
        const u64 group_bytes = (u64)job.packed_views * PLANES * (u64)(job.columns + 2 * PAD) * ROW_BYTES;
        consume(shapes, (const float *)(packed + groups * group_bytes), out, job, works, dynamic, &shared);
    }
}
