// arch: 80
/* SPDX-License-Identifier: MIT */
/* bp_parallel_linear.tensor and .tensor_split: parallel-beam back-projection as a product of small
 * matrices. The weights of a pixel do not depend on the slice, so for pixels that lie within BINS
 * columns of a view
 *
 *   R[pixel][slice] += W[pixel][bin] D[bin][slice],   W = max(0, 1 - |h(pixel) - bin|).
 *
 * A warp owns 8x8 pixels and 64 slices, its sums in registers. For each view the 64 pixels are cut
 * across the ray into two strips of 32, each within BINS columns; a strip is two m16 tiles that
 * share their columns. Which pixels make the strips, the shape, depends on the angle: views are
 * sorted by shape and the sums are reordered within the warp where it changes. Strip 1 is strip 0
 * turned by 180 degrees, and its columns are read in descending order, so the pixels of both have
 * the same distances from their first column, but for a fraction below 1 that depends on where the
 * strip stands. The distances are a table of the host's; W is made from them in registers.
 *
 * Producer warps stream the columns and the table of VIEWS views at a time through STAGES stages.
 * The packed data are [group of 64 slices][view][plane][column + PAD][64 + 8] halves; the last 8
 * make matrix loads free of bank conflicts; PAD zero rows stand on both sides of the detector. With
 * SPLIT, data and weights are pairs of halves (high and low) and three products are summed. */
#ifndef BINS
#define BINS 8 /* columns of a strip: 8, 16 or 32 */
#endif
#ifndef VIEWS
#define VIEWS 8 /* of a stage: even, at most 16 */
#endif
#ifndef STAGES
#define STAGES 4
#endif
#ifndef ROWS
#define ROWS 48 /* columns kept of a view */
#endif
#ifndef PAD
#define PAD ROWS
#endif
#ifndef SPLIT
#define SPLIT 0
#endif

#ifndef PAIRS_UNROLLED
#define PAIRS_UNROLLED 4 /* pairs of blocks */
#endif
#ifndef PART
#define PART 512 /* with SPLIT: views summed by the units, which cut off what they add */
#endif

enum { unrolled = PAIRS_UNROLLED };

#define WARPS 8
#define WARPS_X 4       /* a group makes 32 x 16 pixels */
#define EXCHANGE_ROW 10 /* floats a pixel: 8 slices, and apart in their banks */
#define PLANES (1 + SPLIT)
#define ROW_BYTES 144
#define PLANE_BYTES (ROWS * ROW_BYTES)
#define VIEW_BYTES (PLANES * PLANE_BYTES)
#define BLOCKS (BINS / 8) /* eights of columns a view */
#define TABLE_BYTES (VIEWS * BLOCKS * 512)
#define STAGE_BYTES (VIEWS * VIEW_BYTES + TABLE_BYTES)

/* With registers moved from the producer's four warps to the consumers', which needs a chip's own
 * instructions; elsewhere one warp produces. */
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define PRODUCERS 4
#define TAKE_REGISTERS asm volatile("setmaxnreg.inc.sync.aligned.u32 232;")
#define GIVE_REGISTERS asm volatile("setmaxnreg.dec.sync.aligned.u32 40;")
#else
#define PRODUCERS 1
#define TAKE_REGISTERS
#define GIVE_REGISTERS
#endif

#define THREADS (32 * (WARPS + PRODUCERS))
/* Not more at work than there are stages, or one could overtake another in the same stage. */
#define TURNS (PRODUCERS < STAGES ? PRODUCERS : STAGES)

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define BULK 1
#define FULL_ARRIVALS 32
#else
#define BULK 0
#define FULL_ARRIVALS 64
#endif

/* One view, in the order of summation; the host makes it. */
struct view {
    double ax, ay, h0;
    float first; /* least h of strip 0 from the pixels' origin */
    float low;   /* least column wanted, from the group's origin */
    int rows;    /* columns wanted from there */
    int shape;
    u32 row; /* place in the packed data */
    u32 unused;
};

struct job {
    u64 out_offset; /* in floats */
    u32 views, columns, nx, ny, slices, packed_views;
};

