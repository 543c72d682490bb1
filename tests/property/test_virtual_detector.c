/* SPDX-License-Identifier: MIT */
/* The virtual flat detector that replaces a rotated or curved one: it has the same rays, contains all real pixels, its
 * rows are horizontal, and for each slab it has all rows that resampling reads. */
#include "dice.h"

#include "base/memory.h"
#include "geometry/check.h"
#include "geometry/circle.h"
#include "geometry/matrix.h"
#include "geometry/virtual_detector.h"
#include "geometry/vector.h"

enum { VIEWS = 5, MOST = 400 };
static const double pi = 3.14159265358979323846;

typedef struct wish {
    double in_plane, lean, jitter, radius; /* radians, radians, mm; 0 = flat, else in mm */
} wish;

/* Rows numbered from the top: then columns, rows and rays are left-handed. */
static void from_the_top(qb_geometry *g) {
    for (size_t i = 0; i < g->views; i++) {
        for (int j = 0; j < 3; j++) {
            g->view[i].detector[j] += ((double)g->rows - 1) * g->view[i].v[j];
            g->view[i].v[j] = -g->view[i].v[j];
        }
    }
}

static qb_geometry scan(wish w) {
    double angles[VIEWS], sod = uniform(200, 500), sdd = sod + uniform(50, 400);
    for (int i = 0; i < VIEWS; i++) angles[i] = uniform(0, 7);
    qb_geometry g;
    size_t rows = (size_t)uniform(3, 60), columns = (size_t)uniform(3, 90);
    assert_int_equal(qb_geometry_cone(VIEWS, angles, rows, columns, uniform(0.5, 2), uniform(0.5, 2), sod, sdd,
                                      uniform(-9, 9), uniform(-9, 9), &g),
                     QB_OK);
    qb__geometry_disturb(&g, angles, sod, sdd,
                         &(qb__faults){.in_plane = w.in_plane,
                                       .out_of_plane = uniform(-1, 1) * w.lean,
                                       .slant = uniform(-1, 1) * w.lean,
                                       .jitter_u = w.jitter,
                                       .jitter_v = w.jitter,
                                       .periods = 1});
    g.radius = w.radius;
    return g;
}

/* A real pixel, seen from the source through the virtual detector, is read at that pixel, and it lies within the
 * virtual detector. */
static void pixels_agree(const qb__virtual_detector *up, const qb_geometry *real) {
    static double column[MOST], row[MOST];
    for (int trial = 0; trial < 60; trial++) {
        size_t view = (size_t)uniform(0, VIEWS - 0.01);
        double c = uniform(0, (double)real->columns - 1), r = uniform(0, (double)real->rows - 1);
        double place[3], p[3];
        qb__matrix matrix;
        qb__pixel_position(real, view, c, r, place);
        assert_int_equal(qb__matrix_of_view(QB_BEAM_CONE, &up->geometry.view[view], &matrix), QB_OK);
        qb__matrix_apply(&matrix, place[0], place[1], place[2], p);
        double i = p[0] / p[2], j = p[1] / p[2];
        assert_true(i > -1 && i < (double)up->geometry.columns && j > -1 && j < (double)up->geometry.rows);
        /* If the position of a whole virtual pixel is known, its ray meets the real pixel's position. */
        size_t at = (size_t)fmax(0, floor(j)), to = (size_t)fmax(0, floor(i));
        qb__virtual_detector_line(up, view, at, column, row);
        if (isnan(column[to])) continue;
        double found[3], ray[3], other[3], across[3];
        const qb_view *flat = &up->geometry.view[view];
        qb__pixel_position(real, view, column[to], row[to], found);
        for (int k = 0; k < 3; k++) {
            ray[k] = flat->detector[k] + (double)to * flat->u[k] + (double)at * flat->v[k] - flat->source[k];
            other[k] = found[k] - flat->source[k];
        }
        qb__cross(ray, other, across);
        double sine = qb__norm(across) / qb__norm(ray) / qb__norm(other);
        if (!(sine < 1e-9 && qb__dot(ray, other) > 0)) fail_msg("rays apart by %g", sine);
    }
}

static void is_vertical(const qb__virtual_detector *up) {
    const qb_view *first = &up->geometry.view[0];
    for (size_t i = 0; i < VIEWS; i++) {
        const qb_view *v = &up->geometry.view[i];
        assert_true(v->u[2] == 0 && v->v[0] == 0 && v->v[1] == 0 && v->v[2] != 0);
        assert_true(fabs(qb__norm(v->u) / qb__norm(first->u) - 1) < 1e-12);
        /* the plane's point on the ray through the axis is the same pixel */
        qb__matrix a, b;
        double p[3], q[3];
        qb__matrix_of_view(QB_BEAM_CONE, v, &a);
        qb__matrix_of_view(QB_BEAM_CONE, first, &b);
        qb__matrix_apply(&a, 0, 0, v->source[2], p);
        qb__matrix_apply(&b, 0, 0, first->source[2], q);
        assert_true(fabs(p[0] / p[2] - q[0] / q[2]) < 1e-6 && fabs(p[1] / p[2] - q[1] / q[2]) < 1e-6);
    }
    assert_true(qb__virtual_detector_drift(&up->geometry) == 0);
}

