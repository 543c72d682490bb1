/* SPDX-License-Identifier: MIT */
/* Emulates CUDA's language on a processor; included before a kernel that emulate.py has translated. The items of a
 * group are fibers. They switch wherever they wait, in a random order. Local memory is poisoned before a group begins.
 * Asynchronous copies arrive at a random moment, so code that does not wait for them reads poison. Only the features
 * that this project's kernels use are here; tensor cores are not. */
#define ulong qb_system_ulong /* the C library's type of this name differs from the dialect's */
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <tuple>
#if !defined __x86_64__
#include <ucontext.h>
#endif
#include <utility>
#include <vector>
#undef ulong
#include <cfenv>
#include "emulate_written.h"

#define __CUDACC__ 1
#define __global__
#define __device__
#define __forceinline__ inline
#define __constant__ static
#define __align__(n) __attribute__((aligned(n)))
#define __launch_bounds__(...)
#define __shared__ static __attribute__((section("qb_shared")))

using std::ceil, std::cos, std::exp, std::fabs, std::floor, std::fmax, std::fmin, std::rint, std::sin, std::sqrt;

struct alignas(8) float2 {
    float x, y;
};
struct alignas(16) float4 {
    float x, y, z, w;
};
struct alignas(8) int2 {
    int x, y;
};
struct alignas(16) int4 {
    int x, y, z, w;
};
struct alignas(8) uint2 {
    unsigned x, y;
};
struct alignas(16) uint4 {
    unsigned x, y, z, w;
};
static inline float2 make_float2(float x, float y) { return {x, y}; }
static inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
static inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
static inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }

/* ---- a group ---- */

enum { QB_STACK = 128 * 1024, QB_ITEMS = 1024, QB_BARRIERS = 16, QB_DYNAMIC = 256 * 1024 };
extern "C" char __start_qb_shared[], __stop_qb_shared[];
__shared__ __attribute__((used)) char qb_shared_begins;
/* Dynamic local memory of a launch ends at a page without access, so that reads and writes beyond it crash. */
enum { QB_PAGE = 4096 };
static __attribute__((aligned(QB_PAGE))) unsigned char qb_dynamic[QB_DYNAMIC + QB_PAGE];
static unsigned char *qb_dynamic_local;

struct qb_index {
    unsigned x, y, z;
};
struct qb_barrier {
    int arrived;
    unsigned generation;
};
struct qb_warp {
    qb_barrier barrier;
    int alive;
    uint64_t value[32];
};
/* The saved state of a fiber. The C library's swapcontext calls the system for the signal mask at each switch, which
 * would take most of the time. */
#if defined __x86_64__
struct qb_place {
    void *top;
};
extern "C" void qb_change(qb_place *from, const qb_place *to);
__asm__(".text\n.type qb_change, @function\nqb_change:\n"
        "push %rbx\npush %rbp\npush %r12\npush %r13\npush %r14\npush %r15\n"
        "mov %rsp, (%rdi)\nmov (%rsi), %rsp\n"
        "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbp\npop %rbx\nret\n.size qb_change, .-qb_change\n");
static void qb_place_at(qb_place *place, char *stack, size_t bytes, void (*begin)()) {
    void **top = (void **)(void *)(stack + bytes) - 1; /* aligned as after a call */
    memset(top - 7, 0, 8 * sizeof *top);
    top[-1] = (void *)begin, place->top = top - 7;
}
#else
typedef ucontext_t qb_place;
static void qb_change(qb_place *from, const qb_place *to) { swapcontext(from, to); }
static void qb_place_at(qb_place *place, char *stack, size_t bytes, void (*begin)()) {
    getcontext(place);
    place->uc_stack.ss_sp = stack, place->uc_stack.ss_size = bytes, place->uc_link = nullptr;
    makecontext(place, begin, 0);
}
#endif
struct qb_fiber {
    qb_place place;
    char *stack;
    qb_index thread;
    int number;
    bool done;
};
/* Work that the hardware does asynchronously: a copy that afterwards arrives at a barrier, or whose bytes the barrier
 * counts. Copies of number `owner` arrive in their order; -1: in any order. */
struct qb_copy {
    char *to;
    const char *from;
    size_t bytes;
    uint64_t *counts, *arrives;
    int owner;
};

static struct qb_group {
    qb_index block, grid, size;
    qb_fiber fiber[QB_ITEMS], *now;
    qb_barrier barrier[QB_BARRIERS];
    qb_warp warp[QB_ITEMS / 32];
    int alive;
    qb_place scheduler;
    std::vector<qb_copy> copies;
    uint64_t progress, random;
    void (*body)(void *);
    void *arguments;
} qb;
#define threadIdx (qb.now->thread)
#define blockIdx (qb.block)
#define blockDim (qb.size)
#define gridDim (qb.grid)

