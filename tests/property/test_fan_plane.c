/* SPDX-License-Identifier: MIT */
/* Rows of a cone beam that are fans: those whose rays all stay within half a slice of their own slice, and no others. A
 * flat object looks the same in the plane as in the cone. */
#include <string.h>

#include "dice.h"
#include "geometry/circle.h"
#include "geometry/fan.h"
#include "geometry/matrix.h"

typedef struct scene {
    qb_geometry geometry;
    size_t row0, row1;
    double sod, pixel, magnification, offset_v, radius;
} scene;

enum { VIEWS = 5 };

static scene make(void) {
    double angles[VIEWS];
    scene s = {.sod = uniform(20, 200), .pixel = uniform(0.3, 2), .magnification = uniform(1, 3)};
    const size_t rows = 1 + (size_t)uniform(0, 12), columns = 2 + (size_t)uniform(0, 60);
    for (int v = 0; v < VIEWS; v++) angles[v] = uniform(0, 7);
    s.row0 = (size_t)uniform(0, (double)rows);
    s.row1 = s.row0 + 1 + (size_t)uniform(0, (double)(rows - s.row0));
    s.offset_v = uniform(-2, 2) * s.pixel;
    s.radius = s.sod * uniform(0.05, 0.9);
    assert_int_equal(qb_geometry_cone(VIEWS, angles, rows, columns, s.pixel, s.pixel, s.sod, s.sod * s.magnification, 0,
                                      s.offset_v, &s.geometry),
                     QB_OK);
    return s;
}

/* How far the rays of a row deviate from their height at the axis, in rows as they appear there: by the formulas of a
 * circle. */
static double strays(const scene *s, size_t row) {
    const double up = ((double)row - ((double)s->geometry.rows - 1) / 2) * s->pixel + s->offset_v; /* on the detector */
    const double step = s->pixel / s->magnification;
    double most = 0;
    for (size_t c = 0; c < s->geometry.columns; c++) {
        const double u = ((double)c - ((double)s->geometry.columns - 1) / 2) * s->pixel,
                     sdd = s->sod * s->magnification;
        const double level = hypot(u, sdd), closest = s->sod * sdd / level, past = s->sod * fabs(u) / level;
        if (past >= s->radius) continue;
        const double half = sqrt(s->radius * s->radius - past * past), climb = fabs(up) / level;
        /* A ray that passes the axis obliquely crosses it at another height than the middle ray. */
        most = fmax(most, fabs(up * closest / level - up / s->magnification) + climb * half);
    }
    return most / step;
}

static void rows_that_stay_in_their_slices_are_fans(void **state) {
    (void)state;
    size_t fans = 0, cones = 0;
    for (size_t trial = 0; trial < trials(3000); trial++) {
        scene s = make();
        double most = 0, looked = 0;
        qb__fan_plane plane;
        for (size_t row = s.row0; row < s.row1; row++) most = fmax(most, strays(&s, row));
        const qb_status status = qb__fan_plane_create(&s.geometry, s.row0, s.row1, s.radius, &plane);
        looked = fabs(most - 0.5); /* between the columns that are checked, a ray may deviate a little more */
        if (looked > 0.03 && (status == QB_OK) != (most < 0.5))
            fail_msg("rows %zu to %zu of %zu come %g slices away: %s", s.row0, s.row1, s.geometry.rows, most,
                     status ? qb_detail() : "a fan");
        if (status == QB_OK) {
            const double up = ((double)s.row0 - ((double)s.geometry.rows - 1) / 2) * s.pixel + s.offset_v;
            assert_true(fabs(plane.step - s.pixel / s.magnification) < 1e-9 &&
                        fabs(plane.z - up / s.magnification) < 1e-3 * s.pixel);
        } else {
            assert_int_equal(status, QB_UNSUPPORTED);
            assert_non_null(strstr(qb_detail(), "--slices"));
        }
        fans += status == QB_OK, cones += status != QB_OK;
        qb__fan_plane_destroy(&plane);
        qb_geometry_destroy(&s.geometry);
    }
    assert_true(fans > 0 && cones > 0);
}

