/* SPDX-License-Identifier: MIT */
/* Coordinate descent SuperVoxel by SuperVoxel: the images of single voxels in double, a cost that falls in every turn
 * although many SuperVoxels are updated together, and bits that depend neither on threads nor on neighbouring
 * slices. */
#include "base/memory.h"
#include "cpu/features.h"
#include "dice.h"
#include "recon/mbir/icd/icd_bands.h"

enum { EQUITS = 60 };
static const double water = 0.02;

typedef struct scene {
    size_t nx, ny, views, columns, slices;
    qb_geometry geometry;
    qb_grid grid;
    qb__system_matrix matrix;
    qb__icd_settings settings;
    float *lines, *weights; /* [view][slice][column] */
    const float *image;     /* to start with; NULL = a constant */
    const float *toward;    /* of a proximal map */
} scene;

static size_t data_of(const scene *s) { return s->views * s->slices * s->columns; }

/* A disc with a third of the grid's width, noise, and some rays that do not count. */
static scene make(const qb__icd_variant *variant, scene s, double voxel) {
    const double middle = ((double)s.columns - 1) / 2 + 0.4, radius = (double)s.nx * voxel / 3;
    double *angles = calloc(s.views, sizeof *angles);
    qb__random random = qb__random_stream(dice_seed, s.slices);
    s.grid = (qb_grid){{s.nx, s.ny, s.slices}, {voxel, voxel, 1}, {0.3, -0.2, 0}};
    /* view 0 looks along an axis */
    for (size_t v = 0; v < s.views; v++) angles[v] = M_PI * (double)v / (double)s.views;
    assert_int_equal(qb_geometry_parallel(s.views, angles, s.slices, s.columns, 1, middle, &s.geometry), QB_OK);
    assert_int_equal(qb__system_matrix_create(&s.geometry, &s.grid, 1, variant, &s.matrix), QB_OK);
    free(angles);
    s.settings = (qb__icd_settings){.prior = {1.2, 2, 1, 0.2 * water, 0.15, 0.06, 0},
                                    .weighting = QB__WEIGH_GIVEN,
                                    .sigma_y = 0.05,
                                    .positive = true,
                                    .radius = 0.49 * (double)s.nx,
                                    .equits = EQUITS,
                                    .seed = 3,
                                    .supervoxels = true};
    s.lines = calloc(data_of(&s), sizeof(float));
    s.weights = calloc(data_of(&s), sizeof(float));
    assert_true(s.lines && s.weights);
    for (size_t i = 0; i < data_of(&s); i++) {
        const double c = (double)(i % s.columns) - middle - 0.1 * (double)(i / s.columns % s.slices);
        const double chord = radius * radius - c * c;
        s.lines[i] = (float)(water * (chord > 0 ? 2 * sqrt(chord) : 0) + 0.03 * (qb__random_unit(&random) - 0.5));
        s.weights[i] = i % 41 ? expf(-s.lines[i]) : 0;
    }
    return s;
}

static const scene small = {.nx = 18, .ny = 15, .views = 21, .columns = 27, .slices = 1};
/* Sixteen SuperVoxels at a time; four in quick runs. */
static scene large(void) {
    const size_t n = trials(16) == 16 ? 448 : 224;
    return (scene){.nx = n, .ny = n, .views = 7, .columns = n + 12, .slices = 1};
}

static void unmake(scene *s) {
    qb__system_matrix_destroy(&s->matrix);
    qb_geometry_destroy(&s->geometry);
    free(s->lines);
    free(s->weights);
}

static const qb__icd_variant *best(void) {
    size_t count;
    const qb__icd_variant *rows = qb__icd_variants(&count);
    while (rows->head.features & ~qb__cpu_features()) rows++;
    return rows;
}

typedef struct outcome {
    float *x; /* [slice][y][x] */
    qb__icd_trace trace[10 * EQUITS + 16];
    int turns;
    const char *stopped;
} outcome;

