/* SPDX-License-Identifier: MIT */
/* The device layer. Each test runs on every device of the machine. */
#include "check.h"

#include <pthread.h>

#include "base/half.h"
#include "device/device.h"
#include "device/rates.h"
#include "on_devices.h"

enum { COUNT = 1000, TEXELS = 17 * 9 };

static qb__memory *memory_of(const void *bytes, size_t count) {
    qb__memory *memory;
    assert_ok(qb__memory_create(device, count, &memory));
    if (bytes)
        assert_ok(qb__memory_upload(queue, memory, 0, bytes, count));
    else
        assert_ok(qb__memory_fill(queue, memory, 0, 0xff, count)); /* NaNs */
    assert_ok(qb__queue_finish(queue));
    return memory;
}

static void fetch(const qb__memory *memory, void *out, size_t count) {
    assert_ok(qb__memory_download(queue, memory, 0, out, count));
    assert_ok(qb__queue_finish(queue));
}

static qb__kernel *kernel_of(const char *name, const char *const *macros, qb__program **program) {
    qb__kernel *kernel;
    assert_ok(qb__program_build(device, "device_probe.cl", macros, program));
    assert_ok(qb__kernel_get(*program, name, &kernel));
    return kernel;
}

static void launch(qb__kernel *kernel, size_t groups, size_t group, const qb__arg *args, size_t count) {
    const size_t n[3] = {groups, 1, 1}, items[3] = {group, 1, 1};
    assert_ok(qb__kernel_launch(kernel, queue, n, items, args, count));
}

static void fill_random(float *values, size_t count) {
    uint64_t state = 1;
    for (size_t i = 0; i < count; i++) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        values[i] = (float)(int32_t)(state >> 32) * 0x1p-31f;
    }
}

static void transfers(void **state) {
    (void)state;
    float in[COUNT], out[COUNT];
    fill_random(in, COUNT);
    qb__memory *a = memory_of(in, sizeof in), *b = memory_of(NULL, sizeof in);
    assert_int_equal(qb__memory_bytes(a), sizeof in);
    assert_ok(qb__memory_copy(queue, b, 40, a, 80, 400));
    fetch(b, out, sizeof out);
    assert_memory_equal(out + 10, in + 20, 400);
    for (size_t i = 0; i < COUNT; i++) assert_true(i >= 10 && i < 110 ? out[i] == out[i] : out[i] != out[i]);
    assert_ok(qb__memory_fill(queue, b, 4, 0, 8));
    assert_ok(qb__memory_upload(queue, b, 12, in, 4));
    assert_ok(qb__memory_download(queue, b, 4, out, 12));
    assert_ok(qb__queue_finish(queue));
    assert_true(out[0] == 0 && out[1] == 0 && out[2] == in[0]);
    assert_status(qb__memory_upload(queue, b, sizeof in - 4, in, 8), QB_BAD_ARGUMENT);
    assert_status(qb__memory_download(queue, b, SIZE_MAX - 3, out, 8), QB_BAD_ARGUMENT);
    assert_status(qb__memory_copy(queue, b, 0, a, 4, sizeof in), QB_BAD_ARGUMENT);
    assert_status(qb__memory_fill(queue, b, sizeof in + 1, 0, 0), QB_BAD_ARGUMENT);
    qb__memory_destroy(a);
    qb__memory_destroy(b);
    qb__memory_destroy(NULL);
}

static void too_much_memory(void **state) {
    (void)state;
    qb__memory *memory;
    assert_status(qb__memory_create(device, (size_t)1 << 46, &memory), QB_NO_MEMORY);
    assert_null(memory);
    assert_non_null(strstr(qb_detail(), "MiB"));
    assert_status(qb__memory_create(device, 0, &memory), QB_BAD_ARGUMENT);
}

