/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "geometry/check.h"
#include "geometry/matrix.h"
#include "geometry/vector.h"

static double uniform(double low, double high) { return low + (high - low) * (double)rand() / RAND_MAX; }

/* A random view with the origin in front of it. Rows and columns may be skewed. */
static qb_view random_view(void) {
    qb_view view;
    for (int j = 0; j < 3; j++) {
        view.source[j] = uniform(-50, 50);
        view.u[j] = uniform(-0.2, 0.2);
        view.v[j] = uniform(-0.2, 0.2);
    }
    view.source[1] -= 500;
    view.u[0] += 1;
    view.v[2] += 1;
    view.detector[0] = uniform(-300, -200);
    view.detector[1] = uniform(300, 400);
    view.detector[2] = uniform(-300, -200);
    return view;
}

/* A point on the ray through a pixel falls on that pixel, and w grows with the depth of the point. */
static void points_of_a_ray_fall_on_its_pixel(void **state) {
    (void)state;
    for (int trial = 0; trial < 1000; trial++) {
        qb_view view = random_view();
        qb__matrix matrix;
        assert_int_equal(qb__matrix_of_view(QB_BEAM_CONE, &view, &matrix), QB_OK);
        double column = uniform(-100, 600), row = uniform(-100, 600), part = uniform(0.2, 1.5);
        double at[3], p[3], origin[3];
        for (int j = 0; j < 3; j++) {
            double pixel = view.detector[j] + column * view.u[j] + row * view.v[j];
            at[j] = view.source[j] + part * (pixel - view.source[j]);
        }
        qb__matrix_apply(&matrix, at[0], at[1], at[2], p);
        qb__matrix_apply(&matrix, 0, 0, 0, origin);
        assert_true(fabs(p[0] / p[2] - column) < 1e-8);
        assert_true(fabs(p[1] / p[2] - row) < 1e-8);
        assert_true(p[2] > 0 && fabs(origin[2] - 1) < 1e-12);
    }
}

static void circular_w_is_depth_over_distance(void **state) {
    (void)state;
    double angles[3] = {0, 0.7, 4};
    qb_geometry geometry;
    assert_int_equal(qb_geometry_cone(3, angles, 40, 60, 0.5, 0.6, 400, 900, 3, -2, &geometry), QB_OK);
    for (int i = 0; i < 3; i++) {
        qb__matrix matrix;
        double p[3], c = cos(angles[i]), s = sin(angles[i]), x = 31, y = -17, z = 12;
        assert_int_equal(qb__matrix_of_view(QB_BEAM_CONE, &geometry.view[i], &matrix), QB_OK);
        qb__matrix_apply(&matrix, x, y, z, p);
        double depth = 400 - x * s + y * c, side = x * c + y * s;
        assert_true(fabs(p[2] - depth / 400) < 1e-12);
        assert_true(fabs(p[0] / p[2] - (29.5 - 3 / 0.5 + side * 900 / depth / 0.5)) < 1e-9);
        assert_true(fabs(p[1] / p[2] - (19.5 + 2 / 0.6 + z * 900 / depth / 0.6)) < 1e-9);
    }
    qb_geometry_destroy(&geometry);
}

static void parallel_matrix_is_the_stated_formula(void **state) {
    (void)state;
    double angle = 0.6;
    qb_geometry geometry;
    assert_int_equal(qb_geometry_parallel(1, &angle, 9, 60, 0.5, 31.25, &geometry), QB_OK);
    qb__matrix matrix;
    double p[3], x = 3, y = -5, z = 1.5;
    assert_int_equal(qb__matrix_of_view(QB_BEAM_PARALLEL, geometry.view, &matrix), QB_OK);
    qb__matrix_apply(&matrix, x, y, z, p);
    assert_true(fabs(p[0] - ((x * cos(angle) + y * sin(angle)) / 0.5 + 31.25)) < 1e-12);
    assert_true(fabs(p[1] - (z / 0.5 + 4)) < 1e-12);
    assert_true(p[2] == 1);
    qb_geometry_destroy(&geometry);
}

static void grid_matrix_takes_indices(void **state) {
    (void)state;
    qb_view view = random_view();
    qb_grid grid = {{5, 6, 7}, {1, 2, 3}, {10, -20, 30}};
    qb__matrix world, on_grid;
    double a[3], b[3];
    assert_int_equal(qb__matrix_of_view(QB_BEAM_CONE, &view, &world), QB_OK);
    qb__matrix_on_grid(&world, &grid, &on_grid);
    qb__matrix_apply(&on_grid, 1, 2, 6, a);
    qb__matrix_apply(&world, (1 - 2.0) * 1 + 10, (2 - 2.5) * 2 - 20, (6 - 3.0) * 3 + 30, b);
    for (int i = 0; i < 3; i++) assert_true(fabs(a[i] - b[i]) < 1e-9 * (1 + fabs(b[i])));
}

