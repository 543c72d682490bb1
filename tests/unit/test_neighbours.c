/* SPDX-License-Identifier: MIT */
/* Reading rows through two test steps that look three rows and two columns far. Whatever rows and views are asked for,
 * they equal those of the whole scan corrected at once. */
#include "check.h"

#include <string.h>

#include "base/random.h"
#include "io/scan/scan.h"
#include "prep/neighbours.h"
#include "quickbeam/io.h"

enum { VIEWS = 7, ROWS = 53, COLUMNS = 9, FAR = 3 };

static bool always(const qb_scan_info *info, const qb_prep_options *options) {
    (void)info, (void)options;
    return true;
}

/* The largest of a pixel and its neighbours, FAR rows above and below and two columns to both sides, where the pixel is
 * dark. */
static float spread(float here, float up, float down, float left, float right) {
    float most = here;
    if (here > 0.6f) return here;
    if (up > most) most = up;
    if (down > most) most = down;
    if (left > most) most = left;
    return right > most ? right : most;
}

static uint64_t near(const qb__near *in, float *out) {
    const ptrdiff_t far = FAR * (ptrdiff_t)in->stride;
    uint64_t changed = 0;
    for (size_t r = 0; r < in->rows; r++) {
        for (size_t c = 0; c < in->columns; c++) {
            const float *at = in->cells + r * in->stride + c;
            const float made = spread(*at, at[-far], at[far], at[-2], at[2]);
            changed += made != *at;
            out[r * in->stride + c] = made;
        }
    }
    return changed;
}

static const qb__step first = {.name = "first", .scope = QB__SCOPE_VIEW, .wanted = always, .near = near, .margin = FAR};
static const qb__step second = {
    .name = "second", .scope = QB__SCOPE_VIEW, .wanted = always, .near = near, .margin = FAR};

static size_t mirror(long i, size_t count) {
    const long n = (long)count;
    while (n > 1 && (i < 0 || i >= n)) i = i < 0 ? -i : 2 * (n - 1) - i;
    return n > 1 ? (size_t)i : 0;
}

/* The pixel of a row, which may lie beyond the detector. */
static float at(const float *in, size_t rows, long r, size_t c) {
    const float *row = in + mirror(r, rows) * COLUMNS, *edge = r < 0 ? in : in + (rows - 1) * COLUMNS;
    if (r >= 0 && r < (long)rows) return row[c];
    const float left = edge[mirror((long)c - 1, COLUMNS)], right = edge[mirror((long)c + 1, COLUMNS)];
    return fmaxf(row[c], fminf(edge[c], 1.25f * fminf(left, right)));
}

/* Applies one step to a whole view of numbers. The gain is 1. */
static uint64_t whole(const float *in, size_t rows, float *out) {
    uint64_t changed = 0;
    for (size_t r = 0; r < rows; r++) {
        for (size_t c = 0; c < COLUMNS; c++) {
            const size_t left = mirror((long)c - 2, COLUMNS), right = mirror((long)c + 2, COLUMNS);
            out[r * COLUMNS + c] =
                spread(in[r * COLUMNS + c], at(in, rows, (long)r - FAR, c), at(in, rows, (long)r + FAR, c),
                       in[r * COLUMNS + left], in[r * COLUMNS + right]);
            changed += out[r * COLUMNS + c] != in[r * COLUMNS + c];
        }
    }
    return changed;
}

static void trial(size_t rows, qb__random *random) {
    static const double angles[VIEWS] = {0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6};
    static float data[VIEWS * ROWS * COLUMNS], once[VIEWS * ROWS * COLUMNS], want[VIEWS * ROWS * COLUMNS];
    static float got[VIEWS * ROWS * COLUMNS];
    const size_t view = rows * COLUMNS;
    const qb_tensor tensor = {.data = data, .ndim = 3, .dtype = QB_F32, .shape = {VIEWS, (int64_t)rows, COLUMNS}};
    const qb_scan_options about = {.quantity = QB_TRANSMISSION};
    const qb_prep_options options = {0};
    uint64_t changed[QB__PREP_STEPS + 1], all[2] = {0, 0};
    qb__neighbours *neighbours = NULL;
    qb_scan *scan;
    for (size_t i = 0; i < VIEWS * view; i++) data[i] = (float)qb__random_unit(random);
    for (size_t v = 0; v < VIEWS; v++) {
        all[0] += whole(data + v * view, rows, once + v * view);
        all[1] += whole(once + v * view, rows, want + v * view);
    }
    assert_ok(qb_scan_from_tensor(&tensor, angles, NULL, NULL, &about, NULL, &scan));
    assert_ok(qb__neighbours_add(scan, &options, &first, &neighbours));
    assert_ok(qb__neighbours_add(scan, &options, &second, &neighbours));
    assert_ok(qb_scan_read(scan, 0, VIEWS, 0, rows, got));
    assert_memory_equal(got, want, VIEWS * view * sizeof *got);
    assert_int_equal(qb__neighbours_changed(neighbours, changed), 2);
    assert_int_equal(changed[0], all[0]);
    assert_int_equal(changed[1], all[1]);
    assert_int_equal(changed[QB__PREP_STEPS], VIEWS * view);
    for (int i = 0; i < 40; i++) {
        const size_t r0 = (size_t)(qb__random_unit(random) * (double)rows),
                     v0 = (size_t)(qb__random_unit(random) * VIEWS);
        const size_t r1 = r0 + 1 + (size_t)(qb__random_unit(random) * (double)(rows - r0));
        const size_t v1 = v0 + 1 + (size_t)(qb__random_unit(random) * (double)(VIEWS - v0)),
                     end = r1 < rows ? r1 : rows;
        const size_t last = v1 < VIEWS ? v1 : VIEWS;
        assert_ok(qb_scan_read(scan, v0, last, r0, end, got));
        for (size_t v = v0; v < last; v++)
            assert_memory_equal(got + (v - v0) * (end - r0) * COLUMNS, want + v * view + r0 * COLUMNS,
                                (end - r0) * COLUMNS * sizeof *got);
    }
    qb__neighbours_destroy(neighbours);
    assert_ok(qb_scan_read(scan, 0, VIEWS, 0, rows, got)); /* the steps were removed */
    assert_memory_equal(got, data, VIEWS * view * sizeof *got);
    qb_scan_close(scan);
}

static void rows_are_those_of_the_whole_scan(void **state) {
    static const size_t rows[] = {1, 2, 3, 4, 7, 16, 17, 33, ROWS};
    qb__random random = qb__random_stream(5, 0);
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) trial(rows[i], &random);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_are_those_of_the_whole_scan)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
