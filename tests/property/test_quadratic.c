/* SPDX-License-Identifier: MIT */
/* Coordinate descent on random sparse quadratics: at its end all slopes are zero. And the error of a stack whose cost
 * rises. */
#include <float.h>

#include "dice.h"
#include "quickbeam/descent.h"
#include "recon/mbir/icd/icd_stack.h"

enum { M = 70, N = 30, EACH = 6 };

typedef struct problem {
    size_t first[N + 1];
    uint32_t row[N * EACH];
    float value[N * EACH], y[M], weights[M], toward[N], x[N];
    qb_quadratic q;
} problem;

static void make(problem *p, uint64_t number) {
    qb__random random = qb__random_stream(dice_seed, number);
    for (size_t j = 0; j < N; j++) {
        p->first[j + 1] = (j + 1) * EACH;
        for (size_t k = j * EACH; k < (j + 1) * EACH; k++) {
            const uint32_t slot = (uint32_t)(k % EACH) * (M / EACH); /* one of each sixth, in ascending order */
            p->row[k] = slot + (uint32_t)(qb__random_bits(&random) % (M / EACH));
            p->value[k] = (float)(2 * qb__random_unit(&random) - 1);
        }
        p->toward[j] = (float)qb__random_unit(&random);
        p->x[j] = (float)qb__random_unit(&random);
    }
    p->first[0] = 0;
    for (size_t i = 0; i < M; i++) {
        p->y[i] = (float)(2 * qb__random_unit(&random) - 1);
        p->weights[i] = (float)(i % 9 ? qb__random_unit(&random) : 0);
    }
    p->q = (qb_quadratic){.matrix = {M, N, p->first, p->row, p->value},
                          .y = p->y,
                          .weights = p->weights,
                          .toward = p->toward,
                          .pull = 0.05,
                          .passes = 3000,
                          .stop = 1e-13,
                          .seed = number};
}

/* The slope of the cost in each coordinate, from separate sums. */
static void slopes(const problem *p, double *slope) {
    double error[M];
    for (size_t i = 0; i < M; i++) error[i] = (double)p->y[i];
    for (size_t k = 0; k < N * EACH; k++) error[p->row[k]] -= (double)p->value[k] * (double)p->x[k / EACH];
    for (size_t j = 0; j < N; j++) slope[j] = p->q.pull * ((double)p->x[j] - (double)p->toward[j]);
    for (size_t k = 0; k < N * EACH; k++)
        slope[k / EACH] -= (double)p->value[k] * (double)p->weights[p->row[k]] * error[p->row[k]];
}

static void it_ends_where_nothing_pulls(void **state) {
    (void)state;
    for (uint64_t number = 0; number < 40; number++) {
        problem p;
        double slope[N];
        qb_descent came;
        size_t bound = 0;
        make(&p, number);
        p.q.positive = number % 2;
        assert_int_equal(qb_quadratic_descend(&p.q, p.x, &came, NULL), QB_OK);
        slopes(&p, slope);
        if (came.passes >= 3000) fail_msg("not done: %g", came.change);
        assert_true(came.cost > 0);
        for (size_t j = 0; j < N; j++) {
            const bool held = p.q.positive && p.x[j] == 0;
            assert_true(held ? slope[j] > -1e-6 : fabs(slope[j]) < 1e-6);
            assert_true(!p.q.positive || p.x[j] >= 0);
            bound += held;
        }
        assert_true(!p.q.positive || bound > 0);
    }
}

/* (A' W A + pull) x = A' W y + pull toward, by elimination: the matrix is symmetric and positive, so no pivots are
 * needed. */
static void solve_normal(const problem *p, double *x) {
    double a[N][N] = {{0}}, column[M], other[M];
    for (size_t j = 0; j < N; j++) {
        memset(column, 0, sizeof column);
        for (size_t k = j * EACH; k < (j + 1) * EACH; k++) column[p->row[k]] = (double)p->value[k];
        x[j] = p->q.pull * (double)p->toward[j];
        for (size_t i = 0; i < M; i++) x[j] += column[i] * (double)p->weights[i] * (double)p->y[i];
        for (size_t l = 0; l < N; l++) {
            memset(other, 0, sizeof other);
            for (size_t k = l * EACH; k < (l + 1) * EACH; k++) other[p->row[k]] = (double)p->value[k];
            for (size_t i = 0; i < M; i++) a[j][l] += column[i] * (double)p->weights[i] * other[i];
        }
        a[j][j] += p->q.pull;
    }
    for (size_t j = 0; j < N; j++)
        for (size_t l = j + 1; l < N; l++) {
            const double share = a[l][j] / a[j][j];
            for (size_t c = j; c < N; c++) a[l][c] -= share * a[j][c];
            x[l] -= share * x[j];
        }
    for (size_t j = N; j-- > 0;) {
        for (size_t c = j + 1; c < N; c++) x[j] -= a[j][c] * x[c];
        x[j] /= a[j][j];
    }
}