static void host_memory(void **state) {
    (void)state;
    enum { SIZES = 3 };
    const size_t size[SIZES] = {100, 1 << 20, (9 << 20) + 100};
    void *host[SIZES];
    for (int i = 0; i < SIZES; i++) {
        assert_ok(qb__host_create(device, size[i], &host[i]));
        memset(host[i], 7 + i, size[i]);
    }
    for (int i = 0; i < SIZES; i++) {
        qb__memory *memory = memory_of(host[i], size[i]);
        memset(host[i], 0, size[i]);
        fetch(memory, host[i], size[i]);
        size_t wrong = 0;
        for (size_t k = 0; k < size[i]; k++) wrong += ((char *)host[i])[k] != 7 + i;
        assert_int_equal(wrong, 0);
        qb__memory_destroy(memory);
    }
    for (int i = 0; i < SIZES; i++) qb__host_destroy(device, host[i]);
    qb__host_destroy(device, NULL);
}

static void kernels(void **state) {
    (void)state;
    float in[COUNT], out[COUNT], add = 0.25f;
    uint64_t count = COUNT - 1;
    fill_random(in, COUNT);
    qb__memory *from = memory_of(in, sizeof in), *to = memory_of(NULL, sizeof in);
    const qb__arg args[] = {QB__MEMORY(from), QB__MEMORY(to), QB__VALUE(count), QB__VALUE(add)};
    const char *const macros[] = {"PROBE_SCALE=3", "QB_REGISTERS=32", NULL};
    for (int round = 0; round < 2; round++) {
        qb__program *program, *twin;
        qb__kernel *kernel = kernel_of("probe_scale", round ? macros : NULL, &program);
        assert_ptr_equal(kernel_of("probe_scale", round ? macros : NULL, &twin), kernel);
        assert_ptr_equal(program, twin);
        qb__program_release(twin);
        launch(kernel, (COUNT + 63) / 64, 64, args, 4);
        fetch(to, out, sizeof out);
        for (size_t i = 0; i < COUNT - 1; i++) { assert_true(out[i] == fmaf(in[i], round ? 3.0f : 2.0f, add)); }
        assert_true(out[COUNT - 1] != out[COUNT - 1]);
        assert_status(qb__kernel_get(program, "no_such", &kernel), QB_NOT_FOUND);
        assert_non_null(strstr(qb_detail(), "no_such"));
        qb__program_release(program);
    }
    qb__memory_destroy(from);
    qb__memory_destroy(to);
}

static void bad_launches(void **state) {
    (void)state;
    qb__program *program;
    qb__kernel *kernel = kernel_of("probe_scale", NULL, &program);
    const size_t one[3] = {1, 1, 1}, none[3] = {0, 1, 1}, huge[3] = {1 << 20, 1, 1};
    assert_status(qb__kernel_launch(kernel, queue, one, none, NULL, 0), QB_BAD_ARGUMENT);
    assert_status(qb__kernel_launch(kernel, queue, one, huge, NULL, 0), QB_BAD_ARGUMENT);
    assert_ok(qb__kernel_launch(kernel, queue, none, one, NULL, 0));
    qb__program_release(program);
    const char *const spaced[] = {"A=1 -o", NULL}, *const wrong[] = {"PROBE_SCALE=)", NULL};
    assert_status(qb__program_build(device, "device_probe.cl", spaced, &program), QB_BAD_ARGUMENT);
    assert_status(qb__program_build(device, "no_such.cl", NULL, &program), QB_NOT_FOUND);
    assert_status(qb__program_build(device, "device_probe.cl", wrong, &program), QB_INTERNAL);
    assert_non_null(strstr(qb_detail(), "device_probe.cl"));
}

static void local_memory(void **state) {
    (void)state;
    enum { ITEMS = 64, GROUPS = 5 };
    float in[ITEMS * GROUPS], out[ITEMS * GROUPS];
    fill_random(in, ITEMS * GROUPS);
    qb__program *program;
    qb__kernel *kernel = kernel_of("probe_reverse", NULL, &program);
    qb__memory *from = memory_of(in, sizeof in), *to = memory_of(NULL, sizeof out);
    /* First the least size that is needed, then all that there is. */
    size_t all = qb__device_info_of(device)->local_bytes;
    for (size_t bytes = ITEMS * 4; bytes <= all; bytes += all - ITEMS * 4) {
        const qb__arg args[] = {QB__MEMORY(from), QB__MEMORY(to), QB__LOCAL(bytes)};
        assert_ok(qb__memory_fill(queue, to, 0, 0xff, sizeof out));
        launch(kernel, GROUPS, ITEMS, args, 3);
        fetch(to, out, sizeof out);
        for (size_t i = 0; i < ITEMS * GROUPS; i++) {
            assert_true(out[i] == in[i / ITEMS * ITEMS + ITEMS - 1 - i % ITEMS]);
        }
    }
    qb__memory_destroy(from);
    qb__memory_destroy(to);
    qb__program_release(program);
}

