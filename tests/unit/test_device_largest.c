/* SPDX-License-Identifier: MIT */
/* The largest magnitudes of slices, found on every device of the machine and compared with a plain search. Values
 * between the rows are larger than all others. */
#include "check.h"

#include "kernels/filter/rows_largest.h"
#include "on_devices.h"

typedef struct shape {
    size_t views, columns, gap, offset; /* floats between two rows, and before the first row */
    unsigned slices;
} shape;

typedef struct rows {
    size_t count;
    float *values;
    qb__memory *memory;
    qb__device_rows where;
} rows;

static size_t below(size_t n) { return (size_t)(qb__random_unit(&chance) * (double)n); }

/* A value of any magnitude that a float may have. Some are no numbers. */
static float odd_value(void) {
    static const float odd[] = {NAN, -NAN, INFINITY, -INFINITY, 0, -0.0f, 0x1p-149f};
    if (below(20) == 0) return odd[below(sizeof odd / sizeof *odd)];
    return (float)ldexp(2 * qb__random_unit(&chance) - 1, (int)below(200) - 100);
}

static float *row_of(const shape *t, const rows *r, size_t view, size_t slice) {
    return r->values + t->offset + (view * t->slices + slice) * (t->columns + t->gap);
}

static void make_rows(const shape *t, rows *r) {
    size_t stride = t->columns + t->gap;
    r->count = t->offset + t->views * t->slices * stride;
    r->values = test_malloc(r->count * sizeof(float));
    for (size_t i = 0; i < r->count; i++) r->values[i] = 3e38f;
    for (size_t v = 0; v < t->views; v++)
        for (size_t s = 0; s < t->slices; s++)
            for (size_t c = 0; c < t->columns; c++) row_of(t, r, v, s)[c] = odd_value();
    assert_ok(qb__memory_create(device, r->count * sizeof(float), &r->memory));
    r->where = (qb__device_rows){r->memory, t->offset * sizeof(float), t->slices * stride, stride};
}

static void upload(const rows *r) {
    assert_ok(qb__memory_upload(queue, r->memory, 0, r->values, r->count * sizeof(float)));
}

static void drop_rows(rows *r) {
    qb__memory_destroy(r->memory);
    test_free(r->values);
}

static float plain_largest(const shape *t, const rows *r, size_t slice) {
    float most = 0;
    for (size_t v = 0; v < t->views; v++)
        for (size_t c = 0; c < t->columns; c++) {
            float size = fabsf(row_of(t, r, v, slice)[c]);
            if (isfinite(size) && size > most) most = size;
        }
    return most;
}

/* Measures `block` views at a time. Each block lies at the begin of the rows' memory, as in the filter. */
static void find(const shape *t, const rows *r, size_t block, float *largest, qb__rows_faint *faint) {
    qb__rows_largest *measure;
    assert_ok(qb__rows_largest_create(device, t->views, t->slices, t->columns, &measure));
    upload(r);
    for (size_t v = 0; v < t->views; v += block) {
        qb__device_rows where = r->where;
        where.offset += v * where.view_stride * sizeof(float);
        size_t end = v + block < t->views ? v + block : t->views;
        assert_ok(qb__rows_largest_run(measure, queue, &where, v, end, t->slices));
    }
    assert_ok(qb__rows_largest_found(measure, queue, t->slices, largest, faint));
    qb__rows_largest_destroy(measure);
}

static void check_shape(const shape *t) {
    float largest[64];
    rows r;
    qb__rows_faint faint = {0};
    make_rows(t, &r);
    for (size_t block = 1; block <= t->views; block = 2 * block + 1) {
        find(t, &r, block, largest, &faint);
        for (unsigned s = 0; s < t->slices; s++) {
            float want = plain_largest(t, &r, s);
            if (largest[s] != want)
                fail_msg("%zu views, slice %u of %u, %zu columns, blocks of %zu: %.9g, expected %.9g", t->views, s,
                         t->slices, t->columns, block, (double)largest[s], (double)want);
        }
    }
    drop_rows(&r);
}

static void any_shape(void **state) {
    (void)state;
    static const size_t columns[] = {1, 2, 63, 127, 128, 129, 255, 1000, 2048};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        shape t = {1 + below(90), columns[i], below(5), below(7), 1 + (unsigned)below(20)};
        check_shape(&t);
    }
}

/* The largest value may stand in any column, view and slice, and may be negative. Slices without a number have none. A
 * measure can be used again. */
static void any_place(void **state) {
    (void)state;
    const shape t = {5, 300, 4, 3, 3};
    float largest[3];
    rows r;
    make_rows(&t, &r);
    for (int n = 0; n < 30; n++) {
        qb__rows_faint faint = {0};
        for (size_t v = 0; v < t.views; v++)
            for (size_t c = 0; c < t.columns; c++) {
                row_of(&t, &r, v, 0)[c] = 0;
                row_of(&t, &r, v, 1)[c] = (float)qb__random_unit(&chance);
                row_of(&t, &r, v, 2)[c] = below(2) ? NAN : -INFINITY;
            }
        row_of(&t, &r, below(t.views), 1)[n == 0 ? 0 : n == 1 ? 299 : below(300)] = -7.25f;
        find(&t, &r, 1 + below(5), largest, &faint);
        assert_true(largest[0] == 0 && largest[1] == 7.25f && largest[2] == 0);
        assert_int_equal((int)faint.rows, 0);
    }
    drop_rows(&r);
}

/* A spike of 2^26 times the rest leaves only zeros and subnormals of it. A row of zeros loses nothing. */
static void faint_rows(void **state) {
    (void)state;
    const shape t = {6, 40, 0, 0, 2};
    float largest[2];
    rows r;
    make_rows(&t, &r);
    for (size_t v = 0; v < t.views; v++)
        for (unsigned s = 0; s < t.slices; s++)
            for (size_t c = 0; c < t.columns; c++) row_of(&t, &r, v, s)[c] = v == 5 ? 0 : 0.5f;
    row_of(&t, &r, 2, 1)[7] = 0x1p25f;
    qb__rows_faint faint = {0};
    find(&t, &r, 6, largest, &faint);
    assert_int_equal((int)faint.rows, 0); /* 2^-26 of the largest is still held */
    row_of(&t, &r, 2, 1)[7] = 0x1p26f;
    find(&t, &r, 6, largest, &faint);
    assert_int_equal((int)faint.rows, 4);
    assert_true(faint.largest == 0x1p26f);
    find(&t, &r, 6, largest, &faint);
    assert_int_equal((int)faint.rows, 8); /* the counts of both calls are added */
    drop_rows(&r);
}

static int group(const char *spec) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(any_shape), cmocka_unit_test(any_place),
                                       cmocka_unit_test(faint_rows)};
    return cmocka_run_group_tests_name(spec, tests, NULL, NULL);
}

/* The argument names the only device to test. */
int main(int argc, char **argv) { return on_devices(argc > 1 ? argv[1] : NULL, group); }
