/* SPDX-License-Identifier: MIT */
/* Resampling between pixels: how much of a wave is lost, constants, rims, windows of rows, gaps. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/memory.h"
#include "cpu/features.h"
#include "cpu/rows/resample_row.h"
#include "ops/resample.h"

static const double pi = 3.14159265358979323846;

enum { COLUMNS = 61, ROWS = 47, STRIDE = 80 };

static float cells[ROWS][STRIDE];

static qb__resample_image whole(void) {
    return (qb__resample_image){&cells[0][QB__RESAMPLE_EDGE], STRIDE, COLUMNS, ROWS, 0, ROWS};
}

static double uniform(double low, double high) { return low + (high - low) * (double)rand() / RAND_MAX; }

static double wave(double fx, double fy, double phase, double x, double y) {
    return cos(2 * pi * (fx * x + fy * y) + phase);
}

static void paint(double fx, double fy, double phase) {
    for (int r = 0; r < ROWS; r++) {
        for (int c = 0; c < STRIDE; c++) cells[r][c] = NAN;
        float *row = &cells[r][QB__RESAMPLE_EDGE];
        for (int c = 0; c < COLUMNS; c++) row[c] = (float)wave(fx, fy, phase, c, r);
        qb__resample_extend(row, COLUMNS);
    }
}

/* The largest error in the middle of the image for waves of one frequency. */
static double worst(const qb__resampler *resampler, double frequency) {
    double most = 0;
    for (int trial = 0; trial < 200; trial++) {
        double turn = uniform(0, 2 * pi), phase = uniform(0, 2 * pi), x, y;
        double fx = frequency * cos(turn), fy = frequency * sin(turn);
        qb__resample_image image = whole();
        paint(fx, fy, phase);
        for (int i = 0; i < 50; i++) {
            float found = NAN;
            x = uniform(4, COLUMNS - 5), y = uniform(4, ROWS - 5);
            qb__resample_row(resampler, &image, &x, &y, 1, NAN, &found);
            double off = fabs((double)found - wave(fx, fy, phase, x, y));
            if (!(off <= most)) most = off;
        }
    }
    return most;
}

static void waves_lose_what_is_stated(void **state) {
    (void)state;
    qb__resampler *resampler;
    assert_int_equal(qb__resampler_create(&resampler), QB_OK);
    assert_true(worst(resampler, 0) < 5e-7);
    for (int k = 1; k <= 5; k++) /* along the diagonal both axes lose */
        assert_true(worst(resampler, 0.05 * k) < 2.6e-3);
    double far = worst(resampler, 0.3);
    assert_true(far > 5e-3 && far < 0.03);
    qb__resampler_destroy(resampler);
}

static void rims(void **state) {
    (void)state;
    qb__resampler *resampler;
    assert_int_equal(qb__resampler_create(&resampler), QB_OK);
    qb__resample_image image = whole();
    paint(0, 0, 0); /* all ones */
    const double column[] = {-0.5, COLUMNS - 0.5, -0.51, COLUMNS - 0.49, 3, NAN, 3, 1e30, 3, 0};
    const double row[] = {-0.5, ROWS - 0.5, 3, 3, -0.51, 3, NAN, 3, ROWS - 0.49, ROWS - 1};
    const int inside[] = {1, 1, 0, 0, 0, 0, 0, 0, 0, 1};
    float out[10];
    qb__resample_row(resampler, &image, column, row, 10, -7, out);
    for (int i = 0; i < 10; i++) assert_true(inside[i] ? fabsf(out[i] - 1) < 1e-6f : out[i] == -7);
    qb__resampler_destroy(resampler);
}

/* Resampling from some rows of an image gives the bits that all rows give. No other row is read. */
static void windows(void **state) {
    (void)state;
    qb__resampler *resampler;
    assert_int_equal(qb__resampler_create(&resampler), QB_OK);
    for (int trial = 0; trial < 300; trial++) {
        paint(uniform(-0.2, 0.2), uniform(-0.2, 0.2), 0);
        double x[20], y[20], low = uniform(0, ROWS - 1), high = uniform(low, ROWS - 1);
        float all[20], part[20];
        for (int i = 0; i < 20; i++) x[i] = uniform(-0.5, COLUMNS - 0.5), y[i] = uniform(low, high);
        qb__resample_image image = whole();
        qb__resample_row(resampler, &image, x, y, 20, NAN, all);
        size_t margin = QB__RESAMPLE_MARGIN, first = (size_t)low, end = (size_t)high + 1;
        image.row0 = first > margin ? first - margin : 0;
        image.row1 = end + margin < ROWS ? end + margin : ROWS;
        image.cells += image.row0 * STRIDE;
        for (size_t r = 0; r < ROWS; r++)
            for (size_t c = 0; c < STRIDE && (r < image.row0 || r >= image.row1); c++) cells[r][c] = NAN;
        qb__resample_row(resampler, &image, x, y, 20, NAN, part);
        for (int i = 0; i < 20; i++) assert_true(all[i] == part[i]);
    }
    qb__resampler_destroy(resampler);
}

