/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/random.h"
#include "geometry/phantom.h"
#include "geometry/vector.h"

#define PI 3.14159265358979323846

static const char *const names[] = {"shepp-logan", "disc", "ball", "spheres", "foam", "baggage"};
enum { NAMES = 6 };

static void check_close(double a, double b, double tolerance) {
    if (!(fabs(a - b) <= tolerance)) fail_msg("%.17g is not %.17g within %g", a, b, tolerance);
}

static qb__phantom make(const char *name, const qb_grid *grid) {
    qb__phantom phantom;
    assert_int_equal(qb__phantom_create(name, grid, 1, 7, &phantom), QB_OK);
    return phantom;
}

static double *project(const qb__phantom *phantom, const qb_geometry *geometry, size_t view) {
    double *out = calloc(geometry->rows * geometry->columns, sizeof *out);
    void *scratch = malloc(qb__phantom_scratch(phantom, geometry->columns));
    qb__phantom_project(phantom, geometry, view, 0, geometry->rows, out, scratch);
    free(scratch);
    return out;
}

static void unknown_names_are_refused(void **state) {
    (void)state;
    qb_grid grid = {{8, 8, 8}, {1, 1, 1}, {0, 0, 0}};
    qb__phantom phantom;
    assert_int_equal(qb__phantom_create("sheep", &grid, 1, 0, &phantom), QB_BAD_ARGUMENT);
    assert_non_null(strstr(qb_detail(), "shepp-logan"));
    qb__phantom_destroy(NULL);
}

static void the_middle_plane_is_the_classical_phantom(void **state) {
    (void)state;
    static const double classic[10][6] = {{1, .69, .92, 0, 0, 0},        {-.8, .6624, .8740, 0, -.0184, 0},
                                          {-.2, .11, .31, .22, 0, -18},  {-.2, .16, .41, -.22, 0, 18},
                                          {.1, .21, .25, 0, .35, 0},     {.1, .046, .046, 0, .1, 0},
                                          {.1, .046, .046, 0, -.1, 0},   {.1, .046, .023, -.08, -.605, 0},
                                          {.1, .023, .023, 0, -.606, 0}, {.1, .023, .046, .06, -.605, 0}};
    enum { N = 301 };
    qb_grid grid = {{N, N, N}, {2.0 / N, 2.0 / N, 2.0 / N}, {0, 0, 0}};
    qb__phantom phantom = make("shepp-logan", &grid);
    float *slice = malloc(N * N * sizeof *slice);
    qb__phantom_slice(&phantom, &grid, N / 2, 1, slice);
    for (int iy = 0; iy < N; iy++) {
        for (int ix = 0; ix < N; ix++) {
            double x = (ix - N / 2) * 2.0 / N, y = (iy - N / 2) * 2.0 / N, sum = 0;
            for (int e = 0; e < 10; e++) {
                const double *t = classic[e];
                double phi = t[5] * PI / 180, dx = x - t[3], dy = y - t[4];
                double p = (dx * cos(phi) + dy * sin(phi)) / t[1];
                double q = (-dx * sin(phi) + dy * cos(phi)) / t[2];
                if (p * p + q * q <= 1) sum += t[0];
            }
            check_close(slice[iy * N + ix], sum, 1e-6);
        }
    }
    free(slice);
    qb__phantom_destroy(&phantom);
}

static void a_disc_casts_its_chords(void **state) {
    (void)state;
    double angles[] = {0, 0.7, 2.9}, pixel = 0.5;
    qb_grid grid = {{128, 128, 4}, {pixel, pixel, pixel}, {0, 0, 0}};
    qb__phantom phantom = make("disc", &grid);
    qb_geometry geometry;
    assert_int_equal(qb_geometry_parallel(3, angles, 4, 128, pixel, 65.25, &geometry), QB_OK);
    double radius = 0.8 * 32;
    for (size_t view = 0; view < 3; view++) {
        double *p = project(&phantom, &geometry, view);
        for (int i = 0; i < 4 * 128; i++) {
            double s = (i % 128 - 65.25) * pixel;
            double chord = fabs(s) < radius ? 2 * sqrt(radius * radius - s * s) : 0;
            check_close(p[i], chord, 1e-10);
        }
        free(p);
    }
    qb_geometry_destroy(&geometry);
    qb__phantom_destroy(&phantom);
}

