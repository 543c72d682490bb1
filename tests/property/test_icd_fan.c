/* SPDX-License-Identifier: MIT */
/* Coordinate descent of a fan beam: entries of the system matrix compared to chords through a square, averaged over a
 * column; the kernels' entries compared to those; both kinds of descent compared to single voxels in double. */
#include "base/memory.h"
#include "cpu/features.h"
#include "dice.h"
#include "geometry/curve.h"
#include "recon/mbir/icd/icd_stack.h"

enum { NX = 18, NY = 15, VIEWS = 35, COLUMNS = 29, EQUITS = 60 };
static const double water = 0.02;

typedef struct scene {
    qb_geometry geometry;
    qb_grid grid;
    qb__system_matrix matrix;
    qb__icd_settings settings;
    size_t slices;
    float *lines, *weights; /* [view][slice][column] */
} scene;

static size_t data_of(const scene *s) { return VIEWS * s->slices * COLUMNS; }

static const qb__icd_variant *best(void) {
    size_t count;
    const qb__icd_variant *rows = qb__icd_variants(&count);
    while (rows->head.features & ~qb__cpu_features()) rows++;
    return rows;
}

/* A full turn; view 0 looks along an axis; the detector is flat, or curved about the source. */
static void place(scene *s, const qb__icd_variant *variant, double sod, double sdd, double voxel, bool curved) {
    double angles[VIEWS];
    for (int v = 0; v < VIEWS; v++) angles[v] = 2 * M_PI * v / VIEWS;
    s->grid = (qb_grid){{NX, NY, s->slices}, {voxel, voxel, 1}, {0.3, -0.2, 0}};
    s->settings.radius = 8.7;
    assert_int_equal(qb_geometry_cone(VIEWS, angles, 1, COLUMNS, sdd / sod, 1, sod, sdd, 0.7, 0, &s->geometry), QB_OK);
    s->geometry.radius = curved ? sdd : 0;
    assert_int_equal(qb__system_matrix_create(&s->geometry, &s->grid, s->settings.radius, variant, &s->matrix), QB_OK);
}

/* From the source to a place on the detector's row. */
static void ray_to(const scene *s, size_t view, double column, double from[2], double along[2]) {
    double pixel[3];
    qb__pixel_position(&s->geometry, view, column, 0, pixel);
    for (int j = 0; j < 2; j++) {
        from[j] = s->geometry.view[view].source[j];
        along[j] = pixel[j] - from[j];
    }
}

static void middle_of(const scene *s, double ix, double iy, double middle[2]) {
    const double at[2] = {ix, iy};
    for (int j = 0; j < 2; j++)
        middle[j] = (at[j] - 0.5 * ((double)s->grid.n[j] - 1)) * s->grid.voxel[j] + s->grid.offset[j];
}

/* A disc off the middle, noise, and some rays that do not count. */
static scene make(const qb__icd_variant *variant, size_t slices, double sod, double voxel, bool curved) {
    scene s = {.slices = slices};
    qb__random random = qb__random_stream(dice_seed, slices);
    place(&s, variant, sod, 1.7 * sod, voxel, curved);
    s.settings = (qb__icd_settings){.prior = {1.2, 2, 1, 0.2 * water, 0.15, 0.06, 0.08},
                                    .weighting = QB__WEIGH_GIVEN,
                                    .sigma_y = 0.05,
                                    .positive = true,
                                    .radius = s.settings.radius,
                                    .equits = EQUITS,
                                    .seed = 3};
    s.lines = calloc(data_of(&s), sizeof(float));
    s.weights = calloc(data_of(&s), sizeof(float));
    assert_true(s.lines && s.weights);
    for (size_t i = 0; i < data_of(&s); i++) {
        double from[2], along[2];
        ray_to(&s, i / COLUMNS / slices, (double)(i % COLUMNS), from, along);
        const double past = (from[0] - 1) * along[1] - from[1] * along[0], level = hypot(along[0], along[1]);
        const double chord = 16 * voxel * voxel - past * past / level / level;
        s.lines[i] = (float)(water * (chord > 0 ? 2 * sqrt(chord) : 0) + 0.03 * (qb__random_unit(&random) - 0.5));
        s.weights[i] = i % 41 ? expf(-s.lines[i]) : 0;
    }
    return s;
}

static void unmake(scene *s) {
    qb__system_matrix_destroy(&s->matrix);
    qb_geometry_destroy(&s->geometry);
    free(s->lines);
    free(s->weights);
}

/* ---- entries ---- */

/* Length of a ray inside a square. */
static double chord(const double from[2], const double along[2], const double middle[2], double side) {
    double in = -INFINITY, out = INFINITY;
    for (int j = 0; j < 2; j++) {
        const double a = (middle[j] - side / 2 - from[j]) / along[j], b = (middle[j] + side / 2 - from[j]) / along[j];
        in = fmax(in, fmin(a, b));
        out = fmin(out, fmax(a, b));
    }
    return fmax(out - in, 0) * hypot(along[0], along[1]);
}