static void halves(void **state) {
    (void)state;
    enum { N = 128 };
    float in[N] = {0, 1, -2, 65504, 65520, 1e-7f, 1.00048828125f}, out[2 * N], expected[N];
    unsigned short bits[N], got[N];
    fill_random(in + 7, N - 7);
    qb__float_to_half(in, N, bits);
    qb__half_to_float(bits, N, expected);
    qb__program *program;
    qb__kernel *kernel = kernel_of("probe_half", NULL, &program);
    qb__memory *from = memory_of(in, sizeof in), *mid = memory_of(NULL, sizeof got), *to = memory_of(NULL, sizeof out);
    const qb__arg args[] = {QB__MEMORY(from), QB__MEMORY(mid), QB__MEMORY(to)};
    launch(kernel, N / 64, 64, args, 3);
    fetch(mid, got, sizeof got);
    fetch(to, out, sizeof out);
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(got[i], bits[i]);
        assert_true(out[2 * i] == expected[i] && out[2 * i + 1] == expected[i]);
    }
    qb__memory_destroy(from);
    qb__memory_destroy(mid);
    qb__memory_destroy(to);
    qb__program_release(program);
}

/* The reference in double: bilinear or nearest interpolation, with zero outside. */
static double sample(const float *texels, const qb__texture_shape *shape, size_t layer, double x, double y,
                     unsigned channel) {
    double fx = floor(x - 0.5), fy = floor(y - 0.5), ax = x - 0.5 - fx, ay = y - 0.5 - fy, sum = 0;
    if (!shape->linear) {
        fx = floor(x);
        fy = floor(y);
        ax = ay = 0;
    }
    for (int k = 0; k < 4; k++) {
        double px = fx + k % 2, py = fy + k / 2;
        double weight = (k % 2 ? ax : 1 - ax) * (k / 2 ? ay : 1 - ay);
        if (px < 0 || py < 0 || px >= (double)shape->width || py >= (double)shape->height) continue;
        size_t texel = (layer * shape->height + (size_t)py) * shape->width + (size_t)px;
        sum += weight * (double)texels[texel * shape->channels + channel];
    }
    return sum;
}

static void check_texture(const qb__texture_shape *shape) {
    enum { READS = 64 };
    size_t layers = shape->layers ? shape->layers : 1;
    size_t count = shape->width * shape->height * layers * shape->channels;
    size_t bytes = count * (shape->half ? 2 : 4), skip = 16;
    float *texels = test_malloc(count * 4), at[2 * READS], out[4 * READS];
    char *packed = test_malloc(bytes + skip);
    fill_random(texels, count);
    if (shape->half) {
        qb__float_to_half(texels, count, packed + skip);
        qb__half_to_float(packed + skip, count, texels);
    } else {
        memcpy(packed + skip, texels, bytes);
    }
    fill_random(at, 2 * READS);
    for (size_t i = 0; i < 2 * READS; i++) { /* some places lie outside */
        at[i] = (at[i] * 0.6f + 0.5f) * (float)(i % 2 ? shape->height : shape->width);
    }
    qb__texture *texture;
    qb__program *program;
    qb__kernel *kernel = kernel_of(shape->layers ? "probe_layers" : "probe_texture", NULL, &program);
    qb__memory *from = memory_of(packed, bytes + skip), *points = memory_of(at, sizeof at),
               *to = memory_of(NULL, sizeof out);
    uint32_t layer = shape->layers ? (uint32_t)shape->layers - 1 : 0;
    assert_ok(qb__texture_create(device, shape, &texture));
    assert_ok(qb__texture_load(queue, texture, from, skip));
    const qb__arg args[] = {QB__TEXTURE(texture), QB__MEMORY(points), QB__MEMORY(to), QB__VALUE(layer)};
    launch(kernel, 1, READS, args, shape->layers ? 4 : 3);
    fetch(to, out, sizeof out);
    /* GPUs interpolate with weights of 8 bits. */
    double tolerance = !shape->linear || qb__device_info_of(device)->is_cpu ? 1e-5 : 1.0 / 128;
    for (size_t i = 0; i < READS; i++) {
        for (unsigned c = 0; c < shape->channels; c++) {
            assert_close((double)out[4 * i + c],
                         sample(texels, shape, layer, (double)at[2 * i], (double)at[2 * i + 1], c), tolerance);
        }
    }
    assert_status(qb__texture_load(queue, texture, from, skip + 1), QB_BAD_ARGUMENT);
    qb__texture_destroy(texture);
    qb__memory_destroy(from);
    qb__memory_destroy(points);
    qb__memory_destroy(to);
    qb__program_release(program);
    test_free(texels);
    test_free(packed);
}

