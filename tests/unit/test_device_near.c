/* SPDX-License-Identifier: MIT */
/* Zingers are removed on every device of the machine. The numbers must equal the CPU's bit for bit, for every type,
 * with and without fields, whatever rows are asked for. */
#include "check.h"

#include "base/memory.h"
#include "io/scan/scan.h"
#include "kernels/filter/near_rows.h"
#include "on_devices.h"
#include "prep/neighbours.h"
#include "quickbeam/io.h"

enum { VIEWS = 6, MOST = 40 * 300 };

typedef struct shape {
    qb_dtype dtype;
    size_t rows, columns;
    bool fields, in_time;
} shape;

static size_t below(size_t n) { return (size_t)(qb__random_unit(&chance) * (double)n); }

static void store(qb_dtype dtype, double value, void *to, size_t at) {
    static const double tops[] = {[QB_U8] = 255,    [QB_I8] = 127,           [QB_U16] = 65535,
                                  [QB_I16] = 32767, [QB_U32] = 4294967295.0, [QB_I32] = 2147483647};
    const double number = qb_dtype_is_float(dtype) ? value : fmin(rint(value), tops[dtype]);
    switch (dtype) {
    case QB_U8: ((uint8_t *)to)[at] = (uint8_t)number; break;
    case QB_I8: ((int8_t *)to)[at] = (int8_t)number; break;
    case QB_U16: ((uint16_t *)to)[at] = (uint16_t)number; break;
    case QB_I16: ((int16_t *)to)[at] = (int16_t)number; break;
    case QB_U32: ((uint32_t *)to)[at] = (uint32_t)number; break;
    case QB_I32: ((int32_t *)to)[at] = (int32_t)number; break;
    case QB_F32: ((float *)to)[at] = (float)number; break;
    default: ((double *)to)[at] = number; break;
    }
}

/* A rough beam with noise of a twentieth. One pixel in 50 is hit. */
static void fill(const shape *s, void *numbers, void *flat, void *dark) {
    const double most = qb_dtype_size(s->dtype) == 1 ? 60 : 3000;
    for (size_t i = 0; i < s->rows * s->columns; i++) {
        store(s->dtype, most * (0.8 + 0.4 * qb__random_unit(&chance)), flat, i);
        store(s->dtype, 3 * qb__random_unit(&chance), dark, i);
    }
    for (size_t i = 0; i < VIEWS * s->rows * s->columns; i++) {
        const double beam = most * (0.5 + 0.05 * qb__random_unit(&chance));
        store(s->dtype, beam * (below(50) ? 1 : 1.2 + qb__random_unit(&chance)), numbers, i);
    }
}

static void check_rows(const shape *s, qb_scan *scan, const qb__near_rows *near, const char *raw, size_t row0,
                       size_t slices, char *want, char *got) {
    const size_t bytes = s->columns * qb_dtype_size(s->dtype), margin = 1;
    const size_t first = row0 - qb__smaller(margin, row0), end = qb__smaller(row0 + slices + margin, s->rows);
    const qb__near_block block = {.views = VIEWS, .first = first, .end = end, .row0 = row0, .slices = slices};
    qb__memory *in, *out;
    assert_ok(qb__memory_create(device, VIEWS * (end - first) * bytes, &in));
    assert_ok(qb__memory_create(device, VIEWS * slices * bytes, &out));
    for (size_t v = 0; v < VIEWS; v++)
        assert_ok(qb__memory_upload(queue, in, v * (end - first) * bytes, raw + (v * s->rows + first) * bytes,
                                    (end - first) * bytes));
    assert_ok(qb__near_rows_run(near, queue, &block, in, out));
    assert_ok(qb__memory_download(queue, out, 0, got, VIEWS * slices * bytes));
    assert_ok(qb__queue_finish(queue));
    assert_ok(qb_scan_read(scan, 0, VIEWS, row0, row0 + slices, want));
    if (memcmp(got, want, VIEWS * slices * bytes))
        fail_msg("%s, rows %zu to %zu of %zu, %zu columns: not the CPU's", qb_dtype_name(s->dtype), row0, row0 + slices,
                 s->rows, s->columns);
    qb__memory_destroy(in);
    qb__memory_destroy(out);
}

