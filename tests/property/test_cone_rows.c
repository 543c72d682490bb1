/* SPDX-License-Identifier: MIT */
/* The detector rows that a slab needs, compared to a projection of every voxel of it. */
#include "dice.h"

#include "geometry/grid.h"
#include "geometry/matrix.h"
#include "geometry/partition.h"

enum { VIEWS = 7 };

static qb_geometry random_scan(void) {
    double angles[VIEWS];
    qb_geometry geometry;
    for (int i = 0; i < VIEWS; i++) angles[i] = uniform(0, 7);
    size_t rows = (size_t)uniform(4, 90);
    assert_int_equal(qb_geometry_cone(VIEWS, angles, rows, 64, 1, 1, uniform(40, 200), 300, uniform(-9, 9),
                                      uniform(-30, 30), &geometry),
                     QB_OK);
    for (int i = 0; i < VIEWS; i++) {
        for (int j = 0; j < 3; j++) {
            geometry.view[i].u[j] += uniform(-0.1, 0.1);
            geometry.view[i].v[j] += uniform(-0.1, 0.1);
            geometry.view[i].source[j] += uniform(-2, 2);
        }
    }
    return geometry;
}

static void brute_force(const qb_geometry *geometry, const qb_grid *grid, const qb__matrix *matrices, size_t z0,
                        size_t z1, double *low, double *high) {
    *low = INFINITY, *high = -INFINITY;
    for (size_t i = 0; i < geometry->views; i++) {
        for (size_t at = z0 * grid->n[0] * grid->n[1]; at < z1 * grid->n[0] * grid->n[1]; at++) {
            double p[3];
            qb__matrix_apply(&matrices[i], (double)(at % grid->n[0]), (double)(at / grid->n[0] % grid->n[1]),
                             (double)(at / grid->n[0] / grid->n[1]), p);
            *low = fmin(*low, p[1] / p[2]);
            *high = fmax(*high, p[1] / p[2]);
        }
    }
}

static qb__rows rows_of(const qb_geometry *geometry, const qb_grid *grid, const qb__matrix *matrices, size_t z0,
                        size_t z1) {
    double flat[VIEWS][12];
    memcpy(flat, matrices, sizeof flat);
    qb__rows_problem problem = {VIEWS, (const double(*)[12])flat, grid->n[0], grid->n[1], geometry->rows};
    return qb__rows_of_slab(&problem, z0, z1);
}

static void check_slab(const qb_geometry *geometry, const qb_grid *grid, const qb__matrix *matrices, size_t z0,
                       size_t z1) {
    double low, high, last = (double)geometry->rows;
    brute_force(geometry, grid, matrices, z0, z1, &low, &high);
    qb__rows rows = rows_of(geometry, grid, matrices, z0, z1);
    /* All rows that bilinear interpolation reads are there. */
    for (double row = fmax(0, floor(low)); row <= fmin(last - 1, floor(high) + 1); row++)
        assert_true(row >= (double)rows.first && row < (double)rows.end);
    /* At most one more row on each side. */
    assert_true(rows.first <= rows.end && rows.end <= geometry->rows);
    if (rows.first < rows.end) {
        assert_true((double)rows.first >= fmax(0, floor(low) - 1));
        assert_true((double)rows.end <= fmin(last, floor(high) + 3));
    }
}

static void slabs_get_their_rows(void **state) {
    (void)state;
    int done = 0;
    const int count = (int)trials(300);
    for (int trial = 0; trial < count; trial++) {
        qb_geometry geometry = random_scan();
        qb_grid grid = {{(size_t)uniform(1, 20), (size_t)uniform(1, 20), (size_t)uniform(1, 30)},
                        {uniform(0.5, 2), uniform(0.5, 2), uniform(0.5, 2)},
                        {uniform(-5, 5), uniform(-5, 5), uniform(-20, 20)}};
        qb__matrix matrices[VIEWS];
        if (qb__matrices_on_grid(&geometry, &grid, matrices) == QB_OK) {
            size_t z0 = (size_t)uniform(0, (double)grid.n[2] - 0.01);
            size_t z1 = z0 + 1 + (size_t)uniform(0, (double)(grid.n[2] - z0) - 0.01);
            check_slab(&geometry, &grid, matrices, z0, z1);
            done++;
        }
        qb_geometry_destroy(&geometry);
    }
    assert_true(done > count / 2);
}

/* The slabs cover each slice once, and none is thicker than asked. If the thickness is a multiple of a layer, no layer
 * is cut. */
static void slabs_keep_layers_whole(void **state) {
    (void)state;
    const int count = (int)trials(3000);
    for (int trial = 0; trial < count; trial++) {
        size_t nz = 1 + (size_t)uniform(0, 600), cut[700], step = trial % 3 ? 1 + (size_t)uniform(0, 130) : 1;
        qb__layers layers = {step, 0, 0};
        if (trial % 2) layers.above = (size_t)uniform(0, (double)nz - 0.01);
        if (trial % 2) layers.below = layers.above + (trial % 4 == 1);
        for (size_t most = nz, last = nz + 1; most > 0; most = qb__thinner_slab(&layers, nz, most)) {
            assert_true(most < last);
            last = most;
            size_t n = qb__cut_slabs(&layers, nz, most, cut);
            assert_true(n >= 1 && n <= nz && cut[0] == 0 && cut[n] == nz);
            for (size_t i = 0; i < n; i++) {
                assert_true(cut[i] < cut[i + 1] && cut[i + 1] - cut[i] <= most);
                if (i == 0 || most % step) continue;
                bool up = cut[i] >= layers.above;
                assert_true((up ? cut[i] - layers.above : layers.below - cut[i]) % step == 0);
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(slabs_get_their_rows),
                                       cmocka_unit_test(slabs_keep_layers_whole)};
    return cmocka_run_group_tests(tests, throw_dice, NULL);
}
