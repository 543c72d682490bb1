/* SPDX-License-Identifier: MIT */
/* Total variation: known solutions, and the gap compared to an objective computed in double. */
#include <math.h>
#include <string.h>

#include "base/pool.h"
#include "base/random.h"
#include "dice.h"
#include "recon/iterative/solver.h"

enum { MOST = 400, ROUNDS = 4000 };

/* A = scale times the identity: denoising of b. */
typedef struct box {
    size_t count, n[3];
    float scale;
} box;

static qb__pool *pool;
static qb__solve_trace trace[ROUNDS];

static qb_status apply(void *self, const void *in, void *out) {
    const box *b = self;
    const float *from = in;
    float *to = out;
    for (size_t i = 0; i < b->count; i++) to[i] = b->scale * from[i];
    return QB_OK;
}

static qb__solved solve(const box *shape, const float *data, const qb__solve_options *options, float *x) {
    const qb__linear a = {.self = (void *)shape,
                          .unknowns = shape->count,
                          .equations = shape->count,
                          .crossing = (double)shape->scale,
                          .forward = apply,
                          .adjoint = apply};
    qb__vectors vectors;
    qb__solved solved = {.trace = trace};
    float b[MOST];
    memcpy(b, data, shape->count * sizeof *b);
    memset(x, 0, shape->count * sizeof *x);
    assert_int_equal(qb__vectors_create(pool, shape->count, shape->n, &vectors), QB_OK);
    assert_int_equal(qb__solver_tv.run(&a, options, &vectors, NULL, b, x, &solved), QB_OK);
    qb__vectors_destroy(&vectors);
    return solved;
}

/* A step of two levels along one axis: each level moves towards the other by lambda times the area of the step over its
 * number of voxels. */
static void a_step_shrinks(void **state) {
    (void)state;
    for (int axis = 0; axis < 3; axis++) {
        box shape = {.count = 120, .n = {axis == 0 ? 30 : 2, axis == 1 ? 30 : 2, axis == 2 ? 30 : 2}, .scale = 1.5F};
        float data[MOST], x[MOST];
        const size_t stride = axis == 0 ? 1 : axis == 1 ? 2 : 4, low = 10;
        const double lambda = 0.9, down = 0.25, up = 1, per = lambda / ((double)shape.scale * (double)shape.scale);
        for (size_t i = 0; i < shape.count; i++) data[i] = shape.scale * (float)(i / stride % 30 < low ? down : up);
        const qb__solve_options options = {.iterations = ROUNDS, .lambda = lambda, .nonneg = true, .gap = 1e-5};
        const qb__solved solved = solve(&shape, data, &options, x);
        assert_string_equal(solved.stopped, "gap");
        for (size_t i = 0; i < shape.count; i++) {
            const double want = i / stride % 30 < low ? down + per / 10 : up - per / 20;
            assert_true(fabs((double)x[i] - want) < 2e-3);
        }
    }
}

/* 1/2 |A x - b|^2 + lambda TV(x), in double. */
static double objective(const box *shape, const float *b, double lambda, const double *x) {
    const size_t *n = shape->n;
    double sum = 0;
    for (size_t i = 0; i < shape->count; i++) {
        const size_t at[3] = {i % n[0], i / n[0] % n[1], i / n[0] / n[1]}, stride[3] = {1, n[0], n[0] * n[1]};
        double square = 0, r = (double)shape->scale * x[i] - (double)b[i];
        for (int j = 0; j < 3; j++)
            if (at[j] + 1 < n[j]) square += (x[i + stride[j]] - x[i]) * (x[i + stride[j]] - x[i]);
        sum += 0.5 * r * r + lambda * sqrt(square);
    }
    return sum;
}

/* No image, near or far, is better than the gap allows. */
static void nothing_is_better(void **state) {
    (void)state;
    for (uint64_t trial = 0; trial < 6; trial++) {
        qb__random r = qb__random_stream(dice_seed, trial);
        box shape = {.n = {3 + qb__random_bits(&r) % 5, 3 + qb__random_bits(&r) % 5, 1 + qb__random_bits(&r) % 4},
                     .scale = 0.7F};
        shape.count = shape.n[0] * shape.n[1] * shape.n[2];
        float data[MOST], x[MOST];
        double found[MOST], other[MOST];
        const bool nonneg = trial % 2;
        for (size_t i = 0; i < shape.count; i++) data[i] = (float)(qb__random_unit(&r) - 0.3);
        const qb__solve_options options = {.iterations = ROUNDS, .lambda = 0.2, .nonneg = nonneg, .gap = 1e-4};
        const qb__solved solved = solve(&shape, data, &options, x);
        assert_string_equal(solved.stopped, "gap");
        for (size_t i = 0; i < shape.count; i++) found[i] = (double)x[i];
        const double least = objective(&shape, data, 0.2, found);
        for (int other_one = 0; other_one < 300; other_one++) {
            const double far = pow(10, -4 * qb__random_unit(&r));
            for (size_t i = 0; i < shape.count; i++) {
                other[i] = found[i] + far * (qb__random_unit(&r) - 0.5);
                if (nonneg) other[i] = fmax(0, other[i]);
            }
            assert_true(objective(&shape, data, 0.2, other) >= least * (1 - 2e-4));
        }
    }
}

int main(void) {
    if (qb__pool_create(2, &pool) != QB_OK) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_shrinks),
        cmocka_unit_test(nothing_is_better),
    };
    const int failed = cmocka_run_group_tests(tests, throw_dice, NULL);
    qb__pool_destroy(pool);
    return failed;
}