/* The fast path against one line at a time, in every phantom and both beams, with tilted views. */
static void projections_are_line_integrals(void **state) {
    (void)state;
    double angles[] = {0.1, 1.3, 4.4};
    qb_grid grid = {{60, 60, 40}, {1, 1, 1}, {0, 0, 0}};
    for (int n = 0; n < 2 * NAMES; n++) {
        qb__phantom phantom = make(names[n / 2], &grid);
        qb_geometry g;
        if (n % 2)
            assert_int_equal(qb_geometry_cone(3, angles, 41, 61, 1.5, 1.4, 120, 200, 4, -3, &g), QB_OK);
        else
            assert_int_equal(qb_geometry_parallel(3, angles, 41, 61, 1, 29, &g), QB_OK);
        g.view[1].v[0] += 0.1;
        g.view[2].u[2] -= 0.2;
        if (n % 2 == 0) g.view[2].source[2] = 0.3;
        for (size_t view = 0; view < 3; view++) {
            const qb_view *v = &g.view[view];
            double *p = project(&phantom, &g, view), worst = 0;
            for (int i = 0; i < 41 * 61; i++) {
                double at[3], d[3];
                for (int k = 0; k < 3; k++) {
                    at[k] = v->detector[k] + (i % 61) * v->u[k] + (double)(i / 61) * v->v[k];
                    d[k] = n % 2 ? at[k] - v->source[k] : v->source[k] / qb__norm(v->source);
                }
                double exact = qb__phantom_line(&phantom, n % 2 ? v->source : at, d);
                worst = fmax(worst, fabs(exact - p[i]));
            }
            check_close(worst, 0, 1e-5); /* at the rim a chord is the root of its rounding error */
            free(p);
        }
        qb_geometry_destroy(&g);
        qb__phantom_destroy(&phantom);
    }
}

/* A line integral against sums of the values of points along the line. */
static void chords_agree_with_sampling(void **state) {
    (void)state;
    qb_grid grid = {{100, 100, 100}, {1, 1, 1}, {3, -2, 1}};
    qb__random random = qb__random_stream(1, 2);
    for (int n = 0; n < NAMES; n++) {
        qb__phantom phantom = make(names[n], &grid);
        for (int ray = 0; ray < (phantom.count > 100 ? 8 : 30); ray++) {
            double origin[3], d[3];
            for (int k = 0; k < 3; k++) {
                origin[k] = 60 * (qb__random_unit(&random) - 0.5);
                d[k] = qb__random_unit(&random) - 0.5;
            }
            double exact = qb__phantom_line(&phantom, origin, d), sum = 0, step = 0.05;
            double length = qb__norm(d);
            if (hypot(d[0], d[1]) < 0.2 * length) continue; /* the line stays too long inside the endless cylinder */
            for (int i = -16000; i < 16000; i++) {
                double p[3];
                for (int k = 0; k < 3; k++) p[k] = origin[k] + (i + 0.5) * step * d[k] / length;
                sum += step * qb__phantom_value(&phantom, p);
            }
            check_close(sum, exact, 0.4);
        }
        qb__phantom_destroy(&phantom);
    }
}

static double centroid(const double *p, const qb_geometry *g, double *row) {
    double sum = 0, columns = 0, rows = 0;
    for (size_t r = 0; r < g->rows; r++) {
        for (size_t c = 0; c < g->columns; c++) {
            double value = p[r * g->columns + c];
            sum += value, columns += value * (double)c, rows += value * (double)r;
        }
    }
    *row = rows / sum;
    return columns / sum;
}

static qb__phantom one_ball(qb__ellipsoid *shape, double x, double y, double z, double radius) {
    *shape = qb__ellipsoid_make((double[3]){x, y, z}, (double[3]){radius, radius, radius}, 0, 1);
    return (qb__phantom){1, shape};
}

static void a_sphere_wanders_as_a_sine(void **state) {
    (void)state;
    enum { VIEWS = 12 };
    double angles[VIEWS], pixel = 0.5, center = 66;
    for (int i = 0; i < VIEWS; i++) angles[i] = i * PI / 6;
    qb__ellipsoid shape;
    qb__phantom phantom = one_ball(&shape, 11, -7, 4, 6);
    qb_geometry g;
    assert_int_equal(qb_geometry_parallel(VIEWS, angles, 80, 128, pixel, center, &g), QB_OK);
    for (size_t i = 0; i < VIEWS; i++) {
        double *p = project(&phantom, &g, i), row;
        double column = centroid(p, &g, &row);
        double s = 11 * cos(angles[i]) - 7 * sin(angles[i]);
        check_close(column, center + s / pixel, 0.02);
        check_close(row, 39.5 + 4 / pixel, 0.02);
        free(p);
    }
    qb_geometry_destroy(&g);
}

/* A small object far from the source: the middle of its shadow lies where the ray through its centre meets the
 * detector. */
static void a_cone_beam_magnifies(void **state) {
    (void)state;
    double t = 0.8, sod = 400, sdd = 1000, x = 20, y = -30, z = 15;
    qb__ellipsoid shape;
    qb__phantom phantom = one_ball(&shape, x, y, z, 3);
    qb_geometry g;
    assert_int_equal(qb_geometry_cone(1, &t, 300, 400, 0.5, 0.5, sod, sdd, 8, -6, &g), QB_OK);
    double s = x * cos(t) + y * sin(t), depth = sod - x * sin(t) + y * cos(t);
    double *p = project(&phantom, &g, 0), row;
    double column = centroid(p, &g, &row);
    check_close(column, 199.5 - 8 / 0.5 + s * sdd / depth / 0.5, 0.02);
    check_close(row, 149.5 + 6 / 0.5 + z * sdd / depth / 0.5, 0.02);
    free(p);
    qb_geometry_destroy(&g);
}