static void textures(void **state) {
    (void)state;
    if (!qb__device_info_of(device)->images) skip();
    for (int k = 0; k < 24; k++) {
        qb__texture_shape shape = {17, 9, k & 1 ? 3 : 0, 1u << k / 8, (k & 2) != 0, (k & 4) != 0};
        check_texture(&shape);
    }
    qb__texture *texture;
    qb__texture_shape wrong = {17, 9, 0, 3, false, true}, huge = {1u << 30, 1, 0, 1, false, true};
    assert_status(qb__texture_create(device, &wrong, &texture), QB_BAD_ARGUMENT);
    assert_status(qb__texture_create(device, &huge, &texture), QB_BAD_ARGUMENT);
    qb__texture_destroy(NULL);
}

static void events(void **state) {
    (void)state;
    enum { BYTES = 32 << 20 };
    qb__event *begin, *end;
    qb__queue *other;
    double seconds;
    unsigned char last = 0;
    qb__memory *memory = memory_of(NULL, BYTES);
    assert_ok(qb__event_create(device, &begin));
    assert_ok(qb__event_create(device, &end));
    assert_ok(qb__queue_create(device, &other));
    assert_status(qb__event_seconds(begin, end, &seconds), QB_BAD_ARGUMENT);
    assert_ok(qb__queue_wait(queue, begin)); /* the event was never recorded */
    assert_ok(qb__event_record(begin, queue));
    for (uint8_t i = 1; i <= 20; i++) assert_ok(qb__memory_fill(queue, memory, 0, i, BYTES));
    assert_ok(qb__event_record(end, queue));
    assert_ok(qb__queue_wait(other, end));
    assert_ok(qb__memory_download(other, memory, BYTES - 1, &last, 1));
    assert_ok(qb__queue_finish(other));
    assert_int_equal(last, 20);
    assert_ok(qb__queue_finish(queue));
    assert_ok(qb__event_seconds(begin, end, &seconds));
    assert_true(seconds > 1e-6 && seconds < 60);
    assert_ok(qb__event_record(begin, other)); /* the same event is recorded again, in another queue */
    assert_ok(qb__queue_finish(other));
    qb__memory_destroy(memory);
    qb__event_destroy(begin);
    qb__event_destroy(end);
    qb__event_destroy(NULL);
    qb__queue_destroy(other);
}

static void opening_twice(void **state) {
    (void)state;
    qb__device *twin;
    size_t bytes;
    assert_ok(qb__device_open(qb__device_info_of(device)->spec, &twin));
    assert_ptr_equal(twin, device);
    assert_ok(qb__device_enter(device));
    qb__device_leave(device);
    assert_ok(qb__device_free_bytes(twin, &bytes));
    assert_in_range(bytes, 1, qb__device_info_of(device)->memory_bytes);
    qb__device_close(twin);
    qb__device_close(NULL);
    qb__memory_destroy(memory_of(NULL, 64)); /* the queue is still open */
}

/* Each thread has a queue of its own. All use the same program and kernel. The output is NaN before every round. Memory
 * is given back only when all threads are done: a tool that follows writes (initcheck) loses track where new memory of
 * one thread lies in old memory of another. */
static pthread_barrier_t all_done;

