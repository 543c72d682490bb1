/* SPDX-License-Identifier: MIT */
/* What continues a row beyond the detector. The filter must see all of the continuation and nothing else. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "ops/filter.h"

enum { N = 90, OUTSIDE = 200, MOST = N + 2 * OUTSIDE };

static double uniform(double low, double high) { return low + (high - low) * (double)rand() / RAND_MAX; }

/* The row lies at cells[BESIDE]. Both sides are poisoned and then filled. */
static void extend(qb_pad pad, float *cells) {
    for (int i = 0; i < MOST; i++)
        if (i < OUTSIDE || i >= OUTSIDE + N) cells[i] = NAN;
    qb__extend(pad, cells + OUTSIDE, N, OUTSIDE, OUTSIDE);
    for (int i = 0; i < MOST; i++) assert_true(isfinite(cells[i]));
}

static void zero_edge_and_mirror(void **state) {
    (void)state;
    static float cells[MOST];
    float *row = cells + OUTSIDE;
    for (int i = 0; i < N; i++) row[i] = (float)uniform(-1, 1);
    extend(QB_PAD_ZERO, cells);
    assert_true(row[-1] == 0 && row[N] == 0 && cells[0] == 0);
    extend(QB_PAD_EDGE, cells);
    assert_true(row[-7] == row[0] && row[N + 150] == row[N - 1]);
    extend(QB_PAD_MIRROR, cells);
    assert_true(row[-1] == row[0] && row[-5] == row[4] && row[N] == row[N - 1]);
    assert_true(row[N + N + 3] == row[3] && row[-N - 4] == row[N - 4]);
}

static void taper(void **state) {
    (void)state;
    static float cells[MOST];
    float *row = cells + OUTSIDE;
    for (int i = 0; i < N; i++) row[i] = (float)uniform(2, 3);
    extend(QB_PAD_TAPER, cells);
    for (int k = 1; k <= 45; k++) {
        double c = cos(0.5 * M_PI * k / 46);
        assert_true(fabs((double)row[-k] - (2.0 * (double)row[0] - (double)row[k - 1]) * c * c) < 1e-6);
        assert_true(fabs((double)row[N - 1 + k] - (2.0 * (double)row[N - 1] - (double)row[N - k]) * c * c) < 1e-6);
    }
    for (int k = 46; k < OUTSIDE; k++) assert_true(row[-k] == 0 && row[N - 1 + k] == 0);
    row[0] = 0.5f; /* the result is never below 0 */
    extend(QB_PAD_TAPER, cells);
    assert_true(row[-3] == 0);
}

static double disc(double x, double middle, double radius, double value) {
    double square = radius * radius - (x - middle) * (x - middle);
    return square > 0 ? 2 * value * sqrt(square) : 0;
}

/* A disc that is cut off on one or both sides is completed, whatever its value. */
static void ellipse(void **state) {
    (void)state;
    static float cells[MOST];
    float *row = cells + OUTSIDE;
    for (int trial = 0; trial < 500; trial++) {
        double radius = uniform(35, 75), middle = uniform(30, 60), value = pow(10, uniform(-4, 4));
        for (int i = 0; i < N; i++) row[i] = (float)disc(i, middle, radius, value);
        /* Only inside the object is the squared row one parabola. */
        bool cut = middle - radius < -1 && middle + radius > N;
        extend(QB_PAD_ELLIPSE, cells);
        for (int k = 1; k < OUTSIDE && cut; k++) {
            double bound = 0.02 * radius * value;
            bool off = !(fabs((double)row[-k] - disc(-k, middle, radius, value)) < bound) ||
                       !(fabs((double)row[N - 1 + k] - disc(N - 1 + k, middle, radius, value)) < bound);
            if (off && k < 64)
                fail_msg("radius %g at %g, %d beyond: %g %g", radius, middle, k, (double)row[-k],
                         (double)row[N - 1 + k]);
        }
        for (int k = N + 1; k < OUTSIDE; k++) assert_true(row[-k] == 0 && row[N - 1 + k] == 0);
    }
}

/* Air, noise, rows that bend the wrong way, single values: the continuation stays within bounds. */
static void ellipse_of_odd_rows(void **state) {
    (void)state;
    static float cells[MOST];
    float *row = cells + OUTSIDE;
    for (int kind = 0; kind < 5; kind++) {
        float most = 0;
        for (int i = 0; i < N; i++) {
            double x = (i - 44.5) / 45, noise = uniform(-0.01, 0.01);
            double values[] = {0, noise, 1 + x * x + noise, -1 + noise, i == 40 ? 1 : 0};
            row[i] = (float)values[kind];
            most = fmaxf(most, fabsf(row[i]));
        }
        extend(QB_PAD_ELLIPSE, cells);
        for (int k = 1; k < OUTSIDE; k++)
            assert_true(row[-k] >= 0 && row[-k] <= 1.1f * most && row[N - 1 + k] >= 0 && row[N - 1 + k] <= 1.1f * most);
    }
    float few[3 * 8] = {0};
    for (size_t n = 1; n <= 5; n++) { /* rows shorter than the samples through which a line is fitted */
        for (size_t i = 0; i < n; i++) few[8 + i] = (float)(3 - (double)i * 0.1);
        qb__extend(QB_PAD_ELLIPSE, few + 8, n, 8, 8);
        for (size_t i = 0; i < 24; i++) assert_true(isfinite(few[i]));
    }
}

/* Tap n of the band-limited ramp. */
static double ramp(int n) { return n == 0 ? 0.25 : n % 2 ? -1 / (M_PI * M_PI * n * n) : 0; }

/* The filtered row is the plain sum over the row and its continuation. Nothing wraps around. */
static void filtered_as_continued(void **state) {
    (void)state;
    static float cells[MOST];
    for (int pad = QB_PAD_TAPER; pad <= QB_PAD_ELLIPSE; pad++) {
        float *row = cells + OUTSIDE, out[N];
        qb__filter *filter;
        for (int i = 0; i < N; i++) row[i] = (float)(disc(i, 40, 70, 0.01) + uniform(0, 0.02));
        memcpy(out, row, sizeof out);
        extend((qb_pad)pad, cells);
        assert_int_equal(qb__filter_create("ramp", (qb_pad)pad, N, 1, &filter), QB_OK);
        void *scratch;
        assert_int_equal(qb__alloc(qb__filter_scratch(filter), 1, &scratch), QB_OK);
        qb__filter_rows(filter, out, 1, N, 1, scratch);
        for (int i = 0; i < N; i++) {
            double sum = 0;
            for (int k = 0; k < MOST; k++) sum += (double)cells[k] * ramp(i - (k - OUTSIDE));
            if (!(fabs((double)out[i] - sum) < 2e-6)) fail_msg("pad %d column %d: %g %g", pad, i, (double)out[i], sum);
        }
        qb__free(scratch);
        qb__filter_destroy(filter);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zero_edge_and_mirror),
        cmocka_unit_test(taper),
        cmocka_unit_test(ellipse),
        cmocka_unit_test(ellipse_of_odd_rows),
        cmocka_unit_test(filtered_as_continued),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