/* The column onto which a point is projected. */
static double column_of(const scene *s, size_t view, const double at[2]) {
    const qb_view *v = &s->geometry.view[view];
    const double p[2] = {at[0] - v->source[0], at[1] - v->source[1]};
    const double d[2] = {v->detector[0] - v->source[0], v->detector[1] - v->source[1]};
    double column = (d[0] * p[1] - d[1] * p[0]) / (v->u[1] * p[0] - v->u[0] * p[1]), row = 0;
    if (s->geometry.radius > 0) {
        const qb__curve curve = qb__curve_of_view(&s->geometry, view);
        qb__curve_pixel(&curve, &column, &row);
    }
    return column;
}

/* Between the columns onto which the square's corners are projected, chord lengths have no kinks: integration by
 * Gauss's rule from one to the next. */
static double average(const scene *s, size_t view, size_t column, double ix, double iy) {
    static const double at[] = {0.1834346424956498, 0.5255324099163290, 0.7966664774136267, 0.9602898564975363};
    static const double weight[] = {0.3626837833783620, 0.3137066458778873, 0.2223810344533745, 0.1012285362903763};
    const double side = s->grid.voxel[0], begin = (double)column - 0.5;
    double edge[6] = {begin, begin + 1}, middle[2], sum = 0;
    middle_of(s, ix, iy, middle);
    for (int i = 0; i < 4; i++) {
        const double corner[2] = {middle[0] + (i % 2 - 0.5) * side, middle[1] + (i / 2 - 0.5) * side};
        edge[2 + i] = fmin(fmax(column_of(s, view, corner), begin), begin + 1);
    }
    for (int i = 1; i < 6; i++)
        for (int j = i; j > 0 && edge[j - 1] > edge[j]; j--) {
            const double kept = edge[j];
            edge[j] = edge[j - 1], edge[j - 1] = kept;
        }
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < 8; k++) {
            const double half = (edge[i + 1] - edge[i]) / 2, off = at[k / 2] * (k % 2 ? half : -half);
            double from[2], along[2];
            ray_to(s, view, edge[i] + half + off, from, along);
            sum += half * weight[k / 2] * chord(from, along, middle, side);
        }
    return sum;
}

static double distance(const scene *s, size_t view, double ix, double iy) {
    double middle[2];
    middle_of(s, ix, iy, middle);
    return hypot(middle[0] - s->geometry.view[view].source[0], middle[1] - s->geometry.view[view].source[1]);
}

/* The error of an entry is of the order of the voxel's side over its distance, that of their sum of its square: terms
 * that the formula leaves out. */
static void entries_are_chords_through_squares(void **state) {
    (void)state;
    for (size_t trial = 0; trial < trials(300); trial++) {
        scene s = {.slices = 1};
        const double voxel = uniform(0.4, 1.2), sod = voxel * 26 * uniform(1, 12);
        place(&s, best(), sod, sod * uniform(1, 4), voxel, trial % 2);
        for (int i = 0; i < 20; i++) {
            const double ix = floor(uniform(0, NX)), iy = floor(uniform(0, NY));
            const size_t view = (size_t)uniform(0, VIEWS);
            const double near = voxel / distance(&s, view, ix, iy), largest = M_SQRT2 * voxel;
            double sums[2] = {0, 0}, first = 0, last = 0;
            for (size_t c = 0; c < COLUMNS; c++) {
                const double want = average(&s, view, c, ix, iy);
                const double got = qb__footprint_reference(&s.matrix.footprints, view, ix, iy, (double)c);
                if (!(fabs(got - want) < (0.12 * near + 1e-9) * largest))
                    fail_msg("source %g, voxel %g, view %zu, %g, %g, column %zu: %.6f, and %.6f by rays", sod, voxel,
                             view, ix, iy, c, got, want);
                sums[0] += got, sums[1] += want;
                if (c == 0) first = fmax(got, want);
                last = fmax(got, want);
            }
            if (first == 0 && last == 0 && !(fabs(sums[0] - sums[1]) <= (near * near + 1e-9) * sums[1]))
                fail_msg("source %g, voxel %g, view %zu, %g, %g: %.6f in all, and %.6f by rays", sod, voxel, view, ix,
                         iy, sums[0], sums[1]);
        }
        unmake(&s);
    }
}

