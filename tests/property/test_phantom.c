/* SPDX-License-Identifier: MIT */
#include "dice.h"

#include "geometry/phantom.h"

#define PI 3.14159265358979323846
enum { CASES = 60, ROWS = 23, COLUMNS = 37, SHAPES = 5 };

static void check_close(double a, double b, double tolerance) {
    if (!(fabs(a - b) <= tolerance)) fail_msg("%.17g is not %.17g within %g", a, b, tolerance);
}

static void throw_shapes(qb__ellipsoid *shape, double turn) {
    for (int i = 0; i < SHAPES; i++) {
        double x = uniform(-6, 6), y = uniform(-6, 6), phi = uniform(0, PI);
        double at[3] = {x * cos(turn) - y * sin(turn), x * sin(turn) + y * cos(turn), uniform(-4, 4)};
        double semi[3] = {uniform(1, 5), uniform(1, 5), uniform(1, 5)};
        shape[i] = qb__ellipsoid_make(at, semi, phi + turn, uniform(-1, 1));
        shape[i].box = i % 2;
    }
}

static qb_geometry throw_geometry(double angle, int cone) {
    qb_geometry g;
    if (cone) {
        double sod = uniform(30, 90);
        assert_int_equal(qb_geometry_cone(1, &angle, ROWS, COLUMNS, 1.1, 0.9, sod, sod + uniform(0, 50), uniform(-4, 4),
                                          uniform(-4, 4), &g),
                         QB_OK);
    } else {
        assert_int_equal(qb_geometry_parallel(1, &angle, ROWS, COLUMNS, 0.8, uniform(10, 25), &g), QB_OK);
    }
    return g;
}

static void project(const qb__ellipsoid *shape, size_t count, const qb_geometry *g, size_t band, double *out) {
    qb__phantom phantom = {count, (qb__ellipsoid *)shape};
    void *scratch = malloc(qb__phantom_scratch(&phantom, COLUMNS));
    for (size_t row = 0; row < ROWS; row += band)
        qb__phantom_project(&phantom, g, 0, row, row + band < ROWS ? row + band : ROWS, out + row * COLUMNS, scratch);
    free(scratch);
}

static void bands_make_the_whole(void **state) {
    (void)state;
    static double whole[ROWS * COLUMNS], parts[ROWS * COLUMNS];
    const int cases = (int)trials(CASES);
    for (int i = 0; i < cases; i++) {
        qb__ellipsoid shape[SHAPES];
        throw_shapes(shape, 0);
        qb_geometry g = throw_geometry(uniform(-7, 7), i % 2);
        project(shape, SHAPES, &g, ROWS, whole);
        project(shape, SHAPES, &g, (size_t)uniform(1, ROWS), parts);
        assert_memory_equal(whole, parts, sizeof whole);
        qb_geometry_destroy(&g);
    }
}

static void shapes_add_up(void **state) {
    (void)state;
    static double whole[ROWS * COLUMNS], one[ROWS * COLUMNS], sum[ROWS * COLUMNS];
    const int cases = (int)trials(CASES);
    for (int i = 0; i < cases; i++) {
        qb__ellipsoid shape[SHAPES];
        throw_shapes(shape, 0);
        qb_geometry g = throw_geometry(uniform(-7, 7), i % 2);
        project(shape, SHAPES, &g, ROWS, whole);
        memset(sum, 0, sizeof sum);
        for (int k = 0; k < SHAPES; k++) {
            project(shape + k, 1, &g, ROWS, one);
            for (int p = 0; p < ROWS * COLUMNS; p++) sum[p] += one[p];
        }
        for (int p = 0; p < ROWS * COLUMNS; p++) check_close(sum[p], whole[p], 1e-12);
        qb_geometry_destroy(&g);
    }
}

/* A phantom rotated together with the scanner looks the same. */
static void turning_both_changes_nothing(void **state) {
    (void)state;
    static double before[ROWS * COLUMNS], after[ROWS * COLUMNS];
    const int cases = (int)trials(CASES);
    for (int i = 0; i < cases; i++) {
        double turn = uniform(-7, 7), angle = uniform(-7, 7);
        qb__ellipsoid shape[SHAPES];
        qb__random again = dice;
        throw_shapes(shape, 0);
        qb_geometry g = throw_geometry(angle, i % 2);
        project(shape, SHAPES, &g, ROWS, before);
        qb_geometry_destroy(&g);
        dice = again;
        throw_shapes(shape, turn);
        g = throw_geometry(angle + turn, i % 2);
        project(shape, SHAPES, &g, ROWS, after);
        qb_geometry_destroy(&g);
        for (int p = 0; p < ROWS * COLUMNS; p++) check_close(before[p], after[p], 1e-5);
    }
}

/* Views from opposite directions are mirror images. */
static void opposite_views_mirror(void **state) {
    (void)state;
    static double front[ROWS * COLUMNS], back[ROWS * COLUMNS];
    const int cases = (int)trials(CASES);
    for (int i = 0; i < cases; i++) {
        double angles[2] = {uniform(-7, 7), 0};
        angles[1] = angles[0] + PI;
        qb__ellipsoid shape[SHAPES];
        throw_shapes(shape, 0);
        for (int k = 0; k < 2; k++) {
            qb_geometry g;
            assert_int_equal(qb_geometry_parallel(1, &angles[k], ROWS, COLUMNS, 0.8, (COLUMNS - 1) / 2.0, &g), QB_OK);
            project(shape, SHAPES, &g, ROWS, k ? back : front);
            qb_geometry_destroy(&g);
        }
        for (int p = 0; p < ROWS * COLUMNS; p++) {
            int mirrored = p / COLUMNS * COLUMNS + COLUMNS - 1 - p % COLUMNS;
            check_close(front[p], back[mirrored], 1e-5);
        }
    }
}

/* From very far away, a cone beam is a parallel beam. */
static void a_distant_source_is_parallel(void **state) {
    (void)state;
    static double cone[ROWS * COLUMNS], parallel[ROWS * COLUMNS];
    const int cases = (int)trials(CASES);
    for (int i = 0; i < cases; i++) {
        double angle = uniform(-7, 7), far = 1e8;
        qb__ellipsoid shape[SHAPES];
        throw_shapes(shape, 0);
        for (int k = 0; k < SHAPES; k++) /* a row just above a box and a row just below its top differ */
            if (shape[k].box) memset(shape[k].a[2], 0, sizeof shape[k].a[2]);
        qb_geometry g;
        assert_int_equal(qb_geometry_cone(1, &angle, ROWS, COLUMNS, 0.8, 0.8, far, far + 10, 0, 0, &g), QB_OK);
        project(shape, SHAPES, &g, ROWS, cone);
        qb_geometry_destroy(&g);
        assert_int_equal(qb_geometry_parallel(1, &angle, ROWS, COLUMNS, 0.8, (COLUMNS - 1) / 2.0, &g), QB_OK);
        project(shape, SHAPES, &g, ROWS, parallel);
        qb_geometry_destroy(&g);
        for (int p = 0; p < ROWS * COLUMNS; p++) check_close(cone[p], parallel[p], 2e-2);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bands_make_the_whole),         cmocka_unit_test(shapes_add_up),
        cmocka_unit_test(turning_both_changes_nothing), cmocka_unit_test(opposite_views_mirror),
        cmocka_unit_test(a_distant_source_is_parallel),
    };
    return cmocka_run_group_tests(tests, throw_dice, NULL);
}