static unsigned qb_chance(unsigned below) {
    qb.random = qb.random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(qb.random >> 33) % below;
}
static void qb_yield() { qb_change(&qb.now->place, &qb.scheduler); }

/* ---- reads of unwritten memory (emulate_written.h) ---- */

/* Of a launch: number of reads of unwritten memory by kernels, and the first of them. */
static struct qb_unwritten {
    size_t count, bytes;
    const void *at;
} qb_unwritten;
QB_UNCHECKED static void qb_reads(const void *at, size_t bytes) {
    if (qb_written(at, bytes) == bytes) return;
    if (qb_unwritten.count++ == 0) qb_unwritten.bytes = bytes, qb_unwritten.at = at;
}
#if defined __SANITIZE_THREAD__
#define QB_ACCESS(n)                                                                                                   \
    extern "C" QB_UNCHECKED void __tsan_read##n(void *at) { qb_reads(at, n); }                                         \
    extern "C" QB_UNCHECKED void __tsan_write##n(void *at) { qb_mark(at, n); }                                         \
    extern "C" QB_UNCHECKED void __tsan_unaligned_read##n(void *at) { qb_reads(at, n); }                               \
    extern "C" QB_UNCHECKED void __tsan_unaligned_write##n(void *at) { qb_mark(at, n); }
QB_ACCESS(1)
QB_ACCESS(2)
QB_ACCESS(4) QB_ACCESS(8) QB_ACCESS(16) extern "C" QB_UNCHECKED void __tsan_read_range(void *at, unsigned long bytes) {
    qb_reads(at, bytes);
}
extern "C" QB_UNCHECKED void __tsan_write_range(void *at, unsigned long bytes) { qb_mark(at, bytes); }
extern "C" QB_UNCHECKED void __tsan_vptr_update(void *, void *) {}
extern "C" QB_UNCHECKED void __tsan_init() {}
#endif

/* ---- items that wait for each other ---- */

static void qb_meet(qb_barrier *b, int count) {
    const unsigned generation = b->generation;
    qb.progress++;
    if (++b->arrived == count) {
        b->arrived = 0, b->generation++;
        return;
    }
    while (b->generation == generation) qb_yield();
}
/* An item has ended: one fewer is waited for. */
static void qb_leave(qb_barrier *b, int left) {
    if (left > 0 && b->arrived == left) b->arrived = 0, b->generation++;
}
static inline void __syncthreads() { qb_meet(&qb.barrier[0], qb.alive); }
static inline qb_warp *qb_own_warp() { return &qb.warp[qb.now->number / 32]; }
static inline void __syncwarp(unsigned = ~0u) { qb_meet(&qb_own_warp()->barrier, qb_own_warp()->alive); }

/* Each lane of a warp shows a value, reads those of the others, and goes on. */
template <class T, class F> static T qb_exchange(T value, F choose) {
    qb_warp *w = qb_own_warp();
    T all[32] = {}, result;
    memcpy(&w->value[qb.now->number % 32], &value, sizeof value);
    __syncwarp();
    for (int i = 0; i < 32; i++) memcpy(&all[i], &w->value[i], sizeof value);
    result = choose(all, qb.now->number % 32);
    __syncwarp();
    return result;
}
template <class T> static T __shfl_sync(unsigned, T v, int from) {
    return qb_exchange(v, [=](T *all, int) { return all[from % 32]; });
}
template <class T> static T __shfl_xor_sync(unsigned, T v, int mask) {
    return qb_exchange(v, [=](T *all, int lane) { return all[lane ^ mask]; });
}
template <class T> static T __shfl_down_sync(unsigned, T v, int n) {
    return qb_exchange(v, [=](T *all, int lane) { return all[lane + n < 32 ? lane + n : lane]; });
}
static int __reduce_max_sync(unsigned, int v) {
    return qb_exchange(v, [](int *all, int) {
        int most = all[0];
        for (int i = 1; i < 32; i++) most = all[i] > most ? all[i] : most;
        return most;
    });
}
static unsigned __ballot_sync(unsigned, int v) {
    return qb_exchange((unsigned)(v != 0), [](unsigned *all, int) {
        unsigned bits = 0;
        for (int i = 0; i < 32; i++) bits |= (all[i] & 1) << i;
        return bits;
    });
}
static bool __all_sync(unsigned mask, int v) { return __ballot_sync(mask, v) == ~0u; }
template <class T, class U> static T atomicAdd(T *to, U value) {
    const T before = *to;
    *to = before + (T)value;
    return before;
}