static void voxels_add_up_to_the_volume(void **state) {
    (void)state;
    qb_grid grid = {{41, 50, 45}, {0.8, 0.7, 0.9}, {1, -2, 0.5}};
    double semi[] = {9, 12, 7}, volume[3] = {0};
    qb__ellipsoid shape = qb__ellipsoid_make((double[3]){3, -1, 2}, semi, 0.4, 2);
    qb__phantom phantom = {1, &shape};
    float slice[41 * 50];
    for (int samples = 1; samples <= 3; samples++) {
        for (size_t iz = 0; iz < grid.n[2]; iz++) {
            qb__phantom_slice(&phantom, &grid, iz, samples, slice);
            for (int i = 0; i < 41 * 50; i++) volume[samples - 1] += slice[i] * 0.8 * 0.7 * 0.9;
            if (samples > 1) continue;
            for (int i = 0; i < 41 * 50; i++) {
                double p[3] = {(i % 41 - 20) * 0.8 + 1, (i / 41 - 24.5) * 0.7 - 2, ((double)iz - 22) * 0.9 + 0.5};
                check_close(slice[i], qb__phantom_value(&phantom, p), 1e-6);
            }
        }
    }
    double exact = 2 * 4.0 / 3 * PI * 9 * 12 * 7;
    check_close(volume[0], exact, 0.01 * exact);
    check_close(volume[2], exact, 0.002 * exact);
}

static void foam_depends_on_its_seed_and_does_not_touch(void **state) {
    (void)state;
    qb_grid grid = {{64, 64, 64}, {1, 1, 1}, {0, 0, 0}};
    qb__phantom a = make("foam", &grid), b = make("foam", &grid), c;
    assert_int_equal(qb__phantom_create("foam", &grid, 1, 8, &c), QB_OK);
    assert_int_equal(a.count, b.count);
    assert_memory_equal(a.shape, b.shape, a.count * sizeof *a.shape);
    assert_true(c.count != a.count || memcmp(a.shape, c.shape, a.count * sizeof *a.shape) != 0);
    assert_true(a.count > 200);
    for (size_t i = 1; i < a.count; i++) {
        for (size_t j = 1; j < i; j++) {
            double d[3];
            for (int k = 0; k < 3; k++) d[k] = a.shape[i].center[k] - a.shape[j].center[k];
            assert_true(qb__norm(d) > 1 / a.shape[i].a[0][0] + 1 / a.shape[j].a[0][0]);
        }
    }
    qb__phantom_destroy(&a);
    qb__phantom_destroy(&b);
    qb__phantom_destroy(&c);
}

/* Objects lie in the case and none inside another. So nothing is below zero or denser than steel, and most of the field
 * is air. */
static void bags_are_packed_by_their_seed(void **state) {
    (void)state;
    enum { N = 96, SEEDS = 12 };
    qb_grid grid = {{N, N, 1}, {1, 1, 1}, {0, 0, 0}};
    float *slice = malloc(N * N * sizeof *slice), *before = calloc(N * N, sizeof *slice);
    double metal = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        qb__phantom bag, again;
        assert_int_equal(qb__phantom_create("baggage", &grid, 1, seed, &bag), QB_OK);
        assert_int_equal(qb__phantom_create("baggage", &grid, 1, seed, &again), QB_OK);
        assert_int_equal(bag.count, again.count);
        for (size_t i = 0; i < bag.count; i++)
            assert_memory_equal(bag.shape[i].a, again.shape[i].a, sizeof bag.shape[i].a);
        qb__phantom_slice(&bag, &grid, 0, 3, slice);
        size_t full = 0;
        for (int i = 0; i < N * N; i++) {
            if (!(slice[i] > -1e-5f && slice[i] < 8.5f)) fail_msg("seed %d: %g", (int)seed, slice[i]);
            if (hypot(i % N - 47.5, i / N - 47.5) > 0.99 * N / 2) assert_true(fabsf(slice[i]) < 1e-5f);
            full += slice[i] > 0.01f;
            metal = fmax(metal, slice[i]);
        }
        assert_true(full > N * N / 8 && full < N * N * 3 / 4);
        assert_memory_not_equal(slice, before, N * N * sizeof *slice);
        memcpy(before, slice, N * N * sizeof *slice);
        qb__phantom_destroy(&bag);
        qb__phantom_destroy(&again);
    }
    assert_true(metal > 4);
    free(before);
    free(slice);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_names_are_refused),
        cmocka_unit_test(the_middle_plane_is_the_classical_phantom),
        cmocka_unit_test(a_disc_casts_its_chords),
        cmocka_unit_test(projections_are_line_integrals),
        cmocka_unit_test(chords_agree_with_sampling),
        cmocka_unit_test(a_sphere_wanders_as_a_sine),
        cmocka_unit_test(a_cone_beam_magnifies),
        cmocka_unit_test(voxels_add_up_to_the_volume),
        cmocka_unit_test(foam_depends_on_its_seed_and_does_not_touch),
        cmocka_unit_test(bags_are_packed_by_their_seed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
