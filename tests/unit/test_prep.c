/* SPDX-License-Identifier: MIT */
#include "check.h"

#include <float.h>

#include "base/half.h"
#include "base/random.h"
#include "cpu/features.h"
#include "cpu/rows/lines.h"
#include "prep/dense.h"
#include "prep/prep.h"
#include "prep/prepare.h"
#include "prep/spectrum.h"

enum { N = 33 };

static float minus_log(float x, float floor) {
    qb__lines_found found = {0, 0};
    float y;
    qb__lines_scalar.integrals(&x, NULL, NULL, 1, floor, INFINITY, 1, &y, &found);
    return y;
}

/* The error is relative to the logarithm itself, also where it is nearly 0. */
static void logarithm(void **state) {
    (void)state;
    double worst = 0;
    for (int i = 0; i < 2000000; i++) {
        float x = i % 2 ? expf(-80.0f + 86.0f * (float)i / 2000000.0f) /* 1000 is the largest */
                        : 0.6f + 0.8f * (float)i / 2000000.0f;
        double want = -log((double)x), error = want != 0 ? fabs(minus_log(x, 1e-36f) - want) / fabs(want) : 0;
        if (!(error <= worst)) worst = error;
    }
    if (!(worst < 2e-7)) fail_msg("relative error %g", worst);
    assert_true(minus_log(1, 1e-6f) == 0 && isnan(minus_log(NAN, 1e-6f)));
    assert_true(isnan(minus_log(INFINITY, 1e-6f)) && isnan(minus_log(-INFINITY, 1e-6f)));
    assert_close(minus_log(0, 1e-6f), 6 * log(10), 2e-6);
    assert_close(minus_log(-5, 1e-6f), 6 * log(10), 2e-6);
    assert_close(minus_log(1000, 1e-6f), -log(1000), 2e-6);
    assert_true(isnan(minus_log(1000.1f, 1e-6f)) && isnan(minus_log(3.4e38f, 1e-6f))); /* no beam is so bright */
}

/* Every set of loops gives the bits of the scalar one, for odd values and any length too. */
static void all_variants_agree(void **state) {
    (void)state;
    enum { M = 4096 };
    static float raw[M], dark[M], gain[M], want[M], got[M];
    static const float odd[] = {NAN, INFINITY, -INFINITY, 0, -0.0f, 1e-40f, 3e38f, -3e38f};
    uint32_t masks[] = {QB__CPU_AVX2, QB__CPU_AVX2 | QB__CPU_AVX512};
    qb__noise(raw, M, 1);
    qb__noise(dark, M, 2);
    qb__noise(gain, M, 3);
    for (int i = 0; i < M; i++) {
        raw[i] = i % 37 ? expf(20 * raw[i]) : odd[i / 37 % 8];
        gain[i] = i % 101 ? expf(20 * gain[i]) : 0;
    }
    for (int v = 0; v < 2; v++) {
        if ((qb__cpu_features() & masks[v]) != masks[v]) continue;
        const qb__lines *variant = qb__lines_choose(masks[v]);
        for (size_t count = 0; count < M; count = count < 40 ? count + 1 : count * 2 + 1) {
            for (int fields = 0; fields < 4; fields++) {
                qb__lines_found a = {0, 0}, b = {0, 0};
                const float *d = fields & 1 ? dark : NULL, *g = fields & 2 ? gain : NULL;
                qb__lines_scalar.integrals(raw, d, g, 0.9f, 1e-6f, fields & 1 ? 1e5f : INFINITY, count, want, &a);
                variant->integrals(raw, d, g, 0.9f, 1e-6f, fields & 1 ? 1e5f : INFINITY, count, got, &b);
                assert_memory_equal(got, want, count * sizeof *got);
                assert_true(a.bad == b.bad && a.clamped == b.clamped);
            }
            for (int fields = 0; fields < 2; fields++) {
                const float most = fields ? 3e4f : QB__MOST_INTEGRAL;
                qb__lines_found a = {0, 0}, b = {0, 0};
                qb__lines_scalar.check(raw, fields ? dark : NULL, most, count, want, &a);
                variant->check(raw, fields ? dark : NULL, most, count, got, &b);
                assert_memory_equal(got, want, count * sizeof *got);
                assert_true(a.bad == b.bad);
                for (size_t i = 0; i < count; i++)
                    assert_true(isnan(want[i]) || want[i] == (fields ? raw[i] - dark[i] : raw[i]));
            }
        }
    }
}