template <class T, class U> static T atomicMin(T *to, U value) {
    const T before = *to;
    if ((T)value < before) *to = (T)value;
    return before;
}
template <class T, class U> static T atomicMax(T *to, U value) {
    const T before = *to;
    if ((T)value > before) *to = (T)value;
    return before;
}

/* ---- numbers ---- */

static inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
static inline float __fmul_rn(float a, float b) { return a * b; }
static inline float __fadd_rn(float a, float b) { return a + b; }
static inline float __fadd_rd(float a, float b) {
    const double exact = (double)a + (double)b; /* more exact than a float can show */
    const float near = (float)exact;
    return (double)near > exact ? nextafterf(near, -INFINITY) : near;
}
static inline float __saturatef(float a) { return a > 0 ? a < 1 ? a : 1 : 0; }
static inline float qb_log2(float a) { return log2f(a); }
#define __log2f qb_log2
static inline float cospif(float a) { return (float)cos(M_PI * (double)a); }
static inline float sinpif(float a) { return (float)sin(M_PI * (double)a); }
static inline int __float2int_rn(float a) { return (int)rintf(a); }
static inline int __ffs(int a) { return __builtin_ffs(a); }
template <class To, class From> static To qb_bits(From from) {
    To to;
    static_assert(sizeof to == sizeof from, "");
    memcpy(&to, &from, sizeof to);
    return to;
}
static inline int __float_as_int(float a) { return qb_bits<int>(a); }
static inline unsigned __float_as_uint(float a) { return qb_bits<unsigned>(a); }
static inline float __int_as_float(int a) { return qb_bits<float>(a); }
template <class T> static T __ldg(const T *p) { return *p; }
template <class T> static T __ldcg(const T *p) { return *p; }

/* ---- textures ---- */

typedef unsigned long long cudaTextureObject_t; /* address of a texture of emulate_cuda.c */
typedef struct qb_texture {
    size_t width, height, layers;
    unsigned channels;
    int half, linear;
    const void *texels;
} qb_texture;

static float qb_texel(const qb_texture *t, long i, long j, size_t layer, unsigned channel) {
    /* outside is a border of zeros */
    if (i < 0 || j < 0 || i >= (long)t->width || j >= (long)t->height || layer >= t->layers) return 0;
    const size_t at = ((layer * t->height + (size_t)j) * t->width + (size_t)i) * t->channels + channel;
    return t->half ? (float)((const _Float16 *)t->texels)[at] : ((const float *)t->texels)[at];
}
/* The hardware's interpolation weights have eight fraction bits. */
template <class T> static T qb_fetch(cudaTextureObject_t object, float x, float y, size_t layer) {
    const qb_texture *t = (const qb_texture *)object;
    float value[sizeof(T) / sizeof(float)];
    T all;
    for (unsigned c = 0; c < sizeof(T) / sizeof(float); c++) {
        const float u = x - 0.5f, v = y - 0.5f;
        const long i = (long)floor(u), j = (long)floor(v);
        const float a = rint((u - (float)i) * 256) / 256, b = rint((v - (float)j) * 256) / 256;
        const auto at = [&](long di, long dj) { return qb_texel(t, i + di, j + dj, layer, c); };
        value[c] = t->linear ? (1 - b) * ((1 - a) * at(0, 0) + a * at(1, 0)) + b * ((1 - a) * at(0, 1) + a * at(1, 1))
                             : qb_texel(t, (long)floor(x), (long)floor(y), layer, c);
    }
    memcpy(&all, value, sizeof all);
    return all;
}
template <class T> static T tex2D(cudaTextureObject_t object, float x, float y) { return qb_fetch<T>(object, x, y, 0); }
template <class T> static T tex2DLayered(cudaTextureObject_t object, float x, float y, int layer) {
    return qb_fetch<T>(object, x, y, (size_t)layer);
}

/* ---- PTX, by the names that emulate.py gives ---- */

/* Addresses of local memory have 32 bits: they are offsets from a symbol of this library. */
static char qb_anchor;
static inline size_t __cvta_generic_to_shared(const void *p) {
    return (uint32_t)(intptr_t)((const char *)p - &qb_anchor);
}
static inline char *qb_local(unsigned address) { return &qb_anchor + (int32_t)address; }

