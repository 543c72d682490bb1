/* SPDX-License-Identifier: MIT */
/* The producer warps of bp_parallel_linear_tensor.cu. */
#include "bp_parallel_linear_tensor.cuh"

/* A view in work. */
struct columns {
    float ax, ay, first, origin; /* origin: h of the group's origin, from the first column in the stage */
    const u8 *from;
    u32 to, bytes;
    bool none; /* no column is on the detector */
};

__device__ __forceinline__ struct columns columns_of(const struct view &view, const struct place &at,
                                                     const struct job &job, const u8 *packed, u32 buffer) {
    struct columns c;
    const double h = fma(view.ax, (double)at.x, fma(view.ay, (double)at.y, view.h0));
    const double base = floor(h + ((double)view.low - 0.01));
    /* If nothing is on the detector, any zero rows are used. */
    const double there = fmin(fmax(base, (double)-PAD), (double)((int)job.columns + PAD - view.rows));
    const u32 row = (u32)((int)there + PAD);
    c.ax = (float)view.ax;
    c.ay = (float)view.ay;
    c.first = view.first;
    c.origin = (float)(h - base);
    c.from =
        packed + (((u64)at.group * job.packed_views + view.row) * PLANES * (job.columns + 2 * PAD) + row) * ROW_BYTES;
    c.to = buffer;
    c.none = base + view.rows <= 0.0 || base >= (double)job.columns;
    c.bytes = (u32)view.rows * ROW_BYTES;
    return c;
}

/* First row and fraction of a warp's strip. */
__device__ __forceinline__ void place_strip(const struct columns &view, u32 warp, u32 strip, u32 *row, u32 *fraction) {
    const float wx = (float)(8 * (warp % WARPS_X)), wy = (float)(8 * (warp / WARPS_X));
    const float h = fmaf(view.ax, wx, fmaf(view.ay, wy, view.origin));
    float whole, part;
    if (strip == 0) {
        const float least = h + view.first;
        whole = floorf(least);
        part = least - whole;
    } else {
        const float most = h + (7.0f * (view.ax + view.ay) - view.first);
        whole = ceilf(most);
        part = whole - most;
    }
    *row = view.to + (u32)((int)whole * ROW_BYTES);
    *fraction = SPLIT ? __float_as_uint(part) : half_pair(part, part - 1.0f);
}

#if BULK
__device__ __forceinline__ void copy(u32 to, const u8 *from, u32 bytes, u32 full) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1], %2, [%3];" ::"r"(to),
                 "l"(from), "r"(bytes), "r"(full)
                 : "memory");
}
#else
/* Called by all lanes. */
__device__ __forceinline__ void copy(u32 to, const u8 *from, u32 bytes) {
    for (u32 b = (threadIdx.x & 31) * 16; b < bytes; b += 512)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to + b), "l"(from + b) : "memory");
}
#endif

/* The columns of a stage's views, one per lane, and the table of distances. */
__device__ __forceinline__ void copy_stage(const struct columns &view, u64 plane_stride, u32 table_to, const u8 *table,
                                           u32 full) {
    const u32 lane = threadIdx.x & 31;
#if BULK
    if (lane < VIEWS) {
        asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], %1;" ::"r"(full),
                     "r"(view.bytes * PLANES + (lane ? 0 : TABLE_BYTES))
                     : "memory");
        for (int plane = 0; plane < PLANES; plane++)
            copy(view.to + plane * PLANE_BYTES, view.from + plane * plane_stride, view.bytes, full);
        if (lane == 0) copy(table_to, table, TABLE_BYTES, full);
    }
#else
    for (int i = 0; i < VIEWS; i++) {
        const u8 *from = (const u8 *)__shfl_sync(~0u, (u64)view.from, i);
        const u32 to = __shfl_sync(~0u, view.to, i), bytes = __shfl_sync(~0u, view.bytes, i);
        for (int plane = 0; plane < PLANES; plane++) copy(to + plane * PLANE_BYTES, from + plane * plane_stride, bytes);
    }
    copy(table_to, table, TABLE_BYTES);
#endif
}

/* Index of a view's row address among those of a strip: first the first views of all pairs, then the second ones. */
#define ROW_PLACE(view) (BLOCKS == 1 ? ((view)&1) * (VIEWS / 2) + (view) / 2 : (view))

__device__ __forceinline__ void produce(const u8 *packed, const struct view *views, const u8 *table,
                                        const struct job &job, u32 works, u32 ring, struct shared_tables *shared) {
    const u32 lane = threadIdx.x & 31, mine = lane % VIEWS;
    const u64 plane_stride = (u64)(job.columns + 2 * PAD) * ROW_BYTES;
    /* Producers take turns. */
    const u32 steps = job.views / VIEWS;
    u32 step = threadIdx.x / 32 - WARPS, stage = step;
    bool used = false; /* the stage has been filled before */
    for (u32 work = blockIdx.x; work < works; work += gridDim.x) {
        const struct place at = place_of(work, job);
        for (; step < steps; step += TURNS) {
            const u32 buffer = ring + stage * STAGE_BYTES;
            const struct view view = views[step * VIEWS + mine];
            const struct columns c = columns_of(view, at, job, packed, buffer + mine * VIEW_BYTES);
            const u32 full = shared_address(&shared->full[stage]);
            const bool none = __all_sync(~0u, c.none);
            if (used) empty_wait(stage);
            if (lane == 0) shared->shape[stage] = none ? -1 : view.shape;
            if (!none) {
                copy_stage(c, plane_stride, buffer + VIEWS * VIEW_BYTES, table + (u64)step * TABLE_BYTES, full);
                for (u32 i = lane / VIEWS; i < 2 * WARPS; i += 32 / VIEWS)
                    place_strip(c, i >> 1, i & 1, &shared->rows[stage][i >> 1][i & 1][ROW_PLACE(mine)],
                                &shared->fractions[stage][i >> 1][i & 1][mine]);
            }
#if !BULK
            asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(full) : "memory");
#endif
            barrier_arrive(full);
            stage += TURNS;
            if (stage >= STAGES) {
                stage -= STAGES;
                used = true;
            }
        }
        step -= steps;
    }
    /* Consume the notices of the consumers that are still to come. */
    for (u32 i = 0; i < STAGES / TURNS; i++) {
        if (used) empty_wait(stage);
        stage += TURNS;
        if (stage >= STAGES) {
            stage -= STAGES;
            used = true;
        }
    }
}