static outcome descend(scene *s, int threads) {
    outcome o = {.x = calloc(s->slices * s->nx * s->ny, sizeof(float))};
    qb__icd_stack *stack;
    qb__pool *pool;
    assert_non_null(o.x);
    assert_true(qb__icd_sweeps(s->settings.equits) <= 10 * EQUITS + 16);
    assert_int_equal(qb__pool_create(threads, &pool), QB_OK);
    assert_int_equal(qb__icd_stack_create(&s->matrix, QB_MATRIX_FLY, &s->settings, s->slices, pool, &stack), QB_OK);
    const bool given = s->settings.weighting == QB__WEIGH_GIVEN;
    const qb__icd_given start = {.lines = s->lines,
                                 .weights = given ? s->weights : NULL,
                                 .images = s->image,
                                 .toward = s->toward,
                                 .constant = 0.3 * water};
    assert_int_equal(qb__icd_stack_start(stack, &start), QB_OK);
    assert_int_equal(qb__icd_stack_run(stack, NULL, NULL, o.trace, &o.turns, &o.stopped), QB_OK);
    for (size_t i = 0; i < s->slices; i++)
        assert_int_equal(qb__icd_stack_image(stack, i, 1, o.x + i * s->nx * s->ny), QB_OK);
    qb__icd_stack_destroy(stack);
    qb__pool_destroy(pool);
    return o;
}

/* ---- comparison to the oracle ---- */

/* The oracle's image of a slice, [(ny + 2)][nx + 2], and its cost. */
static double *converge(const scene *s, double *cost) {
    const size_t image = (s->nx + 2) * (s->ny + 2), data = data_of(s);
    uint8_t *inside = calloc(image, 1);
    uint32_t *order = calloc(image, sizeof *order);
    double *weight = calloc(data, sizeof *weight), *error = calloc(data, sizeof *error), *x = calloc(image, sizeof *x);
    const double sigma2 = s->settings.sigma_y * s->settings.sigma_y;
    qb__random random = qb__random_stream(dice_seed, 1);
    size_t count = 0;
    assert_true(inside && order && weight && error && x);
    qb__icd_inside(s->nx, s->ny, s->settings.radius, inside);
    const qb__icd_problem problem = {.footprints = s->matrix.footprints,
                                     .nx = s->nx,
                                     .ny = s->ny,
                                     .inside = inside,
                                     .prior = s->settings.prior,
                                     .positive = s->settings.positive};
    for (size_t i = 0; i < data; i++) {
        error[i] = (double)s->lines[i];
        weight[i] = (s->settings.weighting == QB__WEIGH_GIVEN ? (double)s->weights[i] : 1) / sigma2;
    }
    for (size_t i = 0; i < image; i++) {
        if (!inside[i]) continue;
        x[i] = 0.3 * water;
        order[count++] = (uint32_t)i;
    }
    const qb__icd_oracle oracle = {
        .problem = &problem, .exact = true, .slices = 1, .weight = weight, .error = error, .x = x};
    qb__icd_reference_subtract(&oracle);
    for (int turn = 0; turn < EQUITS; turn++)
        for (size_t i = 0; i < count; i++) {
            const size_t other = i + qb__random_bits(&random) % (count - i);
            const uint32_t pixel = order[other];
            order[other] = order[i], order[i] = pixel;
            qb__icd_reference_update(&oracle, 0, pixel);
        }
    *cost = qb__icd_reference_cost(&oracle);
    free(inside), free(order), free(weight), free(error);
    return x;
}

static void falls(const outcome *o, const char *what) {
    for (int i = 1; i < o->turns; i++)
        if (!(o->trace[i].cost <= o->trace[i - 1].cost * (1 + 1e-6)))
            fail_msg("%s: the cost goes from %.9g to %.9g in turn %d", what, o->trace[i - 1].cost, o->trace[i].cost, i);
}

static void check(scene *s, const char *what) {
    double cost, square = 0;
    double *want = converge(s, &cost);
    outcome o = descend(s, 2);
    falls(&o, what);
    for (size_t i = 0; i < s->nx * s->ny; i++) {
        const double d = (double)o.x[i] - want[(i / s->nx + 1) * (s->nx + 2) + i % s->nx + 1];
        square += d * d;
    }
    const double hu = sqrt(square / (double)(s->nx * s->ny)) * 1000 / water, now = o.trace[o.turns - 1].cost;
    if (!(hu < 1) || !(fabs(now / cost - 1) < 1e-4))
        fail_msg("%s: %.3f HU from the oracle's image, cost %g, its %g", what, hu, now, cost);
    free(want);
    free(o.x);
}