static void ptx_load_float(float &to, unsigned from) { memcpy(&to, qb_local(from), sizeof to); }
static void ptx_reciprocal(float &r, float a) { r = 1.0f / a; }
static void ptx_multiprocessor(int &id) { id = (int)qb_chance(4); }
static void ptx_half_to_float(float &to, unsigned short bits) { to = (float)qb_bits<_Float16>(bits); }
static void ptx_float_to_half(unsigned short &bits, float a) { bits = qb_bits<unsigned short>((_Float16)a); }
static void ptx_halves(unsigned &bits, float high, float low) {
    bits = (unsigned)qb_bits<unsigned short>((_Float16)high) << 16 | qb_bits<unsigned short>((_Float16)low);
}
template <class F> static unsigned qb_by_halves(unsigned a, unsigned b, unsigned c, F f) {
    unsigned result = 0;
    for (int s = 0; s < 32; s += 16) {
        const auto of = [=](unsigned w) { return (double)qb_bits<_Float16>((unsigned short)(w >> s)); };
        result |= (unsigned)qb_bits<unsigned short>((_Float16)f(of(a), of(b), of(c))) << s;
    }
    return result;
}
static void ptx_halves_fma(unsigned &d, unsigned a, unsigned b, unsigned c) {
    d = qb_by_halves(a, b, c, [](double x, double y, double z) { return x * y + z; });
}
static void ptx_halves_add(unsigned &d, unsigned a, unsigned b) {
    d = qb_by_halves(a, b, 0, [](double x, double y, double) { return x + y; });
}
static void ptx_halves_sub(unsigned &d, unsigned a, unsigned b) {
    d = qb_by_halves(a, b, 0, [](double x, double y, double) { return x - y; });
}

/* State of an mbarrier, from bit 0 on: 12 bits number of arrivals expected, 12 bits arrivals missing, one bit phase, 32
 * bits bytes missing. */
static void qb_settle(uint64_t *barrier) {
    const uint64_t count = *barrier & 0xfff, missing = *barrier >> 12 & 0xfff, phase = *barrier >> 24 & 1;
    qb.progress++;
    if (missing == 0 && (*barrier >> 32) == 0) *barrier = count | count << 12 | (phase ^ 1) << 24;
}
static uint64_t *qb_barrier_at(unsigned address) { return (uint64_t *)(void *)qb_local(address); }
static void qb_arrive(uint64_t *b) {
    if ((*b >> 12 & 0xfff) == 0) fprintf(stderr, "emulated CUDA: one too many arrives at a barrier\n"), abort();
    *b -= 1 << 12, qb_settle(b);
}
static void ptx_barrier_init(unsigned at, unsigned count) { *qb_barrier_at(at) = count | (uint64_t)count << 12; }
static void ptx_barrier_arrive(unsigned at) { qb_arrive(qb_barrier_at(at)); }
static void ptx_barrier_expect(unsigned at, unsigned bytes) {
    *qb_barrier_at(at) += (uint64_t)bytes << 32;
    qb_arrive(qb_barrier_at(at));
}
static void ptx_barrier_test(unsigned &done, unsigned at, unsigned phase) {
    done = (*qb_barrier_at(at) >> 24 & 1) != phase;
    if (!done) qb_yield();
}
static void ptx_barrier_group(unsigned count) { qb_meet(&qb.barrier[1], (int)count); }
static void ptx_copy_bulk(unsigned to, const void *from, int bytes, unsigned barrier) {
    if (bytes <= 0 || bytes % 16 || (uintptr_t)from % 16 || (uintptr_t)qb_local(to) % 16)
        fprintf(stderr, "emulated CUDA: a bulk copy of %d bytes from %p to %p\n", bytes, from, (void *)qb_local(to)),
            abort();
    qb.copies.push_back({qb_local(to), (const char *)from, (size_t)bytes, qb_barrier_at(barrier), nullptr, -1});
}
static void ptx_copy(unsigned to, const void *from, int bytes) {
    qb.copies.push_back({qb_local(to), (const char *)from, (size_t)bytes, nullptr, nullptr, qb.now->number});
}
static void ptx_copy_16(unsigned to, const void *from) { ptx_copy(to, from, 16); }
static void ptx_copies_arrive(unsigned barrier) {
    qb.copies.push_back({nullptr, nullptr, 0, nullptr, qb_barrier_at(barrier), qb.now->number});
}
/* Carries out one of the copies that may be next. */
static void qb_copy_one() {
    size_t i = qb_chance((unsigned)qb.copies.size());
    for (size_t k = 0; k < i; k++)
        if (qb.copies[i].owner >= 0 && qb.copies[k].owner == qb.copies[i].owner) i = k;
    const qb_copy c = qb.copies[i];
    qb.copies.erase(qb.copies.begin() + (long)i);
    if (c.bytes) qb_reads(c.from, c.bytes), memcpy(c.to, c.from, c.bytes);
    if (c.counts) *c.counts -= (uint64_t)c.bytes << 32, qb_settle(c.counts);
    if (c.arrives) qb_arrive(c.arrives);
    qb.progress++;
}

