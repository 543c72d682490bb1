/* SPDX-License-Identifier: MIT */
/* Arrays in the memory of a real CUDA device, on streams of the program: late producers, strides, both directions,
 * counts, integers, methods on the CPU, two threads. Skipped (77) without a device. */
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "quickbeam/quickbeam.h"

enum { VIEWS = 180, ROWS = 12, COLUMNS = 200, N = 200, GAP = 24, SLEEP_MS = 300, NOT_READY = 600 };
enum { PIXELS = VIEWS * ROWS * COLUMNS, VOXELS = ROWS * N * N };

/* ---- the driver, as any program may use it ---- */

typedef uint64_t pointer;
static struct {
    int (*init)(unsigned);
    int (*device_get)(int *, int);
    int (*retain)(void **, int);
    int (*set_current)(void *);
    int (*alloc)(pointer *, size_t);
    int (*release)(pointer);
    int (*up)(pointer, const void *, size_t);
    int (*down)(void *, pointer, size_t);
    int (*copy)(pointer, pointer, size_t, void *);
    int (*fill)(pointer, unsigned char, size_t, void *);
    int (*stream_create)(void **, unsigned);
    int (*stream_destroy)(void *);
    int (*stream_query)(void *);
    int (*stream_finish)(void *);
    int (*call_host)(void *, void (*)(void *), void *);
} cu;