static void supervoxels_come_to_what_one_voxel_at_a_time_comes_to(void **state) {
    (void)state;
    static const struct {
        double voxel;
        const char *what;
    } sizes[] = {{1, "three entries a view"}, {1.9, "four"}, {2.2, "five"}};
    for (int i = 0; i < 3; i++) {
        scene s = make(best(), small, sizes[i].voxel);
        check(&s, sizes[i].what);
        unmake(&s);
    }
    scene s = make(best(), small, 1);
    s.settings.positive = false;
    check(&s, "below zero, too");
    s.settings.prior.q = 1.9, s.settings.prior.p = 1.5, s.settings.prior.t = 0.5;
    check(&s, "other powers");
    s.settings.weighting = QB__WEIGH_NONE, s.settings.positive = true;
    check(&s, "without weights");
    unmake(&s);
}

/* ---- many at a time ---- */

/* Converges like slices in vectors, in at most twice as many equits. The residual after the descent is that of the
 * image: a start with that image has the same cost. */
static void many_at_a_time_lower_the_cost_together(void **state) {
    (void)state;
    scene s = make(best(), large(), 1);
    assert_int_equal(qb__icd_slicewise_at_once(s.nx, s.ny), trials(16) == 16 ? 16 : 4);
    s.settings.equits = 6;
    outcome o = descend(&s, 2);
    falls(&o, "many at a time");
    const double cost = o.trace[o.turns - 1].cost;
    s.settings.equits = 1;
    s.image = o.x;
    outcome on = descend(&s, 2);
    s.image = NULL;
    s.settings.supervoxels = false;
    s.settings.equits = 3;
    outcome vectors = descend(&s, 2);
    assert_true(cost < vectors.trace[vectors.turns - 1].cost);
    assert_true(on.trace[0].cost < cost && on.trace[0].cost > 0.5 * cost);
    free(o.x), free(on.x), free(vectors.x);
    unmake(&s);
}

/* Neither threads nor the width of registers changes the bits. */
static void check_bits(const float *toward) {
    size_t count;
    const qb__icd_variant *rows = qb__icd_variants(&count);
    const scene like = large();
    const size_t image = like.nx * like.ny;
    float *first = NULL;
    for (size_t i = 0; i < 2 * count; i++) {
        if (rows[i / 2].head.features & ~qb__cpu_features()) continue;
        scene s = make(&rows[i / 2], like, 1);
        s.settings.equits = 2;
        s.toward = toward;
        s.settings.pull = toward ? 2 : 0;
        outcome o = descend(&s, i % 2 ? 3 : 1);
        if (first)
            assert_memory_equal(first, o.x, image * sizeof *first);
        else
            first = o.x;
        if (first != o.x) free(o.x);
        unmake(&s);
    }
    free(first);
}

static void bits_depend_on_nothing_else(void **state) {
    (void)state;
    const scene like = large();
    float *toward = calloc(like.nx * like.ny, sizeof *toward);
    assert_non_null(toward);
    for (size_t i = 0; i < like.nx * like.ny; i++) toward[i] = (float)(water * (double)(i % 7) / 7);
    check_bits(NULL);
    check_bits(toward);
    free(toward);
}

static void a_slice_is_what_it_is_alone(void **state) {
    (void)state;
    scene three = small, s;
    three.slices = 3;
    three = make(best(), three, 1);
    outcome all = descend(&three, 2);
    s = make(best(), small, 1);
    for (size_t v = 0; v < s.views; v++)
        for (size_t c = 0; c < s.columns; c++) {
            s.lines[v * s.columns + c] = three.lines[(v * 3 + 2) * s.columns + c];
            s.weights[v * s.columns + c] = three.weights[(v * 3 + 2) * s.columns + c];
        }
    outcome one = descend(&s, 1);
    assert_memory_equal(one.x, all.x + 2 * s.nx * s.ny, s.nx * s.ny * sizeof(float));
    free(all.x), free(one.x);
    unmake(&s), unmake(&three);
}

/* ---- continued runs ---- */

typedef struct kept {
    char *bytes;
    size_t count, at, turns; /* number of turns after which the state is kept */
    bool into;
} kept;

static qb_status piece(void *self, void *data, size_t bytes) {
    kept *k = self;
    if (!k->into) {
        k->bytes = realloc(k->bytes, k->count + bytes);
        assert_non_null(k->bytes);
        memcpy(k->bytes + k->count, data, bytes);
        k->count += bytes;
        return QB_OK;
    }
    assert_true(k->at + bytes <= k->count);
    memcpy(data, k->bytes + k->at, bytes);
    k->at += bytes;
    return QB_OK;
}