struct __align__(16) shared_tables {
    float exchange[WARPS][64 * EXCHANGE_ROW];
    u32 rows[STAGES][WARPS][2][VIEWS]; /* where a strip's first column stands, bytes */
    u32 fractions[STAGES][WARPS][2][VIEWS];
    int shape[STAGES];
    u64 full[STAGES], empty[STAGES];
};

__device__ __forceinline__ u32 shared_address(const void *p) {
    return (u32)__cvta_generic_to_shared(p);
}

__device__ __forceinline__ void barrier_init(u32 barrier, u32 count) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}

__device__ __forceinline__ void barrier_arrive(u32 barrier) {
    asm volatile("{\n.reg .b64 t;\nmbarrier.arrive.shared.b64 t, [%0];\n}" ::"r"(barrier)
                 : "memory");
}

__device__ __forceinline__ void barrier_wait(u32 barrier, u32 phase) {
    u32 done;
    do {
#if BULK
        asm volatile("{\n.reg .pred p;\n"
                     "mbarrier.try_wait.parity.shared.b64 p, [%1], %2;\n"
                     "selp.u32 %0, 1, 0, p;\n}"
                     : "=r"(done)
                     : "r"(barrier), "r"(phase)
                     : "memory");
#else
        /* test_wait.parity is younger than the chips served here: the state is read as a word whose
         * sign is the parity of the phase under way. */
        asm volatile("{\n.reg .b64 s;\nld.volatile.shared.b64 s, [%1];\n"
                     "shr.u64 s, s, 63;\ncvt.u32.u64 %0, s;\n}"
                     : "=r"(done)
                     : "r"(barrier)
                     : "memory");
        done = done != phase;
#endif
    } while (!done);
}

__device__ __forceinline__ void load_matrices(u32 (&r)[4], u32 address) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address)
                 : "memory");
}

__device__ __forceinline__ void multiply(float (&c)[4], const u32 (&a)[4], u32 b0, u32 b1) {
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ __forceinline__ u32 half_pair(float low, float high) {
    u32 r;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
    return r;
}

/* max(0, 1 - |fraction + offset|) of two halves; the upper clamp never bites. */
__device__ __forceinline__ u32 weights(u32 fraction, u32 offset) {
    u32 d, w;
    asm("add.rn.f16x2 %0, %1, %2;" : "=r"(d) : "r"(fraction), "r"(offset));
    asm("{\n.reg .b32 m;\nabs.f16x2 m, %1;\nneg.f16x2 m, m;\nadd.rn.sat.f16x2 %0, m, %2;\n}"
        : "=r"(w)
        : "r"(d), "r"(0x3c003c00u));
    return w;
}

/* The same in high and low halves. */
__device__ __forceinline__ void weights_split(float d, u32 &high, u32 &low) {
    const float w0 = __saturatef(1.0f - fabsf(d)), w1 = __saturatef(1.0f - fabsf(d - 1.0f));
    high = half_pair(w0, w1);
    float h0, h1;
    asm("{\n.reg .b16 a, b;\nmov.b32 {a, b}, %2;\ncvt.f32.f16 %0, a;\ncvt.f32.f16 %1, b;\n}"
        : "=f"(h0), "=f"(h1)
        : "r"(high));
    low = half_pair(w0 - h0, w1 - h1);
}

/* Where group `work` stands: groups of slices one after another, tiles in strips of 8 across, so
 * that those under way together share their columns in the cache. */
struct place {
    u32 x, y, group;
};
__device__ __forceinline__ struct place place_of(u32 work, const struct job &job) {
    const u32 across = (job.nx + 31) / 32, down = (job.ny + 15) / 16;
    struct place p;
    p.group = work / (across * down);
    const u32 r = work - p.group * across * down, band = r / (8 * down), q = r - band * 8 * down;
    const u32 width = min(8u, across - 8 * band);
    p.x = 32 * (8 * band + q % width);
    p.y = 16 * (q / width);
    return p;
}

/* ---- the producer ---- */

/* A view in the producer's hands. */
struct columns {
    float ax, ay, first, origin; /* origin: h of the group's, from the first column staged */
    const u8 *from;
    u32 to, bytes;
};

__device__ __forceinline__ struct columns columns_of(const struct view &view,
                                                     const struct place &at, const struct job &job,
                                                     const u8 *packed, u32 buffer) {
    struct columns c;
    const double h = fma(view.ax, (double)at.x, fma(view.ay, (double)at.y, view.h0));
    const double base = floor(h + ((double)view.low - 0.01));
    /* Where nothing lies on the detector, any zero rows do. */
    const double there =
        fmin(fmax(base, (double)-PAD), (double)((int)job.columns + PAD - view.rows));
    const u32 row = (u32)((int)there + PAD);
    c.ax = (float)view.ax;
    c.ay = (float)view.ay;
    c.first = view.first;
    c.origin = (float)(h - base);
    c.from =
        packed +
        (((u64)at.group * job.packed_views + view.row) * PLANES * (job.columns + 2 * PAD) + row) *
            ROW_BYTES;
    c.to = buffer;
    c.bytes = (u32)view.rows * ROW_BYTES;
    return c;
}

/* First row and fraction of one warp's strip. */
__device__ __forceinline__ void place_strip(const struct columns &view, u32 warp, u32 strip,
                                            u32 *row, u32 *fraction) {
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
    *fraction = SPLIT ? __float_as_uint(part) : half_pair(part, part);
}

#if BULK
__device__ __forceinline__ void copy(u32 to, const u8 *from, u32 bytes, u32 full) {
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
                 "[%0], [%1], %2, [%3];" ::"r"(to),
                 "l"(from), "r"(bytes), "r"(full)
                 : "memory");
}
#else
/* By all lanes. */
__device__ __forceinline__ void copy(u32 to, const u8 *from, u32 bytes) {
    for (u32 b = (threadIdx.x & 31) * 16; b < bytes; b += 512)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to + b), "l"(from + b)
                     : "memory");
}
#endif