/* A line of positions at one height, some of them outside, gives the bits of its positions one by one. */
static void level_lines(void **state) {
    (void)state;
    enum { MOST = 600 };
    static double x[MOST], y[MOST];
    static float line[MOST];
    qb__resampler *resampler;
    assert_int_equal(qb__resampler_create(&resampler), QB_OK);
    for (int trial = 0; trial < 300; trial++) {
        paint(uniform(-0.4, 0.4), uniform(-0.4, 0.4), uniform(0, 6));
        const qb__resample_image image = whole();
        const size_t count = 1 + (size_t)rand() % (MOST - 1);
        const double first = uniform(-9, COLUMNS), step = uniform(-0.3, 0.3), height = uniform(-1, ROWS);
        for (size_t i = 0; i < count; i++) x[i] = first + step * (double)i, y[i] = height;
        if (trial % 3 == 0) x[(size_t)rand() % count] = NAN;
        if (trial % 5 == 0) y[(size_t)rand() % count] = uniform(-1, ROWS);
        qb__resample_row(resampler, &image, x, y, count, -9, line);
        for (size_t i = 0; i < count; i++) {
            float one = NAN;
            qb__resample_row(resampler, &image, x + i, y + i, 1, -9, &one);
            assert_true(one == line[i]);
        }
    }
    qb__resampler_destroy(resampler);
}

/* Every variant gives the same bits. */
static void variants(void **state) {
    (void)state;
#if defined(__x86_64__)
    if (!(qb__cpu_features() & QB__CPU_AVX2)) skip();
    static float weight[QB__RESAMPLE_PHASES + 2][QB__RESAMPLE_TAPS];
    for (int p = 0; p < QB__RESAMPLE_PHASES + 2; p++)
        for (int k = 0; k < QB__RESAMPLE_TAPS; k++) weight[p][k] = (float)uniform(-1, 1);
    for (int trial = 0; trial < 200; trial++) {
        double x[40], y[40];
        float one[40], two[40];
        paint(uniform(-0.4, 0.4), uniform(-0.4, 0.4), uniform(0, 6));
        for (int i = 0; i < 40; i++) x[i] = uniform(-1, COLUMNS), y[i] = uniform(-1, ROWS);
        qb__resample_image image = whole();
        qb__resample_loop_scalar((const float(*)[QB__RESAMPLE_TAPS])weight, &image, x, y, 40, -9, one);
        qb__resample_loop_avx2((const float(*)[QB__RESAMPLE_TAPS])weight, &image, x, y, 40, -9, two);
        for (int i = 0; i < 40; i++) assert_true(one[i] == two[i]);
    }
#endif
}

static void gaps(void **state) {
    (void)state;
    float row[] = {NAN, NAN, 2, NAN, NAN, NAN, 6, 7, NAN}, none[] = {NAN, NAN, NAN}, one[] = {NAN, 4};
    const float filled[] = {2, 2, 2, 3, 4, 5, 6, 7, 7};
    qb__resample_fill(row, 9);
    for (int i = 0; i < 9; i++) assert_true(fabsf(row[i] - filled[i]) < 1e-6f);
    qb__resample_fill(none, 3);
    for (int i = 0; i < 3; i++) assert_true(none[i] == 0);
    qb__resample_fill(one, 2);
    assert_true(one[0] == 4 && one[1] == 4);
}

static void out_of_memory(void **state) {
    (void)state;
    qb__resampler *resampler = (void *)1;
    qb__fail_allocation(1);
    assert_int_equal(qb__resampler_create(&resampler), QB_NO_MEMORY);
    assert_null(resampler);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waves_lose_what_is_stated),
        cmocka_unit_test(rims),
        cmocka_unit_test(windows),
        cmocka_unit_test(level_lines),
        cmocka_unit_test(variants),
        cmocka_unit_test(gaps),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