static void columns_are_the_reference(void **state) {
    (void)state;
    size_t count;
    const qb__icd_variant *rows = qb__icd_variants(&count);
    for (size_t trial = 0; trial < count * trials(20); trial++) {
        const qb__icd_variant *variant = &rows[trial % count];
        if (variant->head.features & ~qb__cpu_features()) continue;
        scene s = {.slices = 1};
        const double sod = uniform(40, 200);
        place(&s, variant, sod, sod * uniform(1, 3), trial == 0 ? 1 : uniform(0.3, 1.5), trial / count % 2);
        const qb__footprints *footprints = &s.matrix.footprints;
        const double area = (double)footprints->area * s.matrix.footprints.steepest;
        float *tap;
        int32_t first[48];
        assert_true(footprints->stride <= 48);
        assert_int_equal(qb__alloc(footprints->taps * footprints->stride, sizeof *tap, &tap), QB_OK);
        const qb__icd_column column = {first, tap};
        for (int i = 0; i < 40; i++) {
            const double turn = uniform(0, 2 * M_PI), from = i % 2 ? s.settings.radius : uniform(0, s.settings.radius);
            const double ix = (NX - 1) / 2.0 + from * cos(turn), iy = (NY - 1) / 2.0 + from * sin(turn);
            variant->footprint(footprints, ix, iy, &column);
            for (size_t v = 0; v < VIEWS; v++) {
                double got[COLUMNS] = {0};
                assert_in_range(first[v], 0, COLUMNS + footprints->taps);
                for (size_t k = 0; k < footprints->taps; k++) {
                    const long c = first[v] + (long)k - (long)footprints->taps;
                    const double entry = (double)tap[k * footprints->stride + v];
                    if (c >= 0 && c < COLUMNS)
                        got[c] = entry;
                    else
                        assert_true(fabs(entry) < 3e-6 * area);
                }
                for (size_t c = 0; c < COLUMNS; c++)
                    assert_true(fabs(got[c] - qb__footprint_reference(footprints, v, ix, iy, (double)c)) < 5e-6 * area);
            }
        }
        qb__free(tap);
        unmake(&s);
    }
}

/* ---- the descent ---- */

typedef struct outcome {
    float *x; /* [slice][y][x] */
    qb__icd_trace trace[10 * EQUITS + 16];
    int turns;
} outcome;

static outcome descend(scene *s, qb_mbir_matrix kind, int threads) {
    outcome o = {.x = calloc(s->slices * NX * NY, sizeof(float))};
    const qb__icd_given start = {.lines = s->lines, .weights = s->weights, .constant = 0.3 * water};
    const char *stopped;
    qb__icd_stack *stack;
    qb__pool *pool;
    assert_non_null(o.x);
    assert_int_equal(qb__pool_create(threads, &pool), QB_OK);
    assert_int_equal(qb__icd_stack_create(&s->matrix, kind, &s->settings, s->slices, pool, &stack), QB_OK);
    assert_int_equal(qb__icd_stack_start(stack, &start), QB_OK);
    assert_int_equal(qb__icd_stack_run(stack, NULL, NULL, o.trace, &o.turns, &stopped), QB_OK);
    for (size_t i = 0; i < s->slices; i++) assert_int_equal(qb__icd_stack_image(stack, i, 1, o.x + i * NX * NY), QB_OK);
    qb__icd_stack_destroy(stack);
    qb__pool_destroy(pool);
    return o;
}

/* The oracle's images, [slice][NY + 2][NX + 2]. */
static double *converge(const scene *s, double *cost) {
    const size_t image = (NX + 2) * (NY + 2), data = data_of(s);
    uint8_t *inside = calloc(image, 1);
    uint32_t *order = calloc(s->slices * image, sizeof *order);
    double *weight = calloc(data, sizeof *weight), *error = calloc(data, sizeof *error),
           *x = calloc(s->slices * image, sizeof *x);
    qb__random random = qb__random_stream(dice_seed, 1);
    size_t count = 0;
    assert_true(inside && order && weight && error && x);
    qb__icd_inside(NX, NY, s->settings.radius, inside);
    const qb__icd_problem problem = {.footprints = s->matrix.footprints,
                                     .nx = NX,
                                     .ny = NY,
                                     .inside = inside,
                                     .prior = s->settings.prior,
                                     .positive = s->settings.positive};
    for (size_t i = 0; i < data; i++) {
        error[i] = (double)s->lines[i];
        weight[i] = (double)s->weights[i] / (s->settings.sigma_y * s->settings.sigma_y);
    }
    for (size_t i = 0; i < s->slices * image; i++) {
        if (!inside[i % image]) continue;
        x[i] = 0.3 * water;
        order[count++] = (uint32_t)i;
    }
    const qb__icd_oracle oracle = {
        .problem = &problem, .exact = true, .slices = s->slices, .weight = weight, .error = error, .x = x};
    qb__icd_reference_subtract(&oracle);
    for (int turn = 0; turn < EQUITS; turn++)
        for (size_t i = 0; i < count; i++) {
            const size_t other = i + qb__random_bits(&random) % (count - i);
            const uint32_t at = order[other];
            order[other] = order[i], order[i] = at;
            qb__icd_reference_update(&oracle, at / image, (uint32_t)(at % image));
        }
    *cost = qb__icd_reference_cost(&oracle);
    free(inside), free(order), free(weight), free(error);
    return x;
}

