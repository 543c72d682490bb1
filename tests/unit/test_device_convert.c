/* SPDX-License-Identifier: MIT */
/* Floats are converted to the type of a file on every device of the machine. The bits must be those of the host, and so
 * must the count of values that the type cannot hold. */
#include "check.h"

#include "base/memory.h"
#include "kernels/convert/convert_device.h"
#include "on_devices.h"
#include "quickbeam/io.h"

static const qb_dtype dtypes[] = {QB_U8, QB_U16, QB_F16};

typedef struct run {
    qb_dtype dtype;
    double low, high;
    size_t pixels, slices;
    bool hides;
    float instead, shift;
} run;

static float any_bits(void) {
    const uint32_t bits = (uint32_t)(qb__random_unit(&chance) * 0x1p32);
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* A value around the range, halfway between two steps, at the ends of what halves hold, or any bits at all. */
static float any_value(const run *r) {
    static const float odd[] = {NAN,      -NAN,         INFINITY,     -INFINITY, 0,     -0.0f, 0x1p-149f,  0x1p-24f,
                                0x1p-25f, 0x1.8p-25f,   65504,        65519.99f, 65520, 65536, -65519.99f, -65520,
                                0x1p-14f, 0x1.ffep-15f, 0x1.fffp-15f, 3e38f};
    const double unit = qb__random_unit(&chance), top = r->dtype == QB_U8 ? 255 : 65535;
    switch ((int)(4 * qb__random_unit(&chance))) {
    case 0: return any_bits();
    case 1: return odd[(size_t)(unit * (double)(sizeof odd / sizeof odd[0]))];
    case 2: return (float)(r->low + (r->high - r->low) * (floor(unit * top) + 0.5) / top) + r->shift;
    default: return (float)(r->low + (r->high - r->low) * (1.4 * unit - 0.2)) + r->shift;
    }
}

/* Does on the host what the device must do: mask, shift, count and convert. Returns the count. */
static uint64_t by_the_host(const run *r, const unsigned char *hidden, float *values, size_t count, void *out) {
    for (size_t i = 0; i < count; i++) {
        if (r->hides && hidden[i % r->pixels]) values[i] = r->instead;
        values[i] -= r->shift;
    }
    qb_convert_from_float(values, count, r->dtype, r->low, r->high, out);
    return qb_count_outside(values, count, r->dtype, r->low, r->high);
}

static void compare(const run *r, const float *values, const char *want, const char *got, size_t count) {
    const size_t bytes = qb_dtype_size(r->dtype);
    for (size_t i = 0; i < count; i++)
        if (memcmp(want + i * bytes, got + i * bytes, bytes) != 0)
            fail_msg("%s, value %zu of %zu x %zu: %a is not what the host makes of it", qb_dtype_name(r->dtype), i,
                     r->slices, r->pixels, (double)values[i]);
}

/* Converts in several passes of fewer slices, as chunks arrive. The counts must add up. */
static void check_run(const run *r) {
    const size_t count = r->pixels * r->slices, bytes = qb_dtype_size(r->dtype);
    float *values = test_malloc(count * sizeof *values);
    unsigned char *hidden = test_malloc(r->pixels);
    char *want = test_malloc(count * bytes), *got = test_malloc(count * bytes + 1);
    const qb__convert_what what = {.to = qb__conversion_of(r->dtype, r->low, r->high),
                                   .pixels = r->pixels,
                                   .slices = r->slices,
                                   .hidden = r->hides ? hidden : NULL,
                                   .instead = r->instead,
                                   .shift = r->shift};
    qb__convert *convert;
    qb__memory *memory;
    uint64_t outside;
    for (size_t i = 0; i < count; i++) values[i] = any_value(r);
    for (size_t i = 0; i < r->pixels; i++) hidden[i] = qb__random_unit(&chance) < 0.3;
    assert_ok(qb__memory_create(device, count * sizeof *values, &memory));
    assert_ok(qb__convert_create(device, queue, &what, &convert));
    for (size_t first = 0, n; first < r->slices; first += n) {
        n = 1 + (size_t)(qb__random_unit(&chance) * (double)(r->slices - first));
        const size_t from = first * r->pixels;
        got[(from + n * r->pixels) * bytes] = 77;
        assert_ok(qb__memory_upload(queue, memory, 0, values + from, n * r->pixels * sizeof *values));
        assert_ok(qb__convert_run(convert, queue, memory, n));
        const size_t some = (size_t)(qb__random_unit(&chance) * (double)n); /* in two pieces */
        assert_ok(qb__convert_fetch(convert, queue, 0, some, got + from * bytes));
        assert_ok(qb__convert_fetch(convert, queue, some, n - some, got + (from + some * r->pixels) * bytes));
        assert_ok(qb__queue_finish(queue));
        assert_int_equal(got[(from + n * r->pixels) * bytes], 77);
    }
    assert_ok(qb__convert_outside(convert, queue, &outside));
    assert_int_equal(outside, by_the_host(r, hidden, values, count, want));
    compare(r, values, want, got, count);
    qb__convert_destroy(convert);
    qb__memory_destroy(memory);
    test_free(values), test_free(hidden), test_free(want), test_free(got);
}

static void same_bits(void **state) {
    (void)state;
    static const size_t pixels[] = {1, 127, 128, 129, 8191, 20000}, slices[] = {1, 3, 65, 200};
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
        for (size_t p = 0; p < sizeof pixels / sizeof *pixels; p++)
            for (size_t s = 0; s < sizeof slices / sizeof *slices; s++) {
                if (pixels[p] * slices[s] > 700000) continue;
                const double low = 20 * qb__random_unit(&chance) - 10;
                check_run(&(run){dtypes[d], low, low + 0.01 + 5 * qb__random_unit(&chance), pixels[p], slices[s],
                                 .hides = (p + s) % 2 == 1, .instead = dtypes[d] == QB_F16 && s % 2 ? NAN : 0,
                                 .shift = (p + s) % 3 == 0 ? 1000 : 0});
            }
}

/* A range of one number, or with its ends swapped, gives zeros only, because it has no scale. */
static void ranges_without_width(void **state) {
    (void)state;
    check_run(&(run){.dtype = QB_U8, .low = 1, .high = 1, .pixels = 300, .slices = 2});
    check_run(&(run){.dtype = QB_U16, .low = 2, .high = 1, .pixels = 300, .slices = 2});
}

/* Whichever allocation fails, the error is reported and nothing is left behind. */
static void memory_runs_out(void **state) {
    (void)state;
    const qb__convert_what what = {.to = qb__conversion_of(QB_U8, 0, 1), .pixels = 9, .slices = 2};
    qb_status status = QB_NO_MEMORY;
    for (size_t k = 1; status != QB_OK && k < 100; k++) {
        qb__convert *convert = NULL;
        qb__fail_allocation(k);
        status = qb__convert_create(device, queue, &what, &convert);
        qb__fail_allocation(0);
        if (status != QB_OK) assert_null(convert);
        qb__convert_destroy(convert);
    }
    assert_ok(status);
}

static int group(const char *spec) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_bits),
        cmocka_unit_test(ranges_without_width),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests_name(spec, tests, NULL, NULL);
}

int main(int argc, char **argv) { return on_devices(argc > 1 ? argv[1] : NULL, group); }
