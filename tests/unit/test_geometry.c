/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "geometry/parallel.h"
#include "geometry/vector.h"

#define PI 3.14159265358979323846
#define MAX 4000

static void check_close(double a, double b, double tolerance) {
    if (!(fabs(a - b) <= tolerance)) fail_msg("%.17g is not %.17g within %g", a, b, tolerance);
}

static void spaced(double from, double step, size_t n, double *radians) {
    for (size_t i = 0; i < n; i++) radians[i] = (from + step * (double)i) * (PI / 180);
}

static double sum(const double *weights, size_t n) {
    double total = 0;
    for (size_t i = 0; i < n; i++) total += weights[i];
    return total;
}

static void weigh(size_t n, const double *radians, double *weights, qb__angle_report *report) {
    assert_int_equal(qb__angle_weights(n, radians, weights, report), QB_OK);
}

static void even_scans_weigh_the_same(void **state) {
    (void)state;
    static const struct {
        double range;
        size_t n, repeated;
    } cases[] = {{180, 1, 0},   {180, 2, 0},     {180, 7, 0},     {180, 1800, 0},   {360, 720, 360},
                 {360, 721, 0}, {-180, 1801, 0}, {720, 360, 270}, {360, 3600, 1800}};
    static double radians[MAX], weights[MAX];
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        size_t n = cases[c].n;
        qb__angle_report report;
        spaced(-33.3, cases[c].range / (double)n, n, radians);
        weigh(n, radians, weights, &report);
        for (size_t i = 0; i < n; i++) check_close(weights[i], PI / (double)n, 1e-15);
        assert_true(report.even);
        assert_false(report.limited);
        assert_int_equal(report.repeated, cases[c].repeated);
        check_close(report.coverage, 180, 1e-9);
    }
}

static void single_precision_degrees_are_even(void **state) {
    (void)state;
    static double radians[MAX], weights[MAX];
    for (size_t i = 0; i < MAX; i++) radians[i] = (double)((float)i * (360.0f / MAX)) * (PI / 180);
    qb__angle_report report;
    weigh(MAX, radians, weights, &report);
    assert_true(report.even);
    for (size_t i = 1; i < MAX; i++) assert_true(weights[i] == weights[0]);
}

static void repeated_end_views_share(void **state) {
    (void)state;
    static double radians[MAX], weights[MAX];
    static const double turn[] = {180, 360};
    for (int c = 0; c < 2; c++) {
        size_t n = 361;
        qb__angle_report report;
        spaced(0, turn[c] / (double)(n - 1), n, radians);
        weigh(n, radians, weights, &report);
        check_close(sum(weights, n), PI, 1e-12);
        check_close(weights[0], weights[n - 1], 1e-15);
        double direction = weights[0] + weights[n - 1];
        if (c == 1)
            direction += weights[180], check_close(direction, PI / 180, 1e-12);
        else
            check_close(direction, PI / 360, 1e-12);
        assert_false(report.limited);
        assert_int_equal(report.repeated, c ? 181 : 1);
    }
}

static void uneven_views_get_half_their_gaps(void **state) {
    (void)state;
    double radians[] = {0, 170, 10, 30, 60, 110, 140, 90}, weights[8];
    static const double expected[] = {10, 20, 15, 25, 30, 25, 30, 25};
    for (int i = 0; i < 8; i++) radians[i] *= PI / 180;
    radians[3] += PI; /* 30 + 180 degrees is the direction of 30 */
    qb__angle_report report;
    weigh(8, radians, weights, &report);
    for (int i = 0; i < 8; i++) check_close(weights[i] * 180 / PI, expected[i], 1e-9);
    assert_false(report.even);
    assert_false(report.limited);
    check_close(report.gap, 30, 1e-9);
}

/* Opposite views that differ by a small angle are not one direction, yet they share their weight. */
static void near_repeats_share(void **state) {
    (void)state;
    static double radians[MAX], weights[MAX];
    spaced(0, 1, 180, radians);
    spaced(180.01, 1, 180, radians + 180);
    qb__angle_report report;
    weigh(360, radians, weights, &report);
    for (int i = 0; i < 360; i++) check_close(weights[i], PI / 360, 1e-12);
    assert_false(report.limited);
}

static void part_repeated_scans_are_whole(void **state) {
    (void)state;
    static double radians[MAX], weights[MAX];
    spaced(5, 0.5, 540, radians); /* 270 degrees: half of the directions are measured twice */
    qb__angle_report report;
    weigh(540, radians, weights, &report);
    check_close(sum(weights, 540), PI, 1e-12);
    for (int i = 0; i < 540; i++) {
        bool twice = i < 180 || i >= 360;
        check_close(weights[i] * 180 / PI, twice ? 0.25 : 0.5, 1e-9);
    }
    assert_int_equal(report.repeated, 180);
    assert_false(report.limited);
}