static void the_proximal_map_is_that_of_the_normal_equations(void **state) {
    (void)state;
    for (uint64_t trial = 0; trial < 20; trial++) {
        problem p;
        double want[N];
        make(&p, 100 + trial);
        p.q.pull = trial % 2 ? 0.05 : 2;
        solve_normal(&p, want);
        assert_int_equal(qb_quadratic_descend(&p.q, p.x, NULL, NULL), QB_OK);
        for (size_t j = 0; j < N; j++)
            if (!(fabs((double)p.x[j] - want[j]) < 1e-6 * (1 + fabs(want[j]))))
                fail_msg("trial %d: x[%zu] is %.9g, of the normal equations %.9g", (int)trial, j, (double)p.x[j],
                         want[j]);
    }
}

static void the_cost_falls_and_bits_repeat(void **state) {
    (void)state;
    problem p, again;
    qb_descent before = {.cost = INFINITY}, after;
    make(&p, 5);
    p.q.passes = 1, p.q.stop = 0;
    for (int i = 0; i < 10; i++, before = after) {
        assert_int_equal(qb_quadratic_descend(&p.q, p.x, &after, NULL), QB_OK);
        assert_true(after.cost <= before.cost * (1 + 1e-6) && after.passes == 1);
    }
    make(&p, 6), make(&again, 6);
    assert_int_equal(qb_quadratic_descend(&p.q, p.x, NULL, NULL), QB_OK);
    assert_int_equal(qb_quadratic_descend(&again.q, again.x, NULL, NULL), QB_OK);
    assert_memory_equal(p.x, again.x, sizeof p.x);
}

static void a_strong_pull_wins(void **state) {
    (void)state;
    problem p;
    make(&p, 7);
    p.q.pull = 1e6;
    assert_int_equal(qb_quadratic_descend(&p.q, p.x, NULL, NULL), QB_OK);
    for (size_t j = 0; j < N; j++) assert_true(fabs((double)(p.x[j] - p.toward[j])) < 1e-4);
}

static void what_is_wrong_is_said(void **state) {
    (void)state;
    problem p;
    float kept[N];
    make(&p, 8);
    memcpy(kept, p.x, sizeof kept);
    p.row[17] = M;
    assert_int_equal(qb_quadratic_descend(&p.q, p.x, NULL, NULL), QB_BAD_ARGUMENT);
    assert_non_null(strstr(qb_detail(), "entry 17"));
    make(&p, 8);
    p.row[8] = p.row[7];
    assert_int_equal(qb_quadratic_descend(&p.q, p.x, NULL, NULL), QB_BAD_ARGUMENT);
    assert_non_null(strstr(qb_detail(), "none comes twice"));
    make(&p, 8);
    p.first[4] = 2;
    assert_int_equal(qb_quadratic_descend(&p.q, p.x, NULL, NULL), QB_BAD_ARGUMENT);
    assert_non_null(strstr(qb_detail(), "column 3"));
    make(&p, 8);
    p.weights[12] = -1;
    assert_int_equal(qb_quadratic_descend(&p.q, p.x, NULL, NULL), QB_BAD_INPUT);
    assert_non_null(strstr(qb_detail(), "weights[12] is -1"));
    make(&p, 8);
    p.y[3] = NAN;
    assert_int_equal(qb_quadratic_descend(&p.q, p.x, NULL, NULL), QB_BAD_INPUT);
    make(&p, 8);
    p.q.pull = -1;
    assert_int_equal(qb_quadratic_descend(&p.q, p.x, NULL, NULL), QB_BAD_ARGUMENT);
    p.q.pull = 0, p.q.passes = -1;
    assert_int_equal(qb_quadratic_descend(&p.q, p.x, NULL, NULL), QB_BAD_ARGUMENT);
    assert_memory_equal(kept, p.x, sizeof kept);
    make(&p, 8);
    for (size_t k = 0; k < N * EACH; k++) p.value[k] *= 1e-30f; /* so x would be 1e30 times as large, and y is */
    for (size_t i = 0; i < M; i++) p.y[i] *= 1e30f;
    p.q.pull = 0;
    assert_int_equal(qb_quadratic_descend(&p.q, p.x, NULL, NULL), QB_BAD_INPUT);
    assert_non_null(strstr(qb_detail(), "beyond single precision"));
    assert_memory_equal(kept, p.x, sizeof kept);
}