static int open_driver(void) {
    static const char *const names[] = {"cuInit",          "cuDeviceGet",         "cuDevicePrimaryCtxRetain",
                                        "cuCtxSetCurrent", "cuMemAlloc_v2",       "cuMemFree_v2",
                                        "cuMemcpyHtoD_v2", "cuMemcpyDtoH_v2",     "cuMemcpyDtoDAsync_v2",
                                        "cuMemsetD8Async", "cuStreamCreate",      "cuStreamDestroy_v2",
                                        "cuStreamQuery",   "cuStreamSynchronize", "cuLaunchHostFunc"};
    void *library = dlopen("libcuda.so.1", RTLD_NOW), *slots[sizeof names / sizeof *names];
    if (!library) return 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (!(slots[i] = dlsym(library, names[i]))) return 0;
    memcpy(&cu, slots, sizeof cu);
    int device;
    void *context;
    return !cu.init(0) && !cu.device_get(&device, 0) && !cu.retain(&context, device) && !cu.set_current(context);
}

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            printf("%s:%d: %s (%s)\n", __FILE__, __LINE__, #condition, qb_detail());                                   \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)
#define OK(call) CHECK((call) == QB_OK)

static pointer on_device(const void *data, size_t bytes) {
    pointer p;
    CHECK(!cu.alloc(&p, bytes));
    if (data) CHECK(!cu.up(p, data, bytes));
    return p;
}

static void *new_stream(void) {
    void *stream;
    CHECK(!cu.stream_create(&stream, 1)); /* does not wait for the default stream */
    return stream;
}

static void sleep_now(void *unused) {
    (void)unused;
    usleep(1000 * SLEEP_MS);
}

/* ---- what is reconstructed ---- */

static float lines[PIXELS], expected[VOXELS];
static uint16_t counts[PIXELS], flat[ROWS * COLUMNS], dark[ROWS * COLUMNS];
static double angles[VIEWS];
static const qb_env env = {.device = "cuda:0"};

static void make_scan(void) {
    for (int v = 0; v < VIEWS; v++) angles[v] = 3.14159265358979 * v / VIEWS;
    for (int i = 0; i < PIXELS; i++) {
        double t = angles[i / (ROWS * COLUMNS)], s = i % COLUMNS - 99.5 - 20 * cos(t);
        int at = i % (ROWS * COLUMNS), r = i / COLUMNS % ROWS;
        lines[i] = s * s < 3600 ? (float)(0.01 * sqrt(3600 - s * s) * (1 + 0.1 * r)) : 0;
        flat[at] = (uint16_t)(40000 + 13 * (at % 5)), dark[at] = (uint16_t)(90 + at % 7);
        counts[i] = (uint16_t)lround(dark[at] + (flat[at] - dark[at]) * exp(-(double)lines[i]));
    }
}

static qb_tensor tensor(pointer data, qb_dtype dtype, int64_t n0, int64_t n1, int64_t n2, void *stream) {
    return (qb_tensor){.data = (void *)(uintptr_t)data,
                       .memory = QB_MEMORY_CUDA,
                       .dtype = dtype,
                       .ndim = 3,
                       .shape = {n0, n1, n2},
                       .stream = stream};
}

static qb_tensor host(void *data, qb_dtype dtype, int64_t n0, int64_t n1, int64_t n2) {
    return (qb_tensor){.data = data, .dtype = dtype, .ndim = 3, .shape = {n0, n1, n2}};
}

static qb_status reconstruct(const qb_tensor *from, const qb_tensor *to) {
    qb_fbp_options options;
    OK(qb_params_init(qb_fbp_params, &options));
    OK(qb_params_set(qb_fbp_params, &options, "center", "99.5"));
    qb_status status = qb_fbp(from, angles, 0.5, to, &options, &env);
    qb_params_clear(qb_fbp_params, &options);
    return status;
}

static void compare(const char *what, pointer volume) {
    static float seen[VOXELS];
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    CHECK(!cu.down(seen, volume, sizeof seen));
    for (int i = 0; i < VOXELS; i++)
        if (memcmp(&seen[i], &expected[i], sizeof seen[i])) {
            printf("%s: voxel %d is %g, not %g\n", what, i, seen[i], expected[i]);
            exit(1);
        }
    printf("%s: as from the host\n", what);
    pthread_mutex_unlock(&lock);
}

/* The projections are written late on the stream, and the volume is still in use by earlier work: the job waits for
 * both. */
static void late_producer(const char *what, void *stream) {
    pointer ready = on_device(lines, sizeof lines), from = on_device(NULL, sizeof lines);
    pointer to = on_device(NULL, sizeof expected);
    CHECK(!cu.fill(from, 0xff, sizeof lines, stream) && !cu.stream_finish(stream));
    qb_tensor source = tensor(from, QB_F32, VIEWS, ROWS, COLUMNS, stream);
    qb_tensor result = tensor(to, QB_F32, ROWS, N, N, stream);
    CHECK(!cu.call_host(stream, sleep_now, NULL));
    CHECK(!cu.copy(from, ready, sizeof lines, stream) && !cu.fill(to, 0xff, sizeof expected, stream));
    CHECK(cu.stream_query(stream) == NOT_READY);
    OK(reconstruct(&source, &result));
    CHECK(!cu.stream_finish(stream));
    compare(what, to);
    cu.release(ready), cu.release(from), cu.release(to);
}

/* The same numbers in other layouts, into volumes of other layouts. */
static void strides(void *stream) {
    enum { LINE = 2 * COLUMNS + GAP, OUT = N + GAP };
    static float stored[VIEWS * ROWS * LINE], seen[ROWS * N * OUT];
    static const int64_t layouts[][3] = {{COLUMNS + GAP, VIEWS * (COLUMNS + GAP), 1}, /* [row][view] */
                                         {ROWS * LINE, LINE, 2},
                                         {-ROWS * COLUMNS, -COLUMNS, -1},
                                         {1, VIEWS, VIEWS * ROWS}}; /* [column][row][view] */
    pointer to = on_device(NULL, sizeof seen);
    for (size_t k = 0; k < sizeof layouts / sizeof *layouts; k++) {
        const int64_t *s = layouts[k];
        const size_t origin = s[0] < 0 ? PIXELS - 1 : 0;
        for (int i = 0; i < PIXELS; i++)
            stored[(int64_t)origin + i / (ROWS * COLUMNS) * s[0] + i / COLUMNS % ROWS * s[1] + i % COLUMNS * s[2]] =
                lines[i];
        pointer from = on_device(stored, sizeof stored);
        qb_tensor source = tensor(from + origin * sizeof(float), QB_F32, VIEWS, ROWS, COLUMNS, stream);
        qb_tensor result = tensor(to, QB_F32, ROWS, N, N, stream); /* [y][z][x] with gaps */
        memcpy(source.strides, s, sizeof layouts[0]);
        result.strides[0] = OUT, result.strides[1] = ROWS * OUT, result.strides[2] = 1;
        CHECK(!cu.fill(to, 0x11, sizeof seen, stream));
        OK(reconstruct(&source, &result));
        CHECK(!cu.down(seen, to, sizeof seen));
        for (int i = 0; i < ROWS * N * OUT; i++) {
            int y = i / (ROWS * OUT), z = i / OUT % ROWS, x = i % OUT;
            const void *want = x < N ? (const void *)&expected[(z * N + y) * N + x] : "\x11\x11\x11\x11";
            CHECK(!memcmp(&seen[i], want, sizeof(float)));
        }
        printf("strides %lld, %lld, %lld: as from the host, nothing beside it\n", (long long)s[0], (long long)s[1],
               (long long)s[2]);
        cu.release(from);
    }
    cu.release(to);
}

/* Counts with fields on the device, by plan and run; every second slice; integers are converted before they are
 * downloaded. */
static void counts_to_integers(void *stream) {
    static uint16_t wanted[ROWS / 2 * N * N], seen[ROWS / 2 * N * N];
    pointer from = on_device(counts, sizeof counts), to = on_device(NULL, sizeof seen);
    pointer of_flat = on_device(flat, sizeof flat), of_dark = on_device(dark, sizeof dark);
    for (int device = 0; device < 2; device++) {
        qb_tensor c =
            device ? tensor(from, QB_U16, VIEWS, ROWS, COLUMNS, stream) : host(counts, QB_U16, VIEWS, ROWS, COLUMNS);
        qb_tensor f = device ? tensor(of_flat, QB_U16, 1, ROWS, COLUMNS, stream) : host(flat, QB_U16, 1, ROWS, COLUMNS);
        qb_tensor d = device ? tensor(of_dark, QB_U16, 1, ROWS, COLUMNS, stream) : host(dark, QB_U16, 1, ROWS, COLUMNS);
        qb_tensor v = device ? tensor(to, QB_U16, ROWS / 2, N, N, stream) : host(wanted, QB_U16, ROWS / 2, N, N);
        qb_output_options output = {.array = &v, .range = {2, {-0.01, 0.06}}};
        qb_scan_options about = {.pixel_size = 0.5};
        qb_fbp_options options;
        const char *report;
        qb_scan *scan;
        qb_job *job;
        OK(qb_params_init(qb_fbp_params, &options));
        OK(qb_params_set(qb_fbp_params, &options, "center", "99.5"));
        OK(qb_params_set(qb_fbp_params, &options, "slices", "0:12:2"));
        OK(qb_scan_from_tensor(&c, angles, &f, &d, &about, &env, &scan));
        OK(qb_fbp_plan(scan, NULL, &options, &output, "test", &env, &job));
        OK(qb_job_run(job, &env, &report));
        CHECK(!device == !strstr(report, "arrays_on_device"));
        if (device) CHECK(strstr(report, "in place") && strstr(report, "page-locked"));
        qb_job_destroy(job);
        qb_scan_close(scan);
        qb_params_clear(qb_fbp_params, &options);
    }
    CHECK(!cu.down(seen, to, sizeof seen));
    CHECK(!memcmp(seen, wanted, sizeof seen));
    printf("counts with fields to integers: as from the host\n");
    cu.release(from), cu.release(to), cu.release(of_flat), cu.release(of_dark);
}

/* A cone beam by a device's kernels, FDK in place, and by the CPU, through page-locked memory; with late producers,
 * too. */
static void cone_methods(const char *device, void *stream) {
    static float wanted[VOXELS], sums[PIXELS], seen_sums[PIXELS], seen[VOXELS];
    const qb_env on = {.device = device};
    qb_geometry circle;
    double turn[VIEWS];
    for (int v = 0; v < VIEWS; v++) turn[v] = 2 * angles[v];
    OK(qb_geometry_cone(VIEWS, turn, ROWS, COLUMNS, 0.5, 0.5, 300, 450, 0, 0, &circle));
    pointer ready = on_device(lines, sizeof lines), from = on_device(NULL, sizeof lines);
    pointer to = on_device(NULL, sizeof seen), projections = on_device(NULL, sizeof sums);
    qb_tensor h = host(lines, QB_F32, VIEWS, ROWS, COLUMNS), w = host(wanted, QB_F32, ROWS, N, N);
    qb_tensor s = host(sums, QB_F32, VIEWS, ROWS, COLUMNS);
    OK(qb_fdk(&h, &circle, &w, NULL, &on));
    OK(qb_project(&w, NULL, &circle, &s, NULL, &on));
    qb_tensor d = tensor(from, QB_F32, VIEWS, ROWS, COLUMNS, stream);
    qb_tensor v = tensor(to, QB_F32, ROWS, N, N, stream);
    qb_tensor p = tensor(projections, QB_F32, VIEWS, ROWS, COLUMNS, stream);
    CHECK(!cu.fill(from, 0xff, sizeof lines, stream) && !cu.stream_finish(stream));
    CHECK(!cu.call_host(stream, sleep_now, NULL) && !cu.copy(from, ready, sizeof lines, stream));
    OK(qb_fdk(&d, &circle, &v, NULL, &on));
    OK(qb_project(&v, NULL, &circle, &p, NULL, &on));
    CHECK(!cu.down(seen, to, sizeof seen) && !cu.down(seen_sums, projections, sizeof seen_sums));
    CHECK(!memcmp(seen, wanted, sizeof seen) && !memcmp(seen_sums, sums, sizeof sums));
    printf("fdk and project by %s: as from the host\n", device);
    qb_geometry_destroy(&circle);
    cu.release(ready), cu.release(from), cu.release(to), cu.release(projections);
}

/* Operators on arrays that stay on the device, together with arrays on the host. */
static void operators(void *stream) {
    static float volume[VOXELS], sums[PIXELS], seen_sums[PIXELS], back[VOXELS], seen[VOXELS];
    qb_geometry circle;
    qb_grid grid;
    qb_projector *p;
    OK(qb_geometry_cone(VIEWS, angles, ROWS, COLUMNS, 0.5, 0.5, 300, 450, 0, 0, &circle));
    qb_grid_default(&circle, &grid);
    grid.n[0] = grid.n[1] = N, grid.n[2] = ROWS;
    for (int i = 0; i < VOXELS; i++) volume[i] = (float)(i % 977);
    OK(qb_projector_create(&circle, &grid, NULL, &env, &p));
    pointer from = on_device(volume, sizeof volume), between = on_device(NULL, sizeof sums),
            to = on_device(NULL, sizeof back);
    const qb_tensor x = tensor(from, QB_F32, ROWS, N, N, stream),
                    y = tensor(between, QB_F32, VIEWS, ROWS, COLUMNS, stream);
    const qb_tensor z = tensor(to, QB_F32, ROWS, N, N, stream);
    OK(qb_projector_forward(p, volume, 0, VIEWS, NULL, sums));
    OK(qb_projector_adjoint(p, sums, 0, VIEWS, false, NULL, back));
    OK(qb_projector_forward_tensor(p, &x, 0, VIEWS, NULL, &y));
    OK(qb_projector_adjoint_tensor(p, &y, 0, VIEWS, false, NULL, &z));
    CHECK(!cu.down(seen_sums, between, sizeof seen_sums) && !cu.down(seen, to, sizeof seen));
    CHECK(!memcmp(seen_sums, sums, sizeof sums) && !memcmp(seen, back, sizeof back));
    printf("operators: as from the host\n");
    qb_projector_destroy(p);
    qb_geometry_destroy(&circle);
    cu.release(from), cu.release(between), cu.release(to);
}

static void *thread_body(void *context) {
    void *current;
    int device;
    CHECK(!cu.device_get(&device, 0) && !cu.retain(&current, device) && !cu.set_current(current));
    void *stream = new_stream();
    for (int i = 0; i < 3; i++) late_producer(context, stream);
    CHECK(!cu.stream_destroy(stream));
    return NULL;
}

int main(void) {
    if (!open_driver()) {
        printf("no CUDA device: skipped\n");
        return 77;
    }
    make_scan();
    qb_tensor from = host(lines, QB_F32, VIEWS, ROWS, COLUMNS);
    qb_tensor to = host(expected, QB_F32, ROWS, N, N);
    OK(reconstruct(&from, &to));
    CHECK(fabs(expected[(ROWS / 2 * N + N / 2) * N + N / 2 + 20] - 0.016) < 0.0005);
    void *stream = new_stream();
    late_producer("a late producer", stream);
    late_producer("a late producer on the default stream", NULL);
    strides(stream);
    counts_to_integers(stream);
    cone_methods("cpu", stream);
    cone_methods("cuda:0", stream);
    operators(stream);
    CHECK(!cu.stream_destroy(stream));
    pthread_t other[2];
    static char names[][20] = {"one thread", "another thread"};
    for (int i = 0; i < 2; i++) CHECK(!pthread_create(&other[i], NULL, thread_body, names[i]));
    for (int i = 0; i < 2; i++) pthread_join(other[i], NULL);
    printf("done\n");
    return 0;
}