/* The columns of a stage's views, one a lane, and the table of distances. */
__device__ __forceinline__ void copy_stage(const struct columns &view, u64 plane_stride,
                                           u32 table_to, const u8 *table, u32 full) {
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
        for (int plane = 0; plane < PLANES; plane++)
            copy(to + plane * PLANE_BYTES, from + plane * plane_stride, bytes);
    }
    copy(table_to, table, TABLE_BYTES);
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(full) : "memory");
#endif
}

/* Where a view's row address stands among a strip's: of pairs of views, the first and the second
 * ones together. */
#define ROW_PLACE(view) (BLOCKS == 1 ? ((view)&1) * (VIEWS / 2) + (view) / 2 : (view))

__device__ __forceinline__ void produce(const u8 *packed, const struct view *views, const u8 *table,
                                        const struct job &job, u32 works, u32 ring,
                                        struct shared_tables *shared) {
    const u32 lane = threadIdx.x & 31, mine = lane % VIEWS;
    const u64 plane_stride = (u64)(job.columns + 2 * PAD) * ROW_BYTES;
    /* Producers take turns. */
    const u32 steps = job.views / VIEWS;
    u32 step = threadIdx.x / 32 - WARPS, stage = step, phase = 1;
    for (u32 work = blockIdx.x; work < works; work += gridDim.x) {
        const struct place at = place_of(work, job);
        for (; step < steps; step += TURNS) {
            const u32 buffer = ring + stage * STAGE_BYTES;
            const struct view view = views[step * VIEWS + mine];
            const struct columns c = columns_of(view, at, job, packed, buffer + mine * VIEW_BYTES);
            const u32 full = shared_address(&shared->full[stage]);
            barrier_wait(shared_address(&shared->empty[stage]), phase);
            copy_stage(c, plane_stride, buffer + VIEWS * VIEW_BYTES,
                       table + (u64)step * TABLE_BYTES, full);
            if (lane == 0) shared->shape[stage] = view.shape;
            for (u32 i = lane / VIEWS; i < 2 * WARPS; i += 32 / VIEWS)
                place_strip(c, i >> 1, i & 1, &shared->rows[stage][i >> 1][i & 1][ROW_PLACE(mine)],
                            &shared->fractions[stage][i >> 1][i & 1][mine]);
            barrier_arrive(full);
            stage += TURNS;
            if (stage >= STAGES) {
                stage -= STAGES;
                phase ^= 1;
            }
        }
        step -= steps;
    }
}

/* ---- the consumers ---- */

/* The sums of 64 pixels x 64 slices: strip, tile, eight of slices, as the product leaves them. */
typedef float sums[2][2][8][4];

