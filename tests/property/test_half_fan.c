/* SPDX-License-Identifier: MIT */
/* Full turns about an axis near one side: the weights of a column and its mirror image add up to 1. */
#include "dice.h"

#include "geometry/parallel.h"

enum { MOST = 400 };
static const double pi = 3.14159265358979323846;

/* The axis lies on a column or half way between two, so that mirror images are columns, too. */
static void shares_make_one(void **state) {
    (void)state;
    const size_t count = trials(2000);
    for (size_t trial = 0; trial < count; trial++) {
        size_t columns = 2 + (size_t)uniform(0, MOST - 3);
        long twice = (long)uniform(0, 2 * (double)columns - 1.5);
        float share[MOST];
        double narrow = fmin((double)twice, 2 * ((double)columns - 1) - (double)twice) / 2;
        qb__half_fan_shares(columns, (double)twice / 2, share);
        for (long k = 0; k < (long)columns; k++) {
            long image = twice - k;
            double s = fabs((double)k - (double)twice / 2);
            bool both = image >= 0 && image < (long)columns;
            double sum = (double)share[k] + (both ? (double)share[image] : 0.0);
            if (!(fabs(sum - 1) < 1e-6) || !(share[k] >= 0) || !(share[k] <= 1))
                fail_msg("%zu columns, axis at %g: column %ld and its image make %g", columns, (double)twice / 2, k,
                         sum);
            if (s < narrow / 2) assert_true(fabs((double)share[k] - 0.5) < 1e-6);
            if (k > 0 && narrow >= 8) assert_true(fabs((double)(share[k] - share[k - 1])) < 2 / narrow);
        }
    }
}

static void rows_reach_as_far_on_both_sides(void **state) {
    (void)state;
    const size_t count = trials(2000);
    for (size_t trial = 0; trial < count; trial++) {
        size_t columns = 16 + (size_t)uniform(0, 3000);
        double end = (double)columns - 1, center = uniform(0, end);
        qb__half_fan fan = qb__half_fan_of(columns, center, center);
        double wide = fmax(center, end - center), narrow = end - wide;
        assert_int_equal(fan.used, wide - narrow > fmax(0.05 * (double)columns, 2));
        if (!fan.used) {
            assert_int_equal(fan.before + fan.after, 0);
            continue;
        }
        double left = center + (double)fan.before, right = end + (double)fan.after - center;
        assert_true(fmin(left, right) >= wide - 1e-5 && fmax(left, right) < wide + 1);
    }
    qb__half_fan sweep = qb__half_fan_of(256, 100, 150);
    assert_true(sweep.used && sweep.before == 55 && sweep.after == 45);
}

static void full_turns_are_told(void **state) {
    (void)state;
    static const struct {
        size_t views;
        double degrees;
        bool full;
    } scans[] = {{600, 360, true},  {601, 360, true}, {40, 720, true},  {180, 180, false},
                 {7, 360, true},    {200, 340, true}, {400, 355, true}, {200, 325, false},
                 {300, 200, false}, {2, 360, false},  {90, -360, true}};
    for (size_t i = 0; i < sizeof scans / sizeof scans[0]; i++) {
        double radians[MOST * 2];
        bool full;
        size_t views = scans[i].views;
        for (size_t v = 0; v < views; v++) radians[v] = scans[i].degrees * (double)v / (double)views * pi / 180;
        assert_ok(qb__turns_fully(views, radians, &full, NULL));
        if (full != scans[i].full) fail_msg("%zu views over %g degrees", views, scans[i].degrees);
    }
    /* Random angles: the largest of 600 gaps is some degrees. */
    double radians[600];
    bool full;
    for (size_t v = 0; v < 600; v++) radians[v] = uniform(0, 2 * pi);
    assert_ok(qb__turns_fully(600, radians, &full, NULL));
    assert_true(full);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(shares_make_one),
                                       cmocka_unit_test(rows_reach_as_far_on_both_sides),
                                       cmocka_unit_test(full_turns_are_told)};
    return cmocka_run_group_tests(tests, throw_dice, NULL);
}
