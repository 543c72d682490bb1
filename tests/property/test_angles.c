/* SPDX-License-Identifier: MIT */
#include "dice.h"

#include "geometry/parallel.h"

#define PI 3.14159265358979323846
enum { CASES = 300, MOST = 500 };

static double angles[MOST], weights[MOST], moved[MOST], again[MOST];

static void check_close(double a, double b, double tolerance) {
    if (!(fabs(a - b) <= tolerance)) fail_msg("%.17g is not %.17g within %g", a, b, tolerance);
}

/* Angles with jittered steps over one to five half turns, sometimes with a gap. */
static size_t throw_angles(void) {
    size_t n = 4 + (size_t)(qb__random_unit(&dice) * (MOST - 4));
    double span = PI * (0.5 + 4.5 * qb__random_unit(&dice)), jitter = qb__random_unit(&dice);
    for (size_t i = 0; i < n; i++) angles[i] = 10 + span / (double)n * ((double)i + jitter * qb__random_unit(&dice));
    return n;
}

static double sum(const double *values, size_t n) {
    double total = 0;
    for (size_t i = 0; i < n; i++) total += values[i];
    return total;
}

static void weights_never_exceed_the_half_turn(void **state) {
    (void)state;
    for (size_t i = trials(CASES); i > 0; i--) {
        size_t n = throw_angles();
        qb__angle_report report;
        assert_int_equal(qb__angle_weights(n, angles, weights, &report), QB_OK);
        for (size_t k = 0; k < n; k++) assert_true(weights[k] >= 0);
        assert_true(sum(weights, n) <= PI * (1 + 1e-12));
        if (report.even) check_close(sum(weights, n), PI, 1e-12);
    }
}

/* Adding half turns and changing the order of the views does not change the weights. */
static void half_turns_and_order_do_not_matter(void **state) {
    (void)state;
    for (size_t i = trials(CASES); i > 0; i--) {
        size_t n = throw_angles();
        for (size_t k = 0; k < n; k++) moved[n - 1 - k] = angles[k] + PI * floor(6 * qb__random_unit(&dice) - 3);
        assert_int_equal(qb__angle_weights(n, angles, weights, NULL), QB_OK);
        assert_int_equal(qb__angle_weights(n, moved, again, NULL), QB_OK);
        double size = PI / (double)n;
        for (size_t k = 0; k < n; k++) check_close(again[n - 1 - k], weights[k], 1e-2 * size);
        check_close(sum(again, n), sum(weights, n), 1e-10);
    }
}

/* Every view twice: the weights of each pair add up to that of the single view. Steps are at least a tenth, so that no
 * two directions are close enough to count as one. */
static void doubling_every_view_halves_weights(void **state) {
    (void)state;
    for (size_t i = trials(CASES); i > 0; i--) {
        size_t n = 4 + (size_t)(qb__random_unit(&dice) * (MOST / 2 - 4));
        for (size_t k = 0; k < n; k++) angles[k] = PI / (double)n * ((double)k + 0.9 * qb__random_unit(&dice));
        for (size_t k = 0; k < n; k++) moved[k] = angles[k], moved[n + k] = angles[k] + PI;
        assert_int_equal(qb__angle_weights(n, angles, weights, NULL), QB_OK);
        assert_int_equal(qb__angle_weights(2 * n, moved, again, NULL), QB_OK);
        for (size_t k = 0; k < n; k++) { check_close(again[k] + again[n + k], weights[k], 1e-2 * PI / (double)n); }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_never_exceed_the_half_turn),
        cmocka_unit_test(half_turns_and_order_do_not_matter),
        cmocka_unit_test(doubling_every_view_halves_weights),
    };
    return cmocka_run_group_tests(tests, throw_dice, NULL);
}