/* Pixel of this lane's slot: rows g and g + 8 of both tiles of strip 0. */
__device__ __forceinline__ u32 pixel_of(const u8 *shapes, int shape, int slot) {
    return shapes[shape * 32 + 8 * slot + ((threadIdx.x & 31) >> 2)];
}

/* Puts eight slices' sums (the j-th eight) where the exchange buffer has their pixels. */
__device__ __forceinline__ void put_sums(const sums &sum, int j, const u32 (&pixel)[4],
                                         float *buffer) {
    const u32 t = threadIdx.x & 3;
#pragma unroll
    for (int k = 0; k < 8; k++) {
        const u32 p = k < 4 ? pixel[k & 3] : 63 - pixel[k & 3];
        const float *c = sum[k >> 2][(k >> 1) & 1][j] + 2 * (k & 1);
        *(float2 *)&buffer[p * EXCHANGE_ROW + 2 * t] = make_float2(c[0], c[1]);
    }
}

/* Moves the sums from one shape's pixels to another's. */
__device__ __forceinline__ void reorder(sums &sum, const u8 *shapes, int from, int to,
                                        float *buffer) {
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

/* Writes the sums, or adds them to what this very thread has written. */
__device__ __forceinline__ void store(const sums &sum, const u8 *shapes, int shape,
                                      const float *scales, float *out, const struct job &job,
                                      u32 x0, u32 y0, u32 slice0, bool add, float *buffer) {
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
            const float unscale = 1.0f / scales[slice]; /* a power of two: exact */
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

/* What a lane reads. Of the matrix loads, lanes 0-7 and 16-23 name rows of a pair's first block of
 * columns, the others of its second; 0-15 the even eight of slices, the others the odd one. */
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

/* A stage as a consumer sees it. */
struct staged {
    const uint4 *table;
    const u32 *rows, *fractions; /* [strip][view] */
};

/* Blocks of 8 columns go in pairs, two views or two blocks of one. */
#define PAIRS (VIEWS * BLOCKS / 2)
#define FIRST(pair) (2 * (pair) / BLOCKS)
#define SECOND(pair) ((2 * (pair) + 1) / BLOCKS)

/* Where this lane's row of a strip stands, even eight of slices 0. */
__device__ __forceinline__ u32 row_of(const struct staged &stage, const struct fetch &f, u32 pair,
                                      u32 strip) {
    const u32 *rows = stage.rows + strip * VIEWS;
    const u32 row = BLOCKS == 1 ? rows[f.second * (VIEWS / 2) + pair] : rows[FIRST(pair)];
    const u32 down = f.down + (BLOCKS == 1 ? 0 : 8 * (2 * pair % BLOCKS)) * ROW_BYTES;
    return (strip ? row - down : row + down) + ((f.lane >> 4) << 4);
}

#if SPLIT
/* Adds the views of a stage. */
__device__ __forceinline__ void add_stage(sums &sum, const struct staged &stage,
                                          const struct fetch &f) {
#pragma unroll unrolled
    for (u32 pair = 0; pair < PAIRS; pair++) {
#pragma unroll
        for (u32 strip = 0; strip < 2; strip++) {
            u32 high[2][4], low[2][4];
            const u32 address = row_of(stage, f, pair, strip);
#pragma unroll
            for (u32 block = 0; block < 2; block++) {
                const u32 *fractions = stage.fractions + strip * VIEWS;
                const float fraction =
                    __uint_as_float(fractions[block ? SECOND(pair) : FIRST(pair)]);
                const uint4 o = stage.table[(2 * pair + block) * 32 + f.lane];
                const u32 offset[4] = {o.x, o.y, o.z, o.w};
#pragma unroll
                for (int i = 0; i < 4; i++)
                    weights_split(fraction + __uint_as_float(offset[i]),
                                  high[i >> 1][2 * block + (i & 1)],
                                  low[i >> 1][2 * block + (i & 1)]);
            }
#pragma unroll
            for (int j = 0; j < 8; j += 2) {
                u32 b[4], rest[4];
                load_matrices(b, address + 16 * j);
                load_matrices(rest, address + 16 * j + PLANE_BYTES);
#pragma unroll
                for (int i = 0; i < 4; i++)
                    multiply(sum[strip][i >> 1][j + (i & 1)], high[i >> 1], rest[2 * (i & 1)],
                             rest[2 * (i & 1) + 1]);
#pragma unroll
                for (int i = 0; i < 4; i++)
                    multiply(sum[strip][i >> 1][j + (i & 1)], low[i >> 1], b[2 * (i & 1)],
                             b[2 * (i & 1) + 1]);
#pragma unroll
                for (int i = 0; i < 4; i++)
                    multiply(sum[strip][i >> 1][j + (i & 1)], high[i >> 1], b[2 * (i & 1)],
                             b[2 * (i & 1) + 1]);
            }
        }
    }
}
#else
/* Adds the views of a stage. */
__device__ __forceinline__ void add_stage(sums &sum, const struct staged &stage,
                                          const struct fetch &f) {
#pragma unroll unrolled
    for (u32 pair = 0; pair < PAIRS; pair++) {
        const uint4 o0 = stage.table[2 * pair * 32 + f.lane];
        const uint4 o1 = stage.table[(2 * pair + 1) * 32 + f.lane];
        const u32 offset[2][4] = {{o0.x, o0.y, o0.z, o0.w}, {o1.x, o1.y, o1.z, o1.w}};
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
                a[i >> 1][i & 1] = weights(f0, offset[0][i]);
                a[i >> 1][2 + (i & 1)] = weights(f1, offset[1][i]);
            }
#pragma unroll
            for (int j = 0; j < 8; j++)
#pragma unroll
                for (int tile = 0; tile < 2; tile++)
                    multiply(sum[strip][tile][j], a[tile], b[j >> 1][2 * (j & 1)],
                             b[j >> 1][2 * (j & 1) + 1]);
        }
    }
}
#endif