static void check_shape(const shape *s) {
    static const double angles[VIEWS] = {0, 0.001, 0.002,
                                         /* ordered by time, no view has two neighbours across the gap */
                                         0.7, 0.701, 0.702};
    static double raw[VIEWS * MOST], flat[MOST], dark[MOST], want[VIEWS * MOST], got[VIEWS * MOST];
    const int64_t rows = (int64_t)s->rows, columns = (int64_t)s->columns;
    const qb_tensor numbers = {.data = raw, .ndim = 3, .dtype = s->dtype, .shape = {VIEWS, rows, columns}};
    const qb_tensor flats = {.data = flat, .ndim = 2, .dtype = s->dtype, .shape = {rows, columns}};
    const qb_tensor darks = {.data = dark, .ndim = 2, .dtype = s->dtype, .shape = {rows, columns}};
    const qb_scan_options about = {.quantity = s->fields ? QB_COUNTS : QB_TRANSMISSION};
    const qb_prep_options options = {.zingers = 5, .zingers_in = s->in_time ? QB_ZINGERS_IN_TIME : QB_ZINGERS_IN_VIEW};
    uint64_t on_cpu[QB__PREP_STEPS + 1], changed;
    qb__neighbours *neighbours = NULL;
    qb__near_rows *near;
    qb_scan *scan;
    fill(s, raw, flat, dark);
    assert_ok(qb_scan_from_tensor(&numbers, angles, s->fields ? &flats : NULL, s->fields ? &darks : NULL, &about, NULL,
                                  &scan));
    assert_int_equal(qb__neighbours_on_device(qb_scan_describe(scan), &options, true), 1);
    assert_int_equal(qb__neighbours_on_device(qb_scan_describe(scan), &options, false), !s->in_time);
    for (int i = 0; qb__steps[i]; i++)
        if (qb__steps[i]->scope == QB__SCOPE_VIEW && qb__steps[i]->wanted(qb_scan_describe(scan), &options))
            assert_ok(qb__neighbours_add(scan, &options, qb__steps[i], &neighbours));
    const qb__near_plan plan = qb__neighbours_plan(neighbours);
    assert_ok(qb__near_rows_create(device, queue, &plan, &near));
    check_rows(s, scan, near, (char *)raw, 0, s->rows, (char *)want, (char *)got);
    qb__neighbours_changed(neighbours, on_cpu);
    assert_ok(qb__near_rows_found(near, queue, &changed));
    assert_int_equal(changed, on_cpu[0]);
    if (s->columns > 20) assert_true(changed > 0);
    for (int i = 0; i < 4; i++) {
        const size_t row0 = below(s->rows), slices = 1 + below(s->rows - row0);
        check_rows(s, scan, near, (char *)raw, row0, slices, (char *)want, (char *)got);
    }
    qb__near_rows_destroy(near);
    qb__neighbours_destroy(neighbours);
    qb_scan_close(scan);
}

static void every_type(void **state) {
    static const qb_dtype types[] = {QB_U8, QB_U16, QB_I16, QB_U32, QB_I32, QB_F32, QB_F64};
    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        /* every combination is compiled; all four ways of QB_U16 follow below */
        for (int fields = 0; fields < 2; fields++)
            check_shape(&(shape){types[i], 2 + below(38), 3 + below(290), fields, (i + (size_t)fields) % 2});
}

static void few_rows_and_columns(void **state) {
    static const size_t few[] = {1, 2, 3, 5};
    (void)state;
    for (size_t r = 0; r < 4; r++)
        for (size_t c = 0; c < 8; c++) check_shape(&(shape){QB_U16, few[r], few[c / 2], c / 2 % 2 == 0, c % 2});
    check_shape(&(shape){QB_U16, 1, 200, true, false});
}

static int group(const char *spec) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_type), cmocka_unit_test(few_rows_and_columns)};
    return cmocka_run_group_tests_name(spec, tests, NULL, NULL);
}

/* The argument names the only device to test. */
int main(int argc, char **argv) { return on_devices(argc > 1 ? argv[1] : NULL, group); }