static void same_view(const qb_view *a, const qb_view *b, double bound) {
    const double *p = (const double *)a, *q = (const double *)b;
    for (int i = 0; i < 12; i++) assert_true(fabs(p[i] - q[i]) < bound);
}

static void decomposed_views_come_back(void **state) {
    (void)state;
    for (int trial = 0; trial < 500; trial++) {
        qb_view view = random_view(), back;
        qb__matrix matrix;
        qb_beam beam;
        assert_int_equal(qb__matrix_of_view(QB_BEAM_CONE, &view, &matrix), QB_OK);
        double scale = uniform(0.001, 1000) * (trial % 2 ? 1 : -1);
        for (int i = 0; i < 12; i++) matrix.m[i / 4][i % 4] *= scale;
        assert_int_equal(qb__matrix_decompose(&matrix, qb__norm(view.u), qb__norm(view.v), &beam, &back), QB_OK);
        assert_int_equal(beam, QB_BEAM_CONE);
        same_view(&view, &back, 1e-7);
        assert_int_equal(qb__matrix_decompose(&matrix, qb__norm(view.u), 1.1 * qb__norm(view.v), &beam, &back),
                         QB_BAD_INPUT);
    }
}

static void decomposed_parallel_views_cast_the_same_rays(void **state) {
    (void)state;
    double angle = 2.5;
    qb_geometry geometry;
    assert_int_equal(qb_geometry_parallel(1, &angle, 9, 60, 0.5, 31.25, &geometry), QB_OK);
    qb__matrix matrix, again;
    qb_view back;
    qb_beam beam;
    assert_int_equal(qb__matrix_of_view(QB_BEAM_PARALLEL, geometry.view, &matrix), QB_OK);
    assert_int_equal(qb__matrix_decompose(&matrix, 0.5, 0.5, &beam, &back), QB_OK);
    assert_int_equal(beam, QB_BEAM_PARALLEL);
    for (int j = 0; j < 3; j++) assert_true(fabs(back.source[j] - geometry.view->source[j]) < 1e-12);
    assert_int_equal(qb__matrix_of_view(beam, &back, &again), QB_OK);
    for (int i = 0; i < 12; i++) assert_true(fabs(matrix.m[i / 4][i % 4] - again.m[i / 4][i % 4]) < 1e-12);
    qb_geometry_destroy(&geometry);
}

static void unusable_grids_are_refused_with_the_number(void **state) {
    (void)state;
    double angles[2] = {0, 0.1};
    qb_geometry geometry;
    assert_int_equal(qb_geometry_cone(2, angles, 40, 60, 0.5, 0.5, 100, 200, 0, 0, &geometry), QB_OK);
    qb_grid fits = {{64, 64, 64}, {1, 1, 1}, {0}}, inside = {{210, 210, 64}, {1, 1, 1}, {0}};
    qb_grid behind = {{64, 64, 64}, {1, 1, 1}, {0, -150, 0}};
    assert_int_equal(qb_geometry_check_grid(&geometry, &fits), QB_OK);
    assert_int_equal(qb_geometry_check_grid(&geometry, &inside), QB_BAD_INPUT);
    assert_non_null(strstr(qb_detail(), "view 0: the source is 5 mm inside the volume"));
    assert_int_equal(qb_geometry_check_grid(&geometry, &behind), QB_BAD_INPUT);
    assert_non_null(strstr(qb_detail(), "view 0"));
    assert_non_null(strstr(qb_detail(), "w = -0."));
    qb_geometry_destroy(&geometry);
}

static void no_geometry_is_refused(void **state) {
    (void)state;
    double angles[2] = {0, 0.1};
    qb_geometry geometry;
    assert_int_equal(qb_geometry_cone(2, angles, 40, 60, 0.5, 0.5, 100, 200, 0, 0, &geometry), QB_OK);
    assert_int_equal(qb__geometry_check(&geometry), QB_OK);
    qb_view good = geometry.view[1];
    geometry.view[1].v[2] = NAN;
    assert_int_equal(qb__geometry_check(&geometry), QB_BAD_INPUT);
    assert_string_equal(qb_detail(), "view 1: v[2] is nan");
    geometry.view[1] = good;
    memcpy(geometry.view[1].u, good.v, sizeof good.v);
    assert_int_equal(qb__geometry_check(&geometry), QB_BAD_INPUT);
    geometry.view[1] = good;
    memcpy(geometry.view[1].source, good.detector, sizeof good.source);
    assert_int_equal(qb__geometry_check(&geometry), QB_BAD_INPUT);
    qb_geometry_destroy(&geometry);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_of_a_ray_fall_on_its_pixel),
        cmocka_unit_test(circular_w_is_depth_over_distance),
        cmocka_unit_test(parallel_matrix_is_the_stated_formula),
        cmocka_unit_test(grid_matrix_takes_indices),
        cmocka_unit_test(decomposed_views_come_back),
        cmocka_unit_test(decomposed_parallel_views_cast_the_same_rays),
        cmocka_unit_test(unusable_grids_are_refused_with_the_number),
        cmocka_unit_test(no_geometry_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
