/* SPDX-License-Identifier: MIT */
/* Sizes, structures and instructions of bp_parallel_linear_tensor.cu. */
#ifndef QB_BP_PARALLEL_LINEAR_TENSOR_CUH
#define QB_BP_PARALLEL_LINEAR_TENSOR_CUH

#ifndef BINS
#define BINS 8 /* columns of a strip: 8, 16 or 32 */
#endif
#ifndef VIEWS
#define VIEWS 8 /* views of a stage: even, at most 16 */
#endif
#ifndef STAGES
#define STAGES 4
#endif
#ifndef ROWS
#define ROWS 48 /* columns of a view in a stage */
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
#define PART 512 /* with SPLIT: number of views summed by the tensor units, whose additions truncate */
#endif

enum { unrolled = PAIRS_UNROLLED };

#define WARPS 8
#define WARPS_X 4       /* a group computes 32 x 16 pixels */
#define EXCHANGE_ROW 10 /* floats per pixel: 8 slices, padded for different banks */
#define PLANES (1 + SPLIT)
#define ROW_BYTES 144
#define PLANE_BYTES (ROWS * ROW_BYTES)
#define VIEW_BYTES (PLANES * PLANE_BYTES)
#define BLOCKS (BINS / 8) /* blocks of eight columns per view */
#define TABLE_BYTES (VIEWS * BLOCKS * (SPLIT ? 512 : 256))
#define STAGE_BYTES (VIEWS * VIEW_BYTES + TABLE_BYTES)

/* Registers are moved from the producer's four warps to the consumers', which needs instructions of a specific chip;
 * elsewhere one warp produces. */
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
#define PRODUCERS 4
#define TAKE_REGISTERS asm volatile("setmaxnreg.inc.sync.aligned.u32 224;")
#define GIVE_REGISTERS asm volatile("setmaxnreg.dec.sync.aligned.u32 56;")
#else
#define PRODUCERS 1
#define TAKE_REGISTERS
#define GIVE_REGISTERS
#endif

#define THREADS (32 * (WARPS + PRODUCERS))
/* The number of producers divides the number of stages, so that each has its own stages. */
#define TURNS                                                                                                          \
    (STAGES % 4 == 0 && PRODUCERS >= 4   ? 4                                                                           \
     : STAGES % 3 == 0 && PRODUCERS >= 3 ? 3                                                                           \
     : STAGES % 2 == 0 && PRODUCERS >= 2 ? 2                                                                           \
                                         : 1)

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define BULK 1
#define FULL_ARRIVALS 32
#define TRY "try_wait" /* waits for a limited time */
#else
#define BULK 0
#define FULL_ARRIVALS 64
#define TRY "test_wait"
#endif

/* One view, in the order of summation; made by the host. */
struct view {
    double ax, ay, h0;
    float first; /* smallest h of strip 0, relative to the pixels' origin */
    float low;   /* smallest column needed, relative to the group's origin */
    int rows;    /* number of columns needed */
    int shape;
    u32 row; /* position in the packed data */
    u32 unused;
};

struct job {
    u64 out_offset; /* position in the output, in floats */
    u32 views, columns, nx, ny, slices, packed_views;
};

struct __align__(16) shared_tables {
    float exchange[WARPS][64 * EXCHANGE_ROW];
    u32 rows[STAGES][WARPS][2][VIEWS]; /* position of a strip's first column in bytes */
    u32 fractions[STAGES][WARPS][2][VIEWS];
    int shape[STAGES];
    u64 full[STAGES];
};

__device__ __forceinline__ u32 shared_address(const void *p) { return (u32)__cvta_generic_to_shared(p); }

__device__ __forceinline__ void barrier_init(u32 barrier, u32 count) {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}

__device__ __forceinline__ void barrier_arrive(u32 barrier) {
    asm volatile("{\n.reg .b64 t;\nmbarrier.arrive.shared.b64 t, [%0];\n}" ::"r"(barrier) : "memory");
}

__device__ __forceinline__ void barrier_wait(u32 barrier, u32 phase) {
    u32 done;
    do {
        asm volatile("{\n.reg .pred p;\n"
                     "mbarrier." TRY ".parity.shared.b64 p, [%1], %2;\n"
                     "selp.u32 %0, 1, 0, p;\n}"
                     : "=r"(done)
                     : "r"(barrier), "r"(phase)
                     : "memory");
    } while (!done);
}

/* Named barriers tell that a stage has been read: the consumers arrive, the producer waits. */
#define EMPTY(stage) (1 + (stage))
__device__ __forceinline__ void empty_arrive(u32 stage) {
    asm volatile("bar.arrive %0, %1;" ::"r"(EMPTY(stage)), "n"(32 * WARPS + 32) : "memory");
}
__device__ __forceinline__ void empty_wait(u32 stage) {
    asm volatile("bar.sync %0, %1;" ::"r"(EMPTY(stage)), "n"(32 * WARPS + 32) : "memory");
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

/* max(0, 1 - |fraction + offset|) of two half floats, with the first or second of `offsets` for both; the upper limit
 * never applies. */
__device__ __forceinline__ u32 weights(u32 fraction, u32 offsets, bool second) {
    u32 d, w;
    if (second)
        asm("{\n.reg .b16 l, h;\n.reg .b32 o;\nmov.b32 {l, h}, %2;\nmov.b32 o, {h, h};\n"
            "add.rn.f16x2 %0, %1, o;\n}"
            : "=r"(d)
            : "r"(fraction), "r"(offsets));
    else
        asm("{\n.reg .b16 l, h;\n.reg .b32 o;\nmov.b32 {l, h}, %2;\nmov.b32 o, {l, l};\n"
            "add.rn.f16x2 %0, %1, o;\n}"
            : "=r"(d)
            : "r"(fraction), "r"(offsets));
    asm("{\n.reg .b32 m;\nabs.f16x2 m, %1;\nneg.f16x2 m, m;\nadd.rn.sat.f16x2 %0, m, %2;\n}"
        : "=r"(w)
        : "r"(d), "r"(0x3c003c00u));
    return w;
}

/* The same in high and low parts. */
__device__ __forceinline__ void weights_split(float d, u32 &high, u32 &low) {
    const float w0 = __saturatef(1.0f - fabsf(d)), w1 = __saturatef(1.0f - fabsf(d - 1.0f));
    high = half_pair(w0, w1);
    float h0, h1;
    asm("{\n.reg .b16 a, b;\nmov.b32 {a, b}, %2;\ncvt.f32.f16 %0, a;\ncvt.f32.f16 %1, b;\n}"
        : "=f"(h0), "=f"(h1)
        : "r"(high));
    low = half_pair(w0 - h0, w1 - h1);
}

/* Position of the group `work`: groups of slices one after another, tiles in strips of 8 across, so that running groups
 * share their columns in the cache. */
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

#endif
