/* SPDX-License-Identifier: MIT */
/* Iterative coordinate descent: footprints of voxels compared to the exact integral, the descent of many slices
 * compared to single voxels in double, a cost that only falls, and bits that do not depend on threads, lanes or
 * registers. */
#include "base/memory.h"
#include "cpu/features.h"
#include "dice.h"
#include "recon/mbir/icd/icd_stack.h"

enum { NX = 18, NY = 15, VIEWS = 21, COLUMNS = 27, EQUITS = 60 };
static const double water = 0.02;

typedef struct scene {
    qb_geometry geometry;
    qb_grid grid;
    qb__system_matrix matrix;
    qb__icd_settings settings;
    size_t slices;
    float *lines, *weights; /* [view][slice][column] */
    float *toward;          /* [slice][y][x] */
} scene;

static size_t data_of(const scene *s) { return VIEWS * s->slices * COLUMNS; }

static scene make(const qb__icd_variant *variant, size_t slices, double voxel) {
    scene s = {.grid = {{NX, NY, slices}, {voxel, voxel, 1}, {0.3, -0.2, 0}}, .slices = slices};
    double angles[VIEWS];
    qb__random random = qb__random_stream(dice_seed, slices);
    for (int v = 0; v < VIEWS; v++) angles[v] = M_PI * v / VIEWS; /* view 0 looks along an axis */
    assert_int_equal(qb_geometry_parallel(VIEWS, angles, slices, COLUMNS, 1, 13.4, &s.geometry), QB_OK);
    assert_int_equal(qb__system_matrix_create(&s.geometry, &s.grid, 1, variant, &s.matrix), QB_OK);
    s.settings = (qb__icd_settings){.prior = {1.2, 2, 1, 0.2 * water, 0.15, 0.06, 0.08},
                                    .weighting = QB__WEIGH_GIVEN,
                                    .sigma_y = 0.05,
                                    .positive = true,
                                    .skip = true,
                                    .radius = 8.7,
                                    .equits = EQUITS,
                                    .seed = 3};
    s.lines = calloc(data_of(&s), sizeof(float));
    s.weights = calloc(data_of(&s), sizeof(float));
    assert_true(s.lines && s.weights);
    for (size_t i = 0; i < data_of(&s); i++) {
        const double c = (double)(i % COLUMNS) - 13.4 - 0.1 * (double)(i / COLUMNS % slices), chord = 9 - c * c;
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
    free(s->toward);
}

static const qb__icd_variant *best(void) {
    size_t count;
    const qb__icd_variant *rows = qb__icd_variants(&count);
    while (rows->head.features & ~qb__cpu_features()) rows++;
    return rows;
}

/* All slices of the stack after the descent, [slice][NY][NX]. */
typedef struct outcome {
    float *x;
    qb__icd_trace trace[10 * EQUITS + 16];
    int turns;
    const char *stopped;
} outcome;

static outcome descend(scene *s, qb_mbir_matrix kind, int threads) {
    outcome o = {.x = calloc(s->slices * NX * NY, sizeof(float))};
    qb__icd_stack *stack;
    qb__pool *pool;
    assert_non_null(o.x);
    assert_true(qb__icd_sweeps(s->settings.equits) <= 10 * EQUITS + 16);
    assert_int_equal(qb__pool_create(threads, &pool), QB_OK);
    assert_int_equal(qb__icd_stack_create(&s->matrix, kind, &s->settings, s->slices, pool, &stack), QB_OK);
    const bool given = s->settings.weighting == QB__WEIGH_GIVEN;
    const qb__icd_given start = {
        .lines = s->lines, .weights = given ? s->weights : NULL, .toward = s->toward, .constant = 0.3 * water};
    assert_int_equal(qb__icd_stack_start(stack, &start), QB_OK);
    assert_int_equal(qb__icd_stack_run(stack, NULL, NULL, o.trace, &o.turns, &o.stopped), QB_OK);
    for (size_t i = 0; i < s->slices; i++) assert_int_equal(qb__icd_stack_image(stack, i, 1, o.x + i * NX * NY), QB_OK);
    qb__icd_stack_destroy(stack);
    qb__pool_destroy(pool);
    return o;
}

/* After a request to stop, no voxel is updated any more: a turn through a large slice takes long. */
static void stopped_at_once(void **state) {
    (void)state;
    scene s = make(best(), 1, 1);
    volatile sig_atomic_t stop = 1;
    float before[NX * NY], after[NX * NY];
    qb__icd_trace trace[10 * EQUITS + 16];
    const char *stopped;
    int turns;
    qb__icd_stack *stack;
    qb__pool *pool;
    assert_int_equal(qb__pool_create(1, &pool), QB_OK);
    assert_int_equal(qb__icd_stack_create(&s.matrix, QB_MATRIX_AUTO, &s.settings, 1, pool, &stack), QB_OK);
    const qb__icd_given start = {.lines = s.lines, .weights = s.weights, .constant = 0.3 * water};
    assert_int_equal(qb__icd_stack_start(stack, &start), QB_OK);
    qb__icd_stack_image(stack, 0, 1, before);
    assert_int_equal(qb__icd_stack_run(stack, &(qb_env){.cancel = &stop}, NULL, trace, &turns, &stopped), QB_CANCELLED);
    qb__icd_stack_image(stack, 0, 1, after);
    assert_memory_equal(before, after, sizeof before);
    qb__icd_stack_destroy(stack);
    qb__pool_destroy(pool);
    unmake(&s);
}

/* ---- footprints ---- */

static void columns_are_exact(void **state) {
    (void)state;
    size_t count;
    const qb__icd_variant *rows = qb__icd_variants(&count);
    static const double voxels[] = {0.4, 1, 1.9, 3.3};
    for (size_t i = 0; i < count * 4; i++) {
        const qb__icd_variant *variant = &rows[i / 4];
        if (variant->head.features & ~qb__cpu_features()) continue;
        scene s = make(variant, 1, voxels[i % 4]);
        const qb__footprints *footprints = &s.matrix.footprints;
        float *tap;
        int32_t first[32];
        assert_true(footprints->stride <= 32);
        assert_int_equal(qb__alloc(footprints->taps * footprints->stride, sizeof *tap, &tap), QB_OK);
        const qb__icd_column column = {first, tap};
        for (double iy = -3; iy < NY + 3; iy += 1.7)
            for (double ix = -9; ix < NX + 9; ix += 1.3) {
                variant->footprint(footprints, ix, iy, &column);
                for (size_t v = 0; v < VIEWS; v++) {
                    double got[COLUMNS] = {0};
                    for (size_t k = 0; k < footprints->taps; k++) {
                        const long c = first[v] + (long)k - (long)footprints->taps;
                        const double entry = (double)tap[k * footprints->stride + v];
                        assert_in_range(first[v], 0, COLUMNS + footprints->taps);
                        if (c >= 0 && c < COLUMNS)
                            got[c] = entry;
                        else
                            assert_true(fabs(entry) < 3e-6 * (double)footprints->area);
                    }
                    for (size_t c = 0; c < COLUMNS; c++)
                        assert_true(fabs(got[c] - qb__footprint_reference(footprints, v, ix, iy, (double)c)) <
                                    3e-6 * (double)footprints->area);
                }
            }
        qb__free(tap);
        unmake(&s);
    }
}

/* ---- the descent ---- */

/* The oracle's image with the same cost; voxels of all slices in random order. */
static double *converge(scene *s, int turns, double *cost) {
    uint8_t *inside = calloc((NX + 2) * (NY + 2), 1);
    uint32_t *order = calloc(NX * NY * s->slices, sizeof *order);
    const size_t image = (NX + 2) * (NY + 2);
    size_t count = 0;
    qb__random random = qb__random_stream(dice_seed, 0);
    for (size_t iy = 0; iy < NY; iy++)
        for (size_t ix = 0; ix < NX; ix++) {
            const double x = (double)ix - (NX - 1) / 2.0, y = (double)iy - (NY - 1) / 2.0;
            inside[(iy + 1) * (NX + 2) + ix + 1] = x * x + y * y <= s->settings.radius * s->settings.radius;
        }
    const qb__icd_problem problem = {.footprints = s->matrix.footprints,
                                     .nx = NX,
                                     .ny = NY,
                                     .inside = inside,
                                     .prior = s->settings.prior,
                                     .positive = s->settings.positive};
    double *weight = calloc(data_of(s), sizeof *weight), *error = calloc(data_of(s), sizeof *error);
    double *x = calloc(s->slices * image, sizeof *x);
    const double sigma2 = s->settings.sigma_y * s->settings.sigma_y;
    assert_true(inside && order && weight && error && x);
    const bool given = s->settings.weighting == QB__WEIGH_GIVEN;
    for (size_t i = 0; i < data_of(s); i++) {
        error[i] = (double)s->lines[i];
        weight[i] = (given ? (double)s->weights[i] : 1) / sigma2;
    }
    for (size_t i = 0; i < s->slices * image; i++) {
        if (!inside[i % image]) continue;
        x[i] = 0.3 * water;
        order[count++] = (uint32_t)i;
    }
    const qb__icd_oracle oracle = {
        .problem = &problem, .exact = true, .slices = s->slices, .weight = weight, .error = error, .x = x};
    qb__icd_reference_subtract(&oracle);
    double before = qb__icd_reference_cost(&oracle);
    for (int turn = 0; turn < turns; turn++) {
        for (size_t i = count - 1; i > 0; i--) {
            const size_t other = qb__random_bits(&random) % (i + 1);
            const uint32_t kept = order[i];
            order[i] = order[other], order[other] = kept;
        }
        for (size_t i = 0; i < count; i++)
            qb__icd_reference_update(&oracle, order[i] / image, (uint32_t)(order[i] % image));
        const double now = qb__icd_reference_cost(&oracle);
        assert_true(now <= before * (1 + 1e-12)); /* the cost of Algorithm 1 only falls */
        before = now;
    }
    *cost = before;
    free(inside), free(order), free(weight), free(error);
    return x;
}

static void check_descent(scene *s, int turns, const char *what) {
    double cost, square = 0;
    double *want = converge(s, turns, &cost);
    outcome o = descend(s, QB_MATRIX_FLY, 2);
    for (int i = 1; i < o.turns; i++) assert_true(o.trace[i].cost <= o.trace[i - 1].cost * (1 + 1e-6));
    for (size_t slice = 0; slice < s->slices; slice++)
        for (size_t i = 0; i < NX * NY; i++) {
            const size_t pixel = (i / NX + 1) * (NX + 2) + i % NX + 1;
            const double d = (double)o.x[slice * NX * NY + i] - want[slice * (NX + 2) * (NY + 2) + pixel];
            square += d * d;
        }
    const double hu = sqrt(square / (double)(s->slices * NX * NY)) * 1000 / water;
    if (!(hu < 1) || !(fabs(o.trace[o.turns - 1].cost / cost - 1) < 1e-4))
        fail_msg("%s: %.3f HU from the oracle's image, cost %g, its %g", what, hu, o.trace[o.turns - 1].cost, cost);
    free(want);
    free(o.x);
}

static void many_slices_come_to_what_one_voxel_at_a_time_comes_to(void **state) {
    (void)state;
    scene s = make(best(), 3, 1);
    check_descent(&s, EQUITS, "a stack");
    s.settings.prior.interslice = 0;
    check_descent(&s, EQUITS, "slices on their own");
    s.settings.positive = false;
    check_descent(&s, EQUITS, "below zero, too");
    s.settings.prior.q = 1.9, s.settings.prior.p = 1.5, s.settings.prior.t = 0.5;
    check_descent(&s, EQUITS, "other powers");
    s.settings.weighting = QB__WEIGH_NONE, s.settings.positive = true;
    check_descent(&s, EQUITS, "without weights");
    unmake(&s);
}

/* ---- the proximal map ---- */

/* The dense normal equations of a slice: left x = right, for voxels that may change; `place` is the place of each in
 * the image. */
typedef struct normal {
    size_t count, place[NX * NY];
    double left[NX * NY][NX * NY], right[NX * NY];
} normal;

static void list_voxels(const scene *s, normal *n) {
    for (size_t i = 0; i < NX * NY; i++) {
        const double x = (double)(i % NX) - (NX - 1) / 2.0, y = (double)(i / NX) - (NY - 1) / 2.0;
        if (x * x + y * y <= s->settings.radius * s->settings.radius) n->place[n->count++] = i;
    }
}

static double entries[VIEWS * COLUMNS][NX * NY]; /* of the exact matrix: [ray][voxel] of `place` */

static void gather(const scene *s, size_t slice, normal *n) {
    const double sigma2 = s->settings.sigma_y * s->settings.sigma_y;
    const double pull = 1 / (s->settings.prior.sigma * s->settings.prior.sigma);
    *n = (normal){0};
    list_voxels(s, n);
    for (size_t i = 0; i < VIEWS * COLUMNS; i++) {
        const double *a = entries[i];
        const size_t at = (i / COLUMNS * s->slices + slice) * COLUMNS + i % COLUMNS;
        const double w = (s->settings.weighting == QB__WEIGH_GIVEN ? (double)s->weights[at] : 1) / sigma2;
        for (size_t j = 0; j < n->count; j++) {
            if (a[j] == 0) continue;
            n->right[j] += a[j] * w * (double)s->lines[at];
            for (size_t k = 0; k < n->count; k++) n->left[j][k] += a[j] * w * a[k];
        }
    }
    for (size_t j = 0; j < n->count; j++) {
        n->left[j][j] += pull;
        n->right[j] += pull * (double)s->toward[slice * NX * NY + n->place[j]];
    }
}

static void list_entries(const scene *s) {
    static normal n;
    n = (normal){0};
    list_voxels(s, &n);
    for (size_t i = 0; i < VIEWS * COLUMNS; i++)
        for (size_t j = 0; j < n.count; j++)
            entries[i][j] = qb__footprint_reference(&s->matrix.footprints, i / COLUMNS, (double)(n.place[j] % NX),
                                                    (double)(n.place[j] / NX), (double)(i % COLUMNS));
}

/* Elimination: the matrix is symmetric and positive, so no pivots are needed. `right` becomes x. */
static void eliminate(normal *n) {
    double *x = n->right;
    for (size_t j = 0; j < n->count; j++)
        for (size_t l = j + 1; l < n->count; l++) {
            const double share = n->left[l][j] / n->left[j][j];
            for (size_t c = j; c < n->count; c++) n->left[l][c] -= share * n->left[j][c];
            x[l] -= share * x[j];
        }
    for (size_t j = n->count; j-- > 0;) {
        for (size_t c = j + 1; c < n->count; c++) x[j] -= n->left[j][c] * x[c];
        x[j] /= n->left[j][j];
    }
}

/* Without a constraint, x is the solution. With it, the slope is zero where x is above zero, and x is zero where it
 * would fall. */
static void check_map(scene *s, const char *what) {
    static normal n;
    outcome o = descend(s, QB_MATRIX_FLY, 2);
    for (int i = 1; i < o.turns; i++) assert_true(o.trace[i].cost <= o.trace[i - 1].cost * (1 + 1e-6));
    for (size_t slice = 0; slice < s->slices; slice++) {
        double square = 0, worst = 0;
        size_t held = 0;
        gather(s, slice, &n);
        if (!s->settings.positive) eliminate(&n);
        for (size_t j = 0; j < n.count; j++) {
            const double x = (double)o.x[slice * NX * NY + n.place[j]];
            if (!s->settings.positive) {
                square += (x - n.right[j]) * (x - n.right[j]);
                continue;
            }
            double slope = -n.right[j];
            for (size_t k = 0; k < n.count; k++) slope += n.left[j][k] * (double)o.x[slice * NX * NY + n.place[k]];
            const double step = -slope / n.left[j][j];
            held += x == 0;
            const double off = x > 0 ? fabs(step) : step;
            if (!(off <= worst)) worst = off;
        }
        const double hu = (sqrt(square / (double)n.count) + worst) * 1000 / water;
        if (!(hu < 0.02)) fail_msg("%s, slice %zu: %.4f HU from the normal equations' solution", what, slice, hu);
        assert_true(!s->settings.positive || held > 0);
    }
    free(o.x);
}

/* In vectors, and SuperVoxel by SuperVoxel. */
static void check_proximal(scene *s, const char *what) {
    check_map(s, what);
    s->settings.supervoxels = true;
    check_map(s, what);
    s->settings.supervoxels = false;
}

static void the_proximal_map_is_that_of_the_normal_equations(void **state) {
    (void)state;
    scene s = make(best(), 2, 1);
    qb__random random = qb__random_stream(dice_seed, 77);
    list_entries(&s);
    s.toward = calloc(s.slices * NX * NY, sizeof *s.toward);
    assert_non_null(s.toward);
    for (size_t i = 0; i < s.slices * NX * NY; i++) s.toward[i] = (float)(water * (qb__random_unit(&random) - 0.2));
    s.settings.prior = (qb__icd_prior){2, 2, 1, 0.5 * water, 0, 0, 0};
    s.settings.pull = 2;
    s.settings.equits = 40;
    s.settings.skip = false;
    s.settings.positive = false;
    check_proximal(&s, "weighted");
    s.settings.positive = true;
    check_proximal(&s, "none below zero");
    for (size_t v = 0; v < VIEWS; v++) memset(s.weights + (v * s.slices + 1) * COLUMNS, 0, COLUMNS * sizeof(float));
    check_proximal(&s, "of a slice that nobody has seen");
    s.settings.weighting = QB__WEIGH_NONE, s.settings.positive = false;
    check_proximal(&s, "without weights");
    unmake(&s);
}

/* Neither the place of a slice among the lanes, nor the threads, nor the width of registers changes the bits. */
static void bits_depend_on_nothing_else(void **state) {
    (void)state;
    size_t count;
    const qb__icd_variant *rows = qb__icd_variants(&count);
    float *first = NULL;
    for (size_t i = 0; i < 2 * count; i++) {
        if (rows[i / 2].head.features & ~qb__cpu_features()) continue;
        scene s = make(&rows[i / 2], 37, 1);
        s.settings.equits = 3;
        outcome o = descend(&s, QB_MATRIX_FLY, i % 2 ? 3 : 1);
        if (first)
            assert_memory_equal(first, o.x, 37 * NX * NY * sizeof *first);
        else
            first = o.x;
        if (first != o.x) free(o.x);
        unmake(&s);
    }
    free(first);
}

static void a_kept_matrix_gives_the_same(void **state) {
    (void)state;
    outcome of[3];
    static const qb_mbir_matrix kinds[] = {QB_MATRIX_FLY, QB_MATRIX_FLOATS, QB_MATRIX_BYTES};
    double square = 0;
    for (int i = 0; i < 3; i++) {
        scene s = make(best(), 5, 1);
        s.settings.equits = 30;
        of[i] = descend(&s, kinds[i], 2);
        unmake(&s);
    }
    assert_memory_equal(of[0].x, of[1].x, 5 * NX * NY * sizeof(float));
    for (size_t i = 0; i < 5 * NX * NY; i++) square += pow((double)(of[0].x[i] - of[2].x[i]), 2);
    const double hu = sqrt(square / (5 * NX * NY)) * 1000 / water;
    assert_true(hu > 0 && hu < 5); /* entries are rounded to 1/510 of the largest */
    for (int i = 0; i < 3; i++) free(of[i].x);
}

/* Zeros among zeros are skipped, and the descent stops where nothing changes. */
static void empty_voxels_cost_nothing(void **state) {
    (void)state;
    scene s = make(best(), 2, 1);
    for (size_t i = 0; i < data_of(&s); i++)
        if (s.lines[i] < 0.016f) s.lines[i] = 0; /* air without noise */
    s.settings.stop = 0.002;
    s.settings.sigma_y *= 0.3;
    outcome skips = descend(&s, QB_MATRIX_FLY, 1);
    s.settings.skip = false;
    outcome all = descend(&s, QB_MATRIX_FLY, 1);
    assert_string_equal(skips.stopped, "tolerance");
    assert_true(skips.trace[2].equits < 2.9 && all.trace[2].equits == 3);
    assert_true(fabs(skips.trace[skips.turns - 1].cost / all.trace[all.turns - 1].cost - 1) < 1e-3);
    free(skips.x);
    free(all.x);
    unmake(&s);
}

/* Zeros among zeros that must rise do so: from any start, the descent comes to the same image. */
static void no_voxel_is_left_behind(void **state) {
    (void)state;
    scene s = make(best(), 2, 1);
    s.settings.sigma_y *= 0.3;
    outcome of[2];
    for (int i = 0; i < 2; i++) {
        s.settings.skip = i == 0;
        of[i] = descend(&s, QB_MATRIX_FLY, 1);
    }
    double square = 0;
    for (size_t i = 0; i < 2 * NX * NY; i++) square += pow((double)of[0].x[i] - (double)of[1].x[i], 2);
    const double hu = sqrt(square / (2 * NX * NY)) * 1000 / water;
    assert_true(hu < 0.02);
    for (int i = 0; i < 2; i++) free(of[i].x);
    unmake(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_exact),
        cmocka_unit_test(stopped_at_once),
        cmocka_unit_test(many_slices_come_to_what_one_voxel_at_a_time_comes_to),
        cmocka_unit_test(the_proximal_map_is_that_of_the_normal_equations),
        cmocka_unit_test(bits_depend_on_nothing_else),
        cmocka_unit_test(a_kept_matrix_gives_the_same),
        cmocka_unit_test(empty_voxels_cost_nothing),
        cmocka_unit_test(no_voxel_is_left_behind),
    };
    return cmocka_run_group_tests(tests, throw_dice, NULL);
}