static void rows_are_enough(const qb__virtual_detector *up, const qb_geometry *real) {
    static double column[MOST], row[MOST];
    size_t r0 = (size_t)uniform(0, (double)up->geometry.rows - 0.01), first, end;
    size_t r1 = r0 + 1 + (size_t)uniform(0, (double)(up->geometry.rows - r0) - 0.01);
    qb__virtual_detector_rows(up, r0, r1, 4, &first, &end);
    for (size_t view = 0; view < VIEWS; view++) {
        for (size_t r = r0; r < r1; r++) {
            qb__virtual_detector_line(up, view, r, column, row);
            for (size_t c = 0; c < up->geometry.columns; c++) {
                if (!(column[c] >= -0.5 && column[c] <= (double)real->columns - 0.5)) continue;
                if (!(row[c] >= -0.5 && row[c] <= (double)real->rows - 0.5)) continue;
                double low = fmax(0, floor(row[c]) - 3), high = fmin((double)real->rows - 1, floor(row[c]) + 4);
                assert_true(low >= (double)first && high < (double)end);
            }
        }
    }
}

static void check(wish w) {
    qb_geometry real = scan(w);
    if (uniform(0, 3) < 1) from_the_top(&real);
    qb__virtual_detector up;
    assert_int_equal(qb__virtual_detector_create(&real, &up), QB_OK);
    assert_true(up.geometry.columns <= MOST);
    pixels_agree(&up, &real);
    is_vertical(&up);
    rows_are_enough(&up, &real);
    qb__virtual_detector_destroy(&up);
    qb_geometry_destroy(&real);
}

static void turned_detectors(void **state) {
    (void)state;
    for (size_t trial = trials(300); trial > 0; trial--) check((wish){uniform(-0.5, 0.5), 0.1, 3, 0});
    for (size_t trial = trials(50); trial > 0; trial--) check((wish){uniform(-3.1, 3.1), 0, 0, 0});
    check((wish){pi / 2, 0, 0, 0});
    check((wish){0, 0, 0, 0});
}

static void curved_detectors(void **state) {
    (void)state;
    for (size_t trial = trials(300); trial > 0; trial--) check((wish){uniform(-0.2, 0.2), 0.05, 3, uniform(150, 900)});
}

/* In-plane rotations, offsets and jitter leave an ideal circle; a rotation alone gives the same map in every view. */
static void a_circle_comes_back(void **state) {
    (void)state;
    for (size_t trial = trials(50); trial > 0; trial--) {
        qb_geometry real = scan((wish){uniform(-0.3, 0.3), 0, trial % 2 ? 2 : 0, 0});
        qb__virtual_detector up;
        qb__circle circle;
        assert_int_equal(qb__virtual_detector_create(&real, &up), QB_OK);
        assert_int_equal(qb__circle_fit(&up.geometry, &circle), QB_OK);
        assert_true(circle.error < 1e-6);
        if (trial % 2 == 0) assert_int_equal(up.different, 0);
        qb__virtual_detector_destroy(&up);
        qb_geometry_destroy(&real);
    }
}

static void an_ideal_one_stays(void **state) {
    (void)state;
    qb_geometry real = scan((wish){0});
    qb__virtual_detector up;
    double column[MOST], row[MOST];
    assert_int_equal(qb__virtual_detector_create(&real, &up), QB_OK);
    assert_int_equal(up.geometry.columns, real.columns);
    qb__virtual_detector_line(&up, 1, 1, column, row);
    for (size_t c = 0; c < real.columns; c++) assert_true(fabs(column[c] - (double)c) < 1e-6);
    qb__virtual_detector_destroy(&up);
    qb_geometry_destroy(&real);
}

static void refusals(void **state) {
    (void)state;
    qb__virtual_detector up;
    qb_geometry lying = scan((wish){0}), skew = scan((wish){.radius = 500});
    double angles[VIEWS] = {0}, sod = 100, sdd = 150;
    qb_geometry_destroy(&lying);
    assert_int_equal(qb_geometry_cone(VIEWS, angles, 4, 4, 1, 1, sod, sdd, 0, 0, &lying), QB_OK);
    qb__geometry_disturb(&(qb_geometry){.views = 1, .view = &lying.view[3]}, angles, sod, sdd,
                         &(qb__faults){.out_of_plane = 1.45});
    assert_int_equal(qb__virtual_detector_create(&lying, &up), QB_UNSUPPORTED);
    assert_non_null(strstr(qb_detail(), "view 3"));
    for (int j = 0; j < 3; j++) skew.view[2].v[j] += 0.1 * skew.view[2].u[j];
    assert_int_equal(qb__geometry_check(&skew), QB_UNSUPPORTED);
    assert_non_null(strstr(qb_detail(), "view 2"));
    qb_geometry_destroy(&lying);
    qb_geometry_destroy(&skew);
    double angle = 0;
    qb_geometry round;
    assert_int_equal(qb_geometry_cone(1, &angle, 4, 600, 1, 1, 100, 150, 0, 0, &round), QB_OK);
    round.radius = 140; /* the ends of the detector lie behind the source */
    assert_int_equal(qb__virtual_detector_create(&round, &up), QB_UNSUPPORTED);
    qb_geometry_destroy(&round);
}

static void out_of_memory(void **state) {
    (void)state;
    qb_geometry real = scan((wish){0.1, 0, 0, 300});
    for (size_t n = 1; n <= 4; n++) {
        qb__virtual_detector up;
        qb__fail_allocation(n);
        assert_int_equal(qb__virtual_detector_create(&real, &up), QB_NO_MEMORY);
        assert_null(up.geometry.view);
    }
    qb__fail_allocation(0);
    qb_geometry_destroy(&real);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(turned_detectors),   cmocka_unit_test(curved_detectors), cmocka_unit_test(a_circle_comes_back),
        cmocka_unit_test(an_ideal_one_stays), cmocka_unit_test(refusals),         cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, throw_dice, NULL);
}
