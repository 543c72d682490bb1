/* SPDX-License-Identifier: MIT */
/* The forecast of how far a cost still falls, on costs whose final value is known. */
#include <math.h>

#include "recon/mbir/icd/icd_fall.h"
#include "check.h"

static double power(double e) { return 100 + 50 / (1 + e); }
static double powerless(double e) { return 100 + 50 / sqrt(1 + e); }
static double halves(double e) { return 100 + 50 * exp2(-e); }

/* The forecast is exact for powers, after enough equits. It is too small by no more than the way of the first equits,
 * and for exponentials a few times too large. */
static void known_ends(void **state) {
    static const struct {
        double (*cost)(double), least, most;
    } rows[] = {{power, 0.95, 1.5}, {powerless, 0.95, 1.5}, {halves, 1, 1e9}};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        qb__icd_fall fall = {0};
        for (int turn = 0; turn < 2500; turn++) {
            const double e = 0.4 * turn, rest = (rows[i].cost(e) - 100) / rows[i].cost(e);
            qb__icd_fall_add(&fall, e, rows[i].cost(e));
            const double told = qb__icd_fall_rest(&fall);
            if (e < 20) continue;
            assert_true(told >= rows[i].least * rest - 1e-9);
            assert_true(told <= rows[i].most * rest + 1e-9);
            assert_true(i < 2 || told < 1e-2);
        }
    }
}

/* A cost that falls by a constant factor per equit, as with momentum. The forecast by factor is right, and the one by
 * powers is too large. */
static void by_factor(void **state) {
    (void)state;
    qb__icd_fall fall = {0};
    for (int e = 0; e <= 40; e++) qb__icd_fall_add(&fall, e, 100 + 50 * pow(0.94, e));
    const double rest = 50 * pow(0.94, 40) / (100 + 50 * pow(0.94, 40)), told = qb__icd_fall_rest_by_factor(&fall);
    assert_true(fabs(told - rest) < 0.01 * rest);
    assert_true(qb__icd_fall_rest(&fall) > 1.5 * told);
    assert_true(fabs(qb__icd_fall_equits_to(&fall, rest / 10, 1000) - log(0.1) / log(0.94)) < 0.5);
    assert_true(qb__icd_fall_equits_to(&fall, rest / 10, 20) == 20);
    assert_true(qb__icd_fall_equits_to(&fall, 2 * rest, 20) == 0);
}

static void nothing_known(void **state) {
    qb__icd_fall fall = {0};
    (void)state;
    qb__icd_fall_add(&fall, 0, 10);
    assert_true(qb__icd_fall_rest(&fall) == 1);
    qb__icd_fall_add(&fall, 1, 5);
    assert_true(qb__icd_fall_rest(&fall) > 0.5);
}

/* A cost that has reached its end does not fall. One turn is enough to see this. */
static void begun_at_its_end(void **state) {
    qb__icd_fall fall = {0};
    (void)state;
    qb__icd_fall_add(&fall, 0, 10);
    qb__icd_fall_add(&fall, 1, 10 - 1e-6);
    assert_true(qb__icd_fall_rest(&fall) < 1e-5);
    qb__icd_fall_add(&fall, 2, 10 + 1e-6); /* a rounding error */
    assert_true(qb__icd_fall_rest(&fall) < 1e-5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_ends),
        cmocka_unit_test(by_factor),
        cmocka_unit_test(nothing_known),
        cmocka_unit_test(begun_at_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