/* The largest float stays itself, even if double precision lands a little above it. */
static void the_largest_numbers(void **state) {
    (void)state;
    const uint32_t row[1] = {0};
    const size_t first[2] = {0, 1};
    for (int i = 1; i < 400; i++) {
        const float value[1] = {(float)i / 400}, y[1] = {(float)((double)value[0] * (double)FLT_MAX)};
        const qb_quadratic q = {.matrix = {.rows = 1, .columns = 1, .first = first, .row = row, .value = value},
                                .y = y};
        /* half an ulp below or above, depending on how y was rounded */
        const double exact = (double)y[0] / (double)value[0];
        float x[1] = {0};
        const qb_status status = qb_quadratic_descend(&q, x, NULL, NULL);
        assert_int_equal(status, exact < 0x1.ffffffp127 ? QB_OK : QB_BAD_INPUT);
        if (status == QB_OK) assert_true((double)x[0] >= exact * (1 - 1e-7) && x[0] <= FLT_MAX);
    }
}

/* ---- a stack that diverges ---- */

static qb_status no_start(void *self, const qb__icd_given *given) {
    (void)self, (void)given;
    return QB_OK;
}

static qb_status some_turn(void *self, int number, bool skip, const bool *still, const qb_env *env,
                           qb__icd_swept *turned) {
    (void)self, (void)number, (void)skip, (void)still, (void)env;
    *turned = (qb__icd_swept){.change = 1, .size = 10, .updates = 100};
    return QB_OK;
}

static qb_status next_cost(void *self, double *cost) {
    const double **at = self;
    *cost = *(*at)++;
    return QB_OK;
}

static qb_status no_image(void *self, size_t slice, float scale, float *image) {
    (void)self, (void)slice, (void)scale, (void)image;
    return QB_OK;
}

static void not_ours(void *self) { (void)self; }

static qb_status run_costs(const double *costs, int *turns) {
    static const qb__icd_worker worker = {no_start, some_turn, next_cost, no_image, not_ours};
    const qb__icd_settings settings = {.equits = 5};
    const qb__icd_shape shape = {1, 100, qb__icd_whole_sweeps(5), false};
    qb__icd_trace trace[4 * 5 + 16];
    qb__icd_stack *stack;
    const char *stopped;
    assert_int_equal(qb__icd_stack_of(&worker, &costs, &settings, &shape, &stack), QB_OK);
    const qb_status status = qb__icd_stack_run(stack, NULL, NULL, trace, turns, &stopped);
    qb__icd_stack_destroy(stack);
    return status;
}

static void a_cost_that_rises_is_no_result(void **state) {
    (void)state;
    static const double falling[] = {10, 9, 5, 5.1, 4, 4}, rising[] = {10, 9, 5, 7, 10.5, 1},
                        none[] = {10, 9, NAN, 1, 1, 1}; /* before the first turn, and after each */
    int turns;
    assert_int_equal(run_costs(falling, &turns), QB_OK);
    assert_int_equal(turns, 5);
    assert_int_equal(run_costs(rising, &turns), QB_INTERNAL);
    assert_int_equal(turns, 4);
    assert_non_null(strstr(qb_detail(), "diverges"));
    assert_non_null(strstr(qb_detail(), "10.5"));
    assert_int_equal(run_costs(none, &turns), QB_BAD_INPUT); /* because of numbers that are too large */
    assert_non_null(strstr(qb_detail(), "overflow"));
    assert_int_equal(turns, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_ends_where_nothing_pulls),
        cmocka_unit_test(the_proximal_map_is_that_of_the_normal_equations),
        cmocka_unit_test(the_cost_falls_and_bits_repeat),
        cmocka_unit_test(a_strong_pull_wins),
        cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(the_largest_numbers),
        cmocka_unit_test(a_cost_that_rises_is_no_result),
    };
    return cmocka_run_group_tests(tests, throw_dice, NULL);
}