__device__ __forceinline__ void clear(sums &sum) {
#pragma unroll
    for (int i = 0; i < 128; i++) (&sum[0][0][0][0])[i] = 0.0f;
}

__device__ __forceinline__ void consume(const u8 *shapes, const float *scales, float *out,
                                        const struct job &job, u32 works, const u8 *ring,
                                        struct shared_tables *shared) {
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
            if (SPLIT && v - done >= PART) {
                store(sum, shapes, shape, scales, out, job, at.x + wx, at.y + wy, 64 * at.group,
                      done > 0, buffer);
                clear(sum);
                done = v;
            } else if (shape >= 0 && next != shape) {
                reorder(sum, shapes, shape, next, buffer);
            }
            shape = next;
            const struct staged staged = {
                (const uint4 *)(ring + stage * STAGE_BYTES + VIEWS * VIEW_BYTES),
                shared->rows[stage][warp][0], shared->fractions[stage][warp][0]};
            add_stage(sum, staged, fetch);
            __syncwarp();
            if (lane == 0) barrier_arrive(shared_address(&shared->empty[stage]));
            if (++stage == STAGES) {
                stage = 0;
                phase ^= 1;
            }
        }
        store(sum, shapes, shape, scales, out, job, at.x + wx, at.y + wy, 64 * at.group, done > 0,
              buffer);
    }
}

/* Groups of THREADS, as many as stay resident; each takes every gridDim.x-th piece of work. The
 * packed data end with the slices' scales. table: [view][block][lane][4 slots] distances of the
 * lane's pixels from columns 2 t and 2 t + 1 of the block, as halves; with SPLIT from column 2 t,
 * as a float. */
extern "C" __global__ void __launch_bounds__(THREADS, 1)
    bp_parallel_linear_tensor(const u8 *packed, const struct view *views, const u8 *table,
                              const u8 *shapes, float *out, struct job job) {
    extern __shared__ __align__(128) u8 dynamic[];
    __shared__ struct shared_tables shared;
    const u32 groups = (job.slices + 63) / 64;
    const u32 works = groups * ((job.nx + 31) / 32) * ((job.ny + 15) / 16);
    if (threadIdx.x < STAGES) {
        barrier_init(shared_address(&shared.full[threadIdx.x]), FULL_ARRIVALS);
        barrier_init(shared_address(&shared.empty[threadIdx.x]), WARPS);
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
        const u64 group_bytes =
            (u64)job.packed_views * PLANES * (u64)(job.columns + 2 * PAD) * ROW_BYTES;
        consume(shapes, (const float *)(packed + groups * group_bytes), out, job, works, dynamic,
                &shared);
    }
}