/* Also for views at random places that lean a little. */
static void the_plane_is_seen_as_by_the_cone(void **state) {
    (void)state;
    for (size_t trial = 0; trial < trials(300); trial++) {
        double angles[VIEWS];
        qb_geometry g;
        qb__fan_plane plane;
        for (int v = 0; v < VIEWS; v++) angles[v] = uniform(0, 7);
        assert_int_equal(qb_geometry_cone(VIEWS, angles, 1, 40, 0.5, 0.5, 50, 90, uniform(-5, 5), 0, &g), QB_OK);
        for (int v = 0; v < VIEWS; v++)
            for (int j = 0; j < 2; j++) {
                g.view[v].source[j] += uniform(-1, 1), g.view[v].detector[j] += uniform(-1, 1);
                g.view[v].v[j] += uniform(-0.1, 0.1);
            }
        assert_int_equal(qb__fan_plane_create(&g, 0, 1, 12, &plane), QB_OK);
        for (int v = 0; v < VIEWS; v++) {
            const double x = uniform(-12, 12), y = uniform(-12, 12);
            double seen[2][3];
            qb__matrix matrix;
            for (int i = 0; i < 2; i++) {
                assert_int_equal(qb__matrix_of_view(QB_BEAM_CONE, i ? &plane.flat.view[v] : &g.view[v], &matrix),
                                 QB_OK);
                qb__matrix_apply(&matrix, x, y, 0, seen[i]);
            }
            assert_true(fabs(seen[0][0] / seen[0][2] - seen[1][0] / seen[1][2]) < 1e-9);
        }
        qb__fan_plane_destroy(&plane);
        qb_geometry_destroy(&g);
    }
}

/* Rows of a leaning detector do not see a column at one place, a helix leaves the plane, and rays of a parallel beam do
 * not meet. */
static void what_is_no_fan_is_refused(void **state) {
    (void)state;
    double angles[VIEWS] = {0, 1, 2, 3, 4};
    qb_geometry g;
    qb__fan_plane plane;
    assert_int_equal(qb_geometry_cone(VIEWS, angles, 4, 40, 0.5, 0.5, 500, 900, 0, 0, &g), QB_OK);
    assert_int_equal(qb__fan_plane_create(&g, 0, 4, 8, &plane), QB_OK);
    qb__fan_plane_destroy(&plane);
    for (int v = 0; v < VIEWS; v++) g.view[v].v[0] += 0.1;
    assert_int_equal(qb__fan_plane_create(&g, 0, 4, 8, &plane), QB_UNSUPPORTED);
    assert_non_null(strstr(qb_detail(), "leans"));
    assert_int_equal(qb__fan_plane_create(&g, 1, 2, 8, &plane), QB_OK);
    qb__fan_plane_destroy(&plane);
    for (int v = 0; v < VIEWS; v++) g.view[v].source[2] += 0.2 * v, g.view[v].detector[2] += 0.2 * v;
    assert_int_equal(qb__fan_plane_create(&g, 1, 2, 8, &plane), QB_UNSUPPORTED);
    assert_non_null(strstr(qb_detail(), "rays of row 1"));
    qb_geometry_destroy(&g);
    assert_int_equal(qb_geometry_cone(VIEWS, angles, 1, 40, 0.5, 0.5, 500, 900, 3, 0, &g), QB_OK);
    g.radius = 900; /* about the source, wherever the detector's middle is */
    assert_int_equal(qb__fan_plane_create(&g, 0, 1, 8, &plane), QB_OK);
    assert_true(plane.flat.radius == 900);
    qb__fan_plane_destroy(&plane);
    g.radius = 901;
    assert_int_equal(qb__fan_plane_create(&g, 0, 1, 8, &plane), QB_UNSUPPORTED);
    assert_non_null(strstr(qb_detail(), "curved"));
    qb__fan_plane_destroy(&plane);
    qb_geometry_destroy(&g);
    assert_int_equal(qb_geometry_parallel(VIEWS, angles, 1, 40, 1, 19.5, &g), QB_OK);
    assert_int_equal(qb__fan_plane_create(&g, 0, 1, 8, &plane), QB_UNSUPPORTED);
    qb_geometry_destroy(&g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_that_stay_in_their_slices_are_fans),
        cmocka_unit_test(the_plane_is_seen_as_by_the_cone),
        cmocka_unit_test(what_is_no_fan_is_refused),
    };
    return cmocka_run_group_tests(tests, throw_dice, NULL);
}