static void limited_angles_are_said_and_capped(void **state) {
    (void)state;
    static double radians[MAX], weights[MAX];
    spaced(150, 1, 121, radians); /* 150..270 degrees: nothing from 90 to 150 */
    qb__angle_report report;
    assert_int_equal(qb__angle_weights_as(QB_WEIGHTS_CAPPED, 121, radians, weights, &report), QB_OK);
    check_close(weights[60], PI / 180, 1e-12);
    check_close(weights[0], 2 * PI / 180, 1e-12);
    check_close(weights[120], 2 * PI / 180, 1e-12);
    assert_true(report.limited);
    check_close(report.gap_from, 90, 1e-9);
    check_close(report.gap_to, 150, 1e-9);
    check_close(report.missing, 59, 1e-9);
    check_close(report.coverage, 121, 1e-9);
    assert_non_null(strstr(report.text, "59 degrees missing from 90 to 150"));
    check_close(report.capped, 1 - sum(weights, 121) / PI, 1e-12);
    assert_non_null(strstr(report.text, "make values 32 % too low"));
    assert_int_equal(qb__angle_weights_as(QB_WEIGHTS_SPACING, 121, radians, weights, &report), QB_OK);
    check_close(sum(weights, 121), PI, 1e-12); /* the views at the borders of the gap carry its weight */
    check_close(weights[60], PI / 180, 1e-12);
    assert_true(weights[0] > 30 * PI / 180 && report.capped == 0 && !report.open);
    weigh(121, radians, weights, &report); /* by default no view carries so much weight */
    check_close(sum(weights, 121), 123 * PI / 180, 1e-12);
    check_close(weights[60], PI / 180, 1e-12);
    check_close(weights[0], 2 * PI / 180, 1e-12);
    check_close(report.capped, 57.0 / 180, 1e-12);
    assert_true(report.open);
    assert_non_null(strstr(report.text, "values are 32 % too low"));
    assert_non_null(strstr(report.text, "59 degrees missing from 90 to 150"));
}

static void bad_angles_are_refused(void **state) {
    (void)state;
    double radians[] = {0, NAN}, weights[2];
    assert_int_equal(qb__angle_weights(2, radians, weights, NULL), QB_BAD_INPUT);
    assert_int_equal(qb__angle_weights(0, radians, weights, NULL), QB_BAD_ARGUMENT);
    qb_geometry geometry;
    assert_int_equal(qb_geometry_parallel(2, radians, 1, 1, 1, 0, &geometry), QB_BAD_INPUT);
    assert_null(geometry.view);
    radians[1] = 1;
    assert_int_equal(qb_geometry_parallel(2, radians, 1, 1, 0, 0, &geometry), QB_BAD_ARGUMENT);
    assert_int_equal(qb_geometry_parallel(2, radians, 0, 1, 1, 0, &geometry), QB_BAD_ARGUMENT);
    assert_int_equal(qb_geometry_cone(2, radians, 1, 1, 1, 1, 10, 5, 0, 0, &geometry), QB_BAD_ARGUMENT);
    qb_geometry_destroy(NULL);
}

static void voxels_fall_on_their_columns(void **state) {
    (void)state;
    double radians[] = {0, 0.3, 1.7, 4}, ax[4], ay[4], h0[4];
    double pixel = 0.7, center = 31.25;
    qb_geometry geometry;
    assert_int_equal(qb_geometry_parallel(4, radians, 9, 64, pixel, center, &geometry), QB_OK);
    qb_grid grid = {{20, 30, 9}, {0.5, 0.6, 0.7}, {1.5, -2, 3}};
    assert_int_equal(qb__parallel_rows(&geometry, &grid, ax, ay, h0), QB_OK);
    for (int i = 0; i < 4; i++) {
        double x = (3 - 9.5) * 0.5 + 1.5, y = (17 - 14.5) * 0.6 - 2;
        double s = x * cos(radians[i]) + y * sin(radians[i]);
        check_close(ax[i] * 3 + ay[i] * 17 + h0[i], s / pixel + center, 1e-12);
    }
    geometry.view[2].v[0] = 0.1;
    geometry.view[2].v[1] = 0.2;
    assert_int_equal(qb__parallel_rows(&geometry, &grid, ax, ay, h0), QB_UNSUPPORTED);
    geometry.beam = QB_BEAM_CONE;
    assert_int_equal(qb__parallel_rows(&geometry, &grid, ax, ay, h0), QB_UNSUPPORTED);
    qb_geometry_destroy(&geometry);
}

static void cone_views_stand_where_they_should(void **state) {
    (void)state;
    double t = 0.6, sod = 300, sdd = 500, du = 0.4, dv = 0.5, offset_u = 3, offset_v = -2;
    qb_geometry geometry;
    assert_int_equal(qb_geometry_cone(1, &t, 40, 64, du, dv, sod, sdd, offset_u, offset_v, &geometry), QB_OK);
    const qb_view *view = &geometry.view[0];
    check_close(view->source[0], sod * sin(t), 1e-12);
    check_close(view->source[1], -sod * cos(t), 1e-12);
    /* The principal ray meets column (n - 1) / 2 - U / du and row (n - 1) / 2 - V / dv. */
    double column = 31.5 - offset_u / du, row = 19.5 - offset_v / dv, foot[3];
    for (int k = 0; k < 3; k++) foot[k] = view->detector[k] + column * view->u[k] + row * view->v[k];
    check_close(foot[0], -(sdd - sod) * sin(t), 1e-12);
    check_close(foot[1], (sdd - sod) * cos(t), 1e-12);
    check_close(foot[2], 0, 1e-12);
    check_close(qb__norm(view->u), du, 1e-15);
    check_close(view->v[2], dv, 0);
    qb_geometry_destroy(&geometry);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(even_scans_weigh_the_same),
        cmocka_unit_test(single_precision_degrees_are_even),
        cmocka_unit_test(repeated_end_views_share),
        cmocka_unit_test(uneven_views_get_half_their_gaps),
        cmocka_unit_test(near_repeats_share),
        cmocka_unit_test(part_repeated_scans_are_whole),
        cmocka_unit_test(limited_angles_are_said_and_capped),
        cmocka_unit_test(bad_angles_are_refused),
        cmocka_unit_test(voxels_fall_on_their_columns),
        cmocka_unit_test(cone_views_stand_where_they_should),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