static void *one_thread(void *context) {
    enum { ROUNDS = 20, POISON = 0xff };
    float *wrong = context, add = *wrong, in[COUNT], out[COUNT];
    uint64_t count = COUNT;
    const size_t groups[3] = {(COUNT + 63) / 64, 1, 1}, group[3] = {64, 1, 1};
    qb__queue *own = NULL;
    qb__memory *from = NULL, *to = NULL;
    qb_status status = qb__queue_create(device, &own);
    fill_random(in, COUNT);
    if (status == QB_OK) status = qb__memory_create(device, sizeof in, &from);
    if (status == QB_OK) status = qb__memory_create(device, sizeof in, &to);
    for (int i = 0; i < ROUNDS && status == QB_OK; i++) {
        qb__program *program;
        qb__kernel *kernel = NULL;
        float plus = add + (float)i;
        const qb__arg args[] = {QB__MEMORY(from), QB__MEMORY(to), QB__VALUE(count), QB__VALUE(plus)};
        status = qb__program_build(device, "device_probe.cl", NULL, &program);
        if (status == QB_OK) status = qb__kernel_get(program, "probe_scale", &kernel);
        if (status == QB_OK) status = qb__memory_upload(own, from, 0, in, sizeof in);
        if (status == QB_OK) status = qb__memory_fill(own, to, 0, POISON, sizeof out);
        if (status == QB_OK) status = qb__kernel_launch(kernel, own, groups, group, args, 4);
        if (status == QB_OK) status = qb__memory_download(own, to, 0, out, sizeof out);
        if (status == QB_OK) status = qb__queue_finish(own);
        qb__program_release(program);
        for (size_t k = 0; k < COUNT && status == QB_OK; k++) {
            if (out[k] != fmaf(in[k], 2.0f, plus)) status = QB_INTERNAL;
        }
    }
    pthread_barrier_wait(&all_done);
    qb__memory_destroy(from);
    qb__memory_destroy(to);
    qb__queue_destroy(own);
    *wrong = status == QB_OK ? 0 : 1;
    return NULL;
}

static void threads(void **state) {
    (void)state;
    enum { THREADS = 8 };
    pthread_t thread[THREADS];
    float wrong[THREADS];
    assert_int_equal(pthread_barrier_init(&all_done, NULL, THREADS), 0);
    for (int i = 0; i < THREADS; i++) {
        wrong[i] = (float)(100 * i);
        assert_int_equal(pthread_create(&thread[i], NULL, one_thread, &wrong[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(thread[i], NULL);
    pthread_barrier_destroy(&all_done);
    for (int i = 0; i < THREADS; i++) assert_true(wrong[i] == 0);
}

static void rates(void **state) {
    (void)state;
    qb__device_rates r;
    const qb__device_info *info = qb__device_info_of(device);
    assert_ok(qb__device_measure(device, &r));
    assert_string_equal(r.problem, "");
    assert_true(r.copy_bytes > 1e8 && r.upload_bytes > 1e8 && r.download_bytes > 1e8);
    assert_true(r.cache_bytes > 1e7 && r.local_bytes > 1e7 && r.arithmetic > 1e7);
    assert_true(!info->images || r.texels > 1e5);
    assert_true((r.tensor_flops > 0) == (info->api == QB__API_CUDA && info->arch >= 80));
    /* No rate may exceed what the device can do. A kernel that was not run would show such a rate. */
    double lanes = info->multiprocessors * info->clock_hz;
    if (!info->is_cpu) assert_true(r.arithmetic < lanes * 300 && r.texels < lanes * 20);
}

static int group(const char *spec) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transfers),     cmocka_unit_test(too_much_memory), cmocka_unit_test(host_memory),
        cmocka_unit_test(kernels),       cmocka_unit_test(bad_launches),    cmocka_unit_test(local_memory),
        cmocka_unit_test(halves),        cmocka_unit_test(textures),        cmocka_unit_test(events),
        cmocka_unit_test(opening_twice), cmocka_unit_test(threads),         cmocka_unit_test(rates),
    };
    return cmocka_run_group_tests_name(spec, tests, NULL, NULL);
}

/* The argument names the only device to test. */
int main(int argc, char **argv) {
    const int code = on_devices(argc > 1 ? argv[1] : NULL, group);
    printf("%s\n%s\n", qb__device_missing(QB__API_CUDA), qb__device_missing(QB__API_OPENCL));
    return code;
}