/* ---- launches ---- */

static void qb_begin() {
    qb.body(qb.arguments);
    qb_warp *w = qb_own_warp();
    qb.now->done = true, qb.progress++;
    qb_leave(&qb.barrier[0], --qb.alive);
    qb_leave(&w->barrier, --w->alive);
    qb_yield();
}

/* No fiber can run any more: an error, as of a kernel that hangs. */
static int qb_run_group(int items) {
    memset(__start_qb_shared, 0xcb, (size_t)(__stop_qb_shared - __start_qb_shared));
    memset(qb_dynamic_local, 0xcb, (size_t)(qb_dynamic + QB_DYNAMIC - qb_dynamic_local));
    memset(qb.barrier, 0, sizeof qb.barrier), memset(qb.warp, 0, sizeof qb.warp);
    qb.alive = items, qb.copies.clear();
    for (int i = 0; i < items; i++) {
        qb_fiber *f = &qb.fiber[i];
        if (!f->stack) f->stack = (char *)malloc(QB_STACK);
        f->number = i, f->done = false, qb.warp[i / 32].alive++;
        f->thread = {(unsigned)i % qb.size.x, (unsigned)i / qb.size.x % qb.size.y, (unsigned)i / qb.size.x / qb.size.y};
        qb_place_at(&f->place, f->stack, QB_STACK, qb_begin);
    }
    while (qb.alive > 0) {
        const uint64_t before = qb.progress;
        const int first = (int)qb_chance((unsigned)items / 32 + 1) * 32, way = qb_chance(2) ? 1 : items - 1;
        for (int i = 0; i < items; i++) {
            qb.now = &qb.fiber[((unsigned)first + (unsigned)i * (unsigned)way) % (unsigned)items];
            if (!qb.now->done) qb_change(&qb.scheduler, &qb.now->place);
        }
        while (!qb.copies.empty() && (qb_chance(4) > 0 || qb.progress == before)) qb_copy_one();
        if (qb.progress == before) return 1;
    }
    return 0;
}

typedef struct qb_launch {
    unsigned grid[3], block[3], shared;
    void **arguments;
    unsigned seed;
} qb_launch;

/* Returns 0, or 2: unwritten memory was read, an error as from initcheck. */
static int qb_all_written(const char *name) {
    if (qb_unwritten.count)
        fprintf(stderr, "emulated CUDA: %s reads what nothing wrote, %zu times, first %zu bytes at %p\n", name,
                qb_unwritten.count, qb_unwritten.bytes, qb_unwritten.at);
    return qb_unwritten.count ? 2 : 0;
}

template <class... A, size_t... I>
static int qb_emulate_with(const char *name, void (*kernel)(A...), const qb_launch *l, std::index_sequence<I...>) {
    static struct call {
        void (*kernel)(A...);
        std::tuple<A...> arguments;
    } c = {};
    const int items = (int)(l->block[0] * l->block[1] * l->block[2]);
    c.kernel = kernel, c.arguments = std::tuple<A...>(*(A *)l->arguments[I]...);
    qb.body = [](void *of) { std::apply(((call *)of)->kernel, ((call *)of)->arguments); };
    qb.arguments = &c, qb.random = l->seed, qb_unwritten.count = 0;
    qb.grid = {l->grid[0], l->grid[1], l->grid[2]}, qb.size = {l->block[0], l->block[1], l->block[2]};
    if (items > QB_ITEMS || l->shared > QB_DYNAMIC || mprotect(qb_dynamic + QB_DYNAMIC, QB_PAGE, PROT_NONE)) return 1;
    qb_dynamic_local = qb_dynamic + QB_DYNAMIC - (l->shared + 15) / 16 * 16;
    for (unsigned g = 0; g < l->grid[0] * l->grid[1] * l->grid[2]; g++) {
        qb.block = {g % l->grid[0], g / l->grid[0] % l->grid[1], g / l->grid[0] / l->grid[1]};
        if (qb_run_group(items)) return 1;
    }
    return qb_all_written(name);
}
template <class... A> static int qb_emulate(const char *name, void (*kernel)(A...), const qb_launch *l) {
    return qb_emulate_with(name, kernel, l, std::index_sequence_for<A...>());
}