static void prepare_row(qb__prep prep, size_t view, size_t row, const void *raw, float *out, qb__prep_counts *counts) {
    qb__prep_begin(&prep, NULL);
    qb__prep_row(&prep, view, row, raw, out, counts);
}

static void every_dtype(void **state) {
    (void)state;
    enum { M = 1100 }; /* more than two blocks */
    static double raw[M];
    static float values[M], want[M], got[M];
    for (int i = 0; i < M; i++) values[i] = (float)(1 + i % 100);
    qb__prep prep = {.quantity = QB_COUNTS, .dtype = QB_F32, .columns = M, .floor = 1e-6f};
    qb__prep_counts counts = {0};
    prepare_row(prep, 0, 0, values, want, &counts);
    for (int i = 0; i < M; i++) assert_close(want[i], -log(values[i]), 1e-6);
#define AS(name, type)                                                                                                 \
    for (int i = 0; i < M; i++) ((type *)raw)[i] = (type)values[i];                                                    \
    prep.dtype = name;                                                                                                 \
    prepare_row(prep, 0, 0, raw, got, &counts);                                                                        \
    assert_memory_equal(got, want, sizeof got)
    AS(QB_U8, uint8_t);
    AS(QB_I8, int8_t);
    AS(QB_U16, uint16_t);
    AS(QB_I16, int16_t);
    AS(QB_U32, uint32_t);
    AS(QB_I32, int32_t);
    AS(QB_F64, double);
    qb__float_to_half(values, M, raw);
    prep.dtype = QB_F16;
    prepare_row(prep, 0, 0, raw, got, &counts);
    assert_memory_equal(got, want, sizeof got);
    assert_true(counts.clamped == 0 && counts.dead == 0 && counts.not_finite == 0);
}