static bool enough(void *self, const qb__icd_stack *stack, const qb__icd_trace *trace) {
    (void)stack, (void)trace;
    return --((kept *)self)->turns == 0;
}

/* A state kept after a few turns continues with the same bits. Which SuperVoxels changed most is part of it. */
static void what_was_kept_goes_on(void **state) {
    (void)state;
    scene s = make(best(), (scene){.nx = 70, .ny = 66, .views = 9, .columns = 72, .slices = 2}, 1);
    s.settings.equits = 5;
    outcome whole = descend(&s, 1), o = {.x = calloc(s.nx * s.ny, sizeof(float))};
    kept k = {.turns = 4};
    const qb__icd_watch watch = {.turn = enough, .self = &k};
    const qb__icd_given start = {.lines = s.lines, .weights = s.weights, .constant = 0.3 * water};
    qb__pool *pool;
    assert_non_null(o.x);
    assert_int_equal(qb__pool_create(2, &pool), QB_OK);
    for (int i = 0; i < 2; i++) {
        qb__icd_stack *stack;
        assert_int_equal(qb__icd_stack_create(&s.matrix, QB_MATRIX_FLY, &s.settings, s.slices, pool, &stack), QB_OK);
        assert_int_equal(qb__icd_stack_start(stack, &start), QB_OK);
        k.into = i == 1;
        if (i) assert_int_equal(qb__icd_stack_state(stack, true, piece, &k), QB_OK);
        assert_int_equal(qb__icd_stack_run(stack, NULL, i ? NULL : &watch, o.trace, &o.turns, &o.stopped), QB_OK);
        if (!i) assert_int_equal(qb__icd_stack_state(stack, false, piece, &k), QB_OK);
        assert_int_equal(qb__icd_stack_image(stack, 1, 1, o.x), QB_OK);
        qb__icd_stack_destroy(stack);
    }
    assert_true(k.at == k.count && o.turns == whole.turns && o.turns > 6);
    assert_memory_equal(o.x, whole.x + s.nx * s.ny, s.nx * s.ny * sizeof(float));
    free(k.bytes), free(o.x), free(whole.x);
    qb__pool_destroy(pool);
    unmake(&s);
}

/* Zeros among zeros are skipped, and the descent stops where nothing changes. Turns through the other voxels do not
 * become shorter. */
static void empty_voxels_cost_nothing(void **state) {
    (void)state;
    scene s = make(best(), small, 1);
    for (size_t i = 0; i < data_of(&s); i++)
        if (s.lines[i] < 0.016f) s.lines[i] = 0; /* air without noise */
    s.settings.stop = 0.002;
    s.settings.sigma_y *= 0.3;
    outcome all = descend(&s, 1);
    s.settings.skip = true;
    outcome skips = descend(&s, 1);
    assert_string_equal(skips.stopped, "tolerance");
    assert_true(skips.trace[2].equits < all.trace[2].equits);
    assert_true(fabs(skips.trace[skips.turns - 1].cost / all.trace[all.turns - 1].cost - 1) < 1e-3);
    free(skips.x), free(all.x);
    unmake(&s);
}

/* Few slices that are independent of each other. */
static void only_few_slices_are_taken_one_by_one(void **state) {
    (void)state;
    qb__icd_settings settings = {.prior.interslice = 0.1};
    assert_true(qb__icd_stack_slicewise(&settings, 1));
    assert_false(qb__icd_stack_slicewise(&settings, 2));
    settings.prior.interslice = 0;
    assert_true(qb__icd_stack_slicewise(&settings, 2));
    assert_false(qb__icd_stack_slicewise(&settings, 16));
    settings.pull = 1;
    assert_true(qb__icd_stack_slicewise(&settings, 8));
    assert_false(qb__icd_stack_slicewise(&settings, 9));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(supervoxels_come_to_what_one_voxel_at_a_time_comes_to),
        cmocka_unit_test(many_at_a_time_lower_the_cost_together),
        cmocka_unit_test(bits_depend_on_nothing_else),
        cmocka_unit_test(a_slice_is_what_it_is_alone),
        cmocka_unit_test(what_was_kept_goes_on),
        cmocka_unit_test(empty_voxels_cost_nothing),
        cmocka_unit_test(only_few_slices_are_taken_one_by_one),
    };
    return cmocka_run_group_tests(tests, throw_dice, NULL);
}