static void check_descent(scene *s, const char *what) {
    double cost, square = 0;
    double *want = converge(s, &cost);
    outcome o = descend(s, QB_MATRIX_FLY, 2);
    for (int i = 1; i < o.turns; i++) assert_true(o.trace[i].cost <= o.trace[i - 1].cost * (1 + 1e-6));
    for (size_t i = 0; i < s->slices * NX * NY; i++) {
        const size_t pixel = i / (NX * NY) * (NX + 2) * (NY + 2) + (i % (NX * NY) / NX + 1) * (NX + 2) + i % NX + 1;
        square += pow((double)o.x[i] - want[pixel], 2);
    }
    const double hu = sqrt(square / (double)(s->slices * NX * NY)) * 1000 / water, now = o.trace[o.turns - 1].cost;
    if (!(hu < 1) || !(fabs(now / cost - 1) < 1e-4))
        fail_msg("%s: %.3f HU from the oracle's image, cost %g, its %g", what, hu, now, cost);
    free(want);
    free(o.x);
}

static void both_come_to_what_one_voxel_at_a_time_comes_to(void **state) {
    (void)state;
    const int step = trials(20) == 20 ? 1 : 3; /* in quick runs one flat and one curved detector */
    for (int i = 0; i < 5; i += step) {
        scene s = make(best(), 3, i == 2 ? uniform(70, 200) : uniform(40, 120), i == 2 ? 2.1 : 1,
                       i > 2); /* three entries in a view, and five */
        check_descent(&s, "slices side by side, and a prior between them");
        s.settings.prior.interslice = 0;
        s.settings.supervoxels = true;
        s.slices = 1;
        check_descent(&s, "SuperVoxels");
        s.settings.positive = false;
        check_descent(&s, "SuperVoxels, below zero, too");
        unmake(&s);
    }
}

/* Neither the width of registers, nor threads, nor a kept matrix changes the bits. */
static void check_bits(bool curved) {
    static const qb_mbir_matrix kinds[] = {QB_MATRIX_FLY, QB_MATRIX_FLOATS};
    size_t count;
    const qb__icd_variant *rows = qb__icd_variants(&count);
    float *first[2] = {NULL, NULL}; /* in vectors, by SuperVoxels */
    for (size_t i = 0; i < 4 * count; i++) {
        const int way = i % 2;
        if (rows[i / 4].head.features & ~qb__cpu_features()) continue;
        scene s = make(&rows[i / 4], way ? 1 : 5, 50, 1, curved);
        s.settings.prior.interslice = 0;
        s.settings.supervoxels = way == 1;
        s.settings.equits = 3;
        outcome o = descend(&s, way ? QB_MATRIX_FLY : kinds[i / 2 % 2], i / 2 % 2 ? 3 : 1);
        if (first[way])
            assert_memory_equal(first[way], o.x, s.slices * NX * NY * sizeof(float));
        else
            first[way] = o.x;
        if (first[way] != o.x) free(o.x);
        unmake(&s);
    }
    free(first[0]), free(first[1]);
}

static void bits_depend_on_nothing_else(void **state) {
    (void)state;
    check_bits(false);
    check_bits(true);
}

/* The descent refuses a source that would reach a voxel, or the SuperVoxel that contains it. */
static void voxels_that_reach_to_the_source_are_refused(void **state) {
    (void)state;
    double angle = 0;
    qb_geometry geometry;
    qb__system_matrix matrix;
    const qb_grid grid = {{40, 40, 1}, {1, 1, 1}, {0, 0, 0}};
    assert_int_equal(qb_geometry_cone(1, &angle, 1, 40, 1, 1, 30, 60, 0, 0, &geometry), QB_OK);
    assert_int_equal(qb__system_matrix_create(&geometry, &grid, 13.9, best(), &matrix), QB_OK);
    qb__system_matrix_destroy(&matrix);
    assert_int_equal(qb__system_matrix_create(&geometry, &grid, 14.1, best(), &matrix), QB_BAD_INPUT);
    assert_non_null(strstr(qb_detail(), "the source"));
    qb__system_matrix_destroy(&matrix);
    qb_geometry_destroy(&geometry);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_are_chords_through_squares),
        cmocka_unit_test(columns_are_the_reference),
        cmocka_unit_test(both_come_to_what_one_voxel_at_a_time_comes_to),
        cmocka_unit_test(bits_depend_on_nothing_else),
        cmocka_unit_test(voxels_that_reach_to_the_source_are_refused),
    };
    return cmocka_run_group_tests(tests, throw_dice, NULL);
}