static void all_flats_dead(void **state) {
    (void)state;
    unsigned short raw[N];
    float flat[N] = {0}, dark[N], gain[N], out[N];
    uint64_t dead;
    for (int i = 0; i < N; i++) raw[i] = (unsigned short)i, dark[i] = 3;
    qb__prep_gain(flat, dark, N, gain, &dead);
    assert_int_equal(dead, N);
    qb__prep prep = {.quantity = QB_COUNTS, .dtype = QB_U16, .columns = N, .dark = dark, .gain = gain, .floor = 1e-6f};
    qb__prep_counts counts = {0};
    prepare_row(prep, 0, 0, raw, out, &counts);
    assert_true(counts.dead == N && counts.clamped == 0 && counts.not_finite == 0);
    for (int i = 0; i < N; i++) assert_true(out[i] == 0);
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
    flat[5] = 100; /* a dead pixel */
    raw[7] = 50;   /* below the dark field */
    qb__prep_gain(flat, dark, N, gain, &dead);
    assert_int_equal(dead, 1);
    qb__prep prep = {
        .quantity = QB_COUNTS, .dtype = QB_U16, .columns = N, .dark = dark, .gain = gain, .air = air, .floor = 1e-4f};
    for (size_t view = 0; view < 2; view++) {
        qb__prep_counts counts = {0};
        prepare_row(prep, view, 0, raw, out, &counts);
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
    prepare_row(prep, 0, 0, raw, out, &counts);
    assert_int_equal(counts.not_finite, 5);
    for (int i = 0; i < 8; i++) assert_close(out[i], want[i], 1e-6);
    prep.keep_lost = true;
    prepare_row(prep, 0, 0, raw, out, &counts);
    for (int i = 0; i < 8; i++) assert_true(isfinite(raw[i]) ? out[i] == raw[i] : isnan(out[i]));
    assert_int_equal(counts.not_finite, 10);
    prep.keep_lost = false;
    for (int i = 0; i < 8; i++) raw[i] = NAN;
    prepare_row(prep, 0, 0, raw, out, &counts);
    for (int i = 0; i < 8; i++) assert_true(out[i] == 0.0f);
    prep.quantity = QB_TRANSMISSION;
    for (int i = 0; i < 8; i++) raw[i] = i == 2 ? NAN : 0.5f;
    prepare_row(prep, 0, 0, raw, out, &counts);
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

/* After the correction of beam hardening, values are proportional to the path again. Lost columns are bridged after
 * that. */
static void hardening_is_straightened(void **state) {
    (void)state;
    enum { M = 1300 };
    static float raw[M], out[M];
    qb_prep_options options = {.hardening = "0.05,0.01"};
    qb__hardening_curve *curve;
    assert_int_equal(qb__curve_create(options.hardening, &curve), QB_OK);
    for (int i = 0; i < M; i++) raw[i] = expf(-(float)i / 400);
    raw[600] = NAN;
    for (int quantity = 0; quantity < 2; quantity++) {
        qb__prep prep = {
            .quantity = quantity ? QB_LINE_INTEGRAL : QB_TRANSMISSION, .dtype = QB_F32, .columns = M, .floor = 1e-6f};
        qb__prep_counts counts = {0};
        prep.curve = curve;
        for (int i = 0; quantity && i < M; i++) raw[i] = -logf(raw[i]);
        qb__prep_begin(&prep, &options);
        qb__prep_row(&prep, 0, 0, raw, out, &counts);
        for (int i = 0; i < M; i++) {
            double p = i / 400.0, want = p + 0.05 * p * p + 0.01 * p * p * p;
            assert_close(out[i], want, i == 600 ? 1e-5 : 2e-6);
        }
        assert_int_equal(counts.not_finite, 1);
    }
    qb__curve_destroy(curve);
    options.hardening = "0.05";
    assert_int_equal(qb__curve_create(options.hardening, &curve), QB_OK);
    qb__prep prep = {.quantity = QB_LINE_INTEGRAL, .dtype = QB_F32, .columns = M, .floor = 1e-6f, .curve = curve};
    qb__prep_counts counts = {0};
    qb__prep_begin(&prep, &options);
    qb__prep_row(&prep, 0, 0, raw, out, &counts);
    assert_close(out[800], 2 + 0.05 * 4, 2e-6);
    qb__curve_destroy(curve);
}

/* Aluminium at 60 keV, from the signal of all energies behind a length. The error is within the rounding of the table
 * of 512 steps. */
static void a_spectrum_is_undone(void **state) {
    (void)state;
    static const char *const texts[] = {"al,120,cu:0.5,at:60", "water,60,al:1", "sn,160,at:59.5"};
    static qb__spectrum s;
    for (int k = 0; k < 3; k++) {
        qb__hardening_curve *curve;
        char option[64];
        snprintf(option, sizeof option, "spectrum:%s", texts[k]);
        assert_int_equal(qb__spectrum_parse("--spectrum", texts[k], &s), QB_OK);
        assert_int_equal(qb__curve_create(option, &curve), QB_OK);
        for (int i = 1; i < 60; i++) {
            const double length = pow(1.2, i - 40) * 20 / s.reference;
            double sum = 0;
            for (size_t b = 0; b < s.bins; b++) sum += s.share[b] * exp(-s.mu[b] * length);
            const float measured[2] = {(float)-log(sum), NAN};
            float out[2];
            qb__curve_run(curve, 2, measured, out);
            if (measured[0] < 14) assert_close(out[0] / (s.reference * length), 1, 2e-3);
            assert_true(isnan(out[1]));
        }
        qb__curve_destroy(curve);
    }
}

/* No transmission, however small or large, gives more than the stated bound. Where no useful bound exists, none is
 * stated. */
static void what_values_are_bounded_by(void **state) {
    (void)state;
    static const qb_prep_options cases[] = {{.hardening = NULL},
                                            {.hardening = "10"},
                                            {.hardening = "-0.2,0.1"},
                                            {.hardening = "0.05,-0.002"},
                                            {.hardening = "spectrum:al,120,cu:0.5"}};
    const float raw[] = {FLT_MIN / 0x1p23f, FLT_MIN, 1e-30f, 0.5f, 1, 999, 1e30f, FLT_MAX};
    enum { M = sizeof raw / sizeof raw[0] };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        qb__prep prep = {.quantity = QB_TRANSMISSION, .dtype = QB_F32, .columns = M, .floor = 1e-38f};
        const double bound = qb__prep_bound(QB_TRANSMISSION, &cases[c]);
        qb__prep_counts counts = {0};
        float out[M], most = 0;
        qb__hardening_curve *curve;
        assert_int_equal(qb__curve_create(cases[c].hardening, &curve), QB_OK);
        prep.curve = curve;
        qb__prep_begin(&prep, &cases[c]);
        qb__prep_row(&prep, 0, 0, raw, out, &counts);
        for (int i = 0; i < M; i++) most = fmaxf(most, fabsf(out[i]));
        assert_true(most <= bound && most > 0.4 * bound);
        qb__curve_destroy(curve);
    }
    assert_true(qb__prep_bound(QB_COUNTS, NULL) == 89);
    assert_true(isinf(qb__prep_bound(QB_LINE_INTEGRAL, NULL)));
    assert_true(isinf(qb__prep_bound(QB_COUNTS, &(qb_prep_options){.hardening = "0,1"})));
}

/* A row is prepared with its own flats and darks, whichever row is the first that is held. */
static void rows_have_their_own_fields(void **state) {
    (void)state;
    enum { VIEWS = 2, ROWS = 5, COLUMNS = 4, PIXELS = ROWS * COLUMNS };
    static const double angles[VIEWS] = {0, 1};
    uint16_t raw[VIEWS * PIXELS], flat[PIXELS], dark[PIXELS];
    float out[3 * COLUMNS];
    for (int i = 0; i < PIXELS; i++) {
        const int row = i / COLUMNS;
        flat[i] = (uint16_t)(1000 * (row + 1)), dark[i] = (uint16_t)(10 * row);
        for (int v = 0; v < VIEWS; v++) raw[v * PIXELS + i] = (uint16_t)(300 + 7 * i + v);
    }
    const qb_tensor lines = {.data = raw, .ndim = 3, .dtype = QB_U16, .shape = {VIEWS, ROWS, COLUMNS}};
    const qb_tensor flats = {.data = flat, .ndim = 2, .dtype = QB_U16, .shape = {ROWS, COLUMNS}};
    const qb_tensor darks = {.data = dark, .ndim = 2, .dtype = QB_U16, .shape = {ROWS, COLUMNS}};
    const qb_scan_options about = {.quantity = QB_COUNTS};
    qb_prep_options options;
    qb_scan *scan;
    assert_ok(qb_params_init(qb_prep_params, &options));
    assert_ok(qb_scan_from_tensor(&lines, angles, &flats, &darks, &about, NULL, &scan));
    for (size_t row0 = 0; row0 < 3; row0++) {
        qb__prepare *prepare;
        qb__prep_counts counts = {0};
        assert_ok(qb__prepare_create(scan, &options, &(qb__prepared){.row0 = row0, .row1 = ROWS}, NULL, &prepare));
        qb__prepare_view(prepare, 1, 2, 3, raw + PIXELS + 2 * COLUMNS, out, &counts);
        for (int i = 0; i < 3 * COLUMNS; i++) {
            const int at = 2 * COLUMNS + i;
            assert_close(out[i], -log((raw[PIXELS + at] - (double)dark[at]) / (flat[at] - (double)dark[at])), 2e-6);
        }
        qb__prepare_destroy(prepare);
    }
    qb_scan_close(scan);
    qb_params_clear(qb_prep_params, &options);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logarithm),
        cmocka_unit_test(counts_to_line_integrals),
        cmocka_unit_test(all_variants_agree),
        cmocka_unit_test(every_dtype),
        cmocka_unit_test(all_flats_dead),
        cmocka_unit_test(bad_values_are_bridged),
        cmocka_unit_test(dead_flats),
        cmocka_unit_test(hardening_is_straightened),
        cmocka_unit_test(a_spectrum_is_undone),
        cmocka_unit_test(rows_have_their_own_fields),
        cmocka_unit_test(what_values_are_bounded_by),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
