/* SPDX-License-Identifier: MIT */
#include "check.h"

#include "prep/log.h"
#include "prep/prep.h"

enum { N = 33 };

static void logarithm(void **state) {
    (void)state;
    double worst = 0;
    for (int i = 0; i < 2000000; i++) {
        float x = expf(-14.0f + 28.0f * (float)i / 2000000.0f), y = x;
        qb__minus_log(&y, 1);
        double want = -log((double)x), error = fabs(y - want) / fmax(fabs(want), 1e-3);
        if (!(error <= worst)) worst = error;
    }
    assert_true(worst < 4e-7);
    float special[] = {1.0f, NAN, INFINITY};
    qb__minus_log(special, 3);
    assert_true(special[0] == 0.0f && isnan(special[1]) && isnan(special[2]));
}

static void counts_to_line_integrals(void **state) {
    (void)state;
    unsigned short raw[N];
    float dark[N], flat[N], gain[N], out[N], air[] = {1.0f, 0.8f};
    uint64_t dead;
    for (int i = 0; i < N; i++) {
        raw[i] = (unsigned short)(1000 + 50 * i);
        dark[i] = 100;
        flat[i] = (float)(10000 + i);
    }
    flat[5] = 100; /* dead */
    raw[7] = 50;   /* below the dark field */
    qb__prep_gain(flat, dark, N, gain, &dead);
    assert_int_equal(dead, 1);
    qb__prep prep = {.quantity = QB_COUNTS, .dtype = QB_U16, .columns = N, .dark = dark, .gain = gain,
                     .air = air, .floor = 1e-4f};
    for (size_t view = 0; view < 2; view++) {
        qb__prep_counts counts = {0};
        qb__prep_row(&prep, view, 0, raw, out, &counts);
        assert_int_equal(counts.clamped, 1);
        assert_int_equal(counts.dead, 1);
        assert_int_equal(counts.not_finite, 0);
        for (int i = 0; i < N; i++) {
            if (i == 5) continue;
            double t = i == 7 ? 1e-4 : (raw[i] - 100.0) / (flat[i] - 100.0) / air[view];
            assert_close(out[i], -log(t), 2e-6);
        }
        assert_close(out[5], 0.5 * (out[4] + out[6]), 1e-6);
    }
}

static void bad_values_are_bridged(void **state) {
    (void)state;
    float raw[8] = {NAN, 1, 2, INFINITY, -INFINITY, 5, NAN, NAN}, out[8];
    float want[8] = {1, 1, 2, 3, 4, 5, 5, 5};
    qb__prep prep = {.quantity = QB_LINE_INTEGRAL, .dtype = QB_F32, .columns = 8, .floor = 1e-6f};
    qb__prep_counts counts = {0};
    qb__prep_row(&prep, 0, 0, raw, out, &counts);
    assert_int_equal(counts.not_finite, 5);
    for (int i = 0; i < 8; i++) assert_close(out[i], want[i], 1e-6);
    for (int i = 0; i < 8; i++) raw[i] = NAN;
    qb__prep_row(&prep, 0, 0, raw, out, &counts);
    for (int i = 0; i < 8; i++) assert_true(out[i] == 0.0f);
    prep.quantity = QB_TRANSMISSION;
    for (int i = 0; i < 8; i++) raw[i] = i == 2 ? NAN : 0.5f;
    qb__prep_row(&prep, 0, 0, raw, out, &counts);
    for (int i = 0; i < 8; i++) assert_close(out[i], log(2), 1e-6);
}

static void dead_flats(void **state) {
    (void)state;
    float flat[] = {0, 5, NAN, 4, INFINITY}, dark[] = {0, 5, 0, 1, 0}, gain[5];
    uint64_t dead;
    qb__prep_gain(flat, dark, 5, gain, &dead);
    assert_int_equal(dead, 4);
    assert_close(gain[3], 1.0 / 3, 1e-7);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logarithm), cmocka_unit_test(counts_to_line_integrals),
        cmocka_unit_test(bad_values_are_bridged), cmocka_unit_test(dead_flats),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
