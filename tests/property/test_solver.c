/* SPDX-License-Identifier: MIT */
/* The iterative solvers compared to dense solutions, for any matrix, not only rays. */
#include "dice.h"
#include "recon/iterative/solver.h"

enum { N = 24, M = 60, ITERATIONS = 4000 };

typedef struct dense {
    double a[M][N];
    int calls;
} dense;

static qb_status forward(void *self, const void *from, void *to) {
    const float *x = from;
    float *y = to;
    dense *d = self;
    d->calls++;
    for (int i = 0; i < M; i++) {
        double sum = 0;
        for (int j = 0; j < N; j++) sum += d->a[i][j] * (double)x[j];
        y[i] = (float)sum;
    }
    return QB_OK;
}

static qb_status adjoint(void *self, const void *from, void *to) {
    const float *y = from;
    float *x = to;
    dense *d = self;
    for (int j = 0; j < N; j++) {
        double sum = 0;
        for (int i = 0; i < M; i++) sum += d->a[i][j] * (double)y[i];
        x[j] = (float)sum;
    }
    return QB_OK;
}

/* The least-squares solution by Cholesky decomposition of the normal equations. */
static void solve_dense(const dense *d, const double *b, double *x) {
    double l[N][N] = {{0}}, z[N];
    for (int i = 0; i < N; i++) {
        for (int j = 0; j <= i; j++) {
            double sum = 0;
            for (int k = 0; k < M; k++) sum += d->a[k][i] * d->a[k][j];
            for (int k = 0; k < j; k++) sum -= l[i][k] * l[j][k];
            l[i][j] = i == j ? sqrt(sum) : sum / l[j][j];
        }
    }
    for (int i = 0; i < N; i++) {
        z[i] = 0;
        for (int k = 0; k < M; k++) z[i] += d->a[k][i] * b[k];
        for (int j = 0; j < i; j++) z[i] -= l[i][j] * z[j];
        z[i] /= l[i][i];
    }
    for (int i = N - 1; i >= 0; i--) {
        x[i] = z[i];
        for (int j = i + 1; j < N; j++) x[i] -= l[j][i] * x[j];
        x[i] /= l[i][i];
    }
}

static qb__pool *pool;
static qb__vectors vectors;
static qb__solve_trace trace[ITERATIONS];

static void make(dense *d, uint64_t trial, double *b, const double *truth) {
    qb__random r = qb__random_stream(dice_seed, trial);
    d->calls = 0;
    for (int i = 0; i < M; i++) {
        for (int j = 0; j < N; j++) d->a[i][j] = qb__random_unit(&r) < 0.4 ? qb__random_unit(&r) : 0;
        d->a[i][i % N] += 1;
        b[i] = 0;
        for (int j = 0; truth && j < N; j++) b[i] += d->a[i][j] * truth[j];
        if (!truth) b[i] = 2 * qb__random_unit(&r) - 0.5;
    }
}

static qb__solved run(const qb__solver *solver, dense *d, const double *b, bool nonneg, double tolerance, float *x) {
    const qb__linear a = {
        .self = d, .unknowns = N, .equations = M, .crossing = 1, .forward = forward, .adjoint = adjoint};
    const qb__solve_options options = {
        .iterations = ITERATIONS, .tolerance = tolerance, .relaxation = 1, .nonneg = nonneg};
    qb__solved solved = {.trace = trace};
    float data[M];
    for (int i = 0; i < M; i++) data[i] = (float)b[i];
    memset(x, 0, N * sizeof *x);
    assert_int_equal(solver->run(&a, &options, &vectors, NULL, data, x, &solved), QB_OK);
    return solved;
}

static double distance(const float *x, const double *want) {
    double error = 0, norm = 0;
    for (int j = 0; j < N; j++) {
        error += ((double)x[j] - want[j]) * ((double)x[j] - want[j]);
        norm += want[j] * want[j];
    }
    return sqrt(error / norm);
}

static void cgls_is_least_squares(void **state) {
    (void)state;
    for (uint64_t trial = 0; trial < 20; trial++) {
        dense d;
        double b[M], want[N];
        float x[N];
        make(&d, trial, b, NULL);
        solve_dense(&d, b, want);
        const qb__solved solved = run(&qb__solver_cgls, &d, b, false, 1e-7, x);
        assert_string_equal(solved.stopped, "tolerance");
        assert_true(solved.iterations < 6 * N);
        assert_true(distance(x, want) < 2e-5);
        for (int i = 1; i < solved.iterations; i++)
            assert_true(trace[i].residual <= trace[i - 1].residual * (1 + 1e-6));
    }
}

static void sirt_comes_to_a_consistent_solution(void **state) {
    (void)state;
    for (uint64_t trial = 0; trial < 5; trial++) {
        dense d;
        double b[M], truth[N];
        float x[N];
        qb__random r = qb__random_stream(dice_seed, 1000 + trial);
        for (int j = 0; j < N; j++) truth[j] = qb__random_unit(&r);
        make(&d, trial, b, truth);
        const qb__solved solved = run(&qb__solver_sirt, &d, b, false, 0, x);
        assert_int_equal(solved.iterations, ITERATIONS);
        assert_true(distance(x, truth) < 1e-3);
    }
}

/* At the minimum under the bound, the gradient is zero where x is above it, and not negative where x is at it. */
static void nothing_falls_below_zero(void **state) {
    (void)state;
    const qb__solver *solvers[] = {&qb__solver_cgls};
    for (uint64_t trial = 0; trial < 10; trial++) {
        for (size_t s = 0; s < sizeof solvers / sizeof *solvers; s++) {
            dense d;
            double b[M], scale = 0;
            float x[N];
            int bound = 0;
            make(&d, 50 + trial, b, NULL);
            run(solvers[s], &d, b, true, 0, x);
            for (int i = 0; i < M; i++) scale += fabs(b[i]);
            for (int j = 0; j < N; j++) {
                double gradient = 0;
                for (int i = 0; i < M; i++) {
                    double r = b[i];
                    for (int k = 0; k < N; k++) r -= d.a[i][k] * (double)x[k];
                    gradient += d.a[i][j] * r;
                }
                assert_true(x[j] >= 0);
                bound += x[j] == 0;
                assert_true(x[j] > 0 ? fabs(gradient) < 1e-3 * scale : gradient < 1e-3 * scale);
            }
            assert_true(bound > 0 && bound < N);
        }
    }
}

static void sirt_keeps_above_zero(void **state) {
    (void)state;
    dense d;
    double b[M];
    float x[N];
    int below = 0, bound = 0;
    make(&d, 60, b, NULL);
    run(&qb__solver_sirt, &d, b, false, 0, x);
    for (int j = 0; j < N; j++) below += x[j] < 0;
    run(&qb__solver_sirt, &d, b, true, 0, x);
    for (int j = 0; j < N; j++) {
        assert_true(x[j] >= 0);
        bound += x[j] == 0;
    }
    assert_true(below > 0 && bound > 0);
}

static void diverging_is_an_error(void **state) {
    (void)state;
    dense d;
    double b[M];
    float x[N] = {0}, data[M];
    make(&d, 3, b, NULL);
    const qb__linear a = {
        .self = &d, .unknowns = N, .equations = M, .crossing = 1, .forward = forward, .adjoint = adjoint};
    const qb__solve_options options = {.iterations = ITERATIONS, .relaxation = 50};
    qb__solved solved = {.trace = trace};
    for (int i = 0; i < M; i++) data[i] = (float)b[i];
    assert_int_equal(qb__solver_sirt.run(&a, &options, &vectors, NULL, data, x, &solved), QB_INTERNAL);
    assert_non_null(strstr(qb_detail(), "diverges"));
    assert_true(solved.iterations < 5); /* long before the numbers overflow */
}

static void stop_at_third(void *user, const char *what, uint64_t done, uint64_t total) {
    (void)what, (void)total;
    if (done == 3) *(volatile sig_atomic_t *)user = 1;
}

/* For operators that do not check for it themselves. */
static void stopped_between_iterations(void **state) {
    (void)state;
    const qb__solver *const solvers[] = {&qb__solver_sirt, &qb__solver_cgls, &qb__solver_tv};
    for (int i = 0; i < 3; i++) {
        dense d;
        double b[M];
        float x[N] = {0}, data[M];
        volatile sig_atomic_t stop = 0;
        make(&d, 5, b, NULL);
        const qb__linear a = {
            .self = &d, .unknowns = N, .equations = M, .crossing = 1, .forward = forward, .adjoint = adjoint};
        const qb__solve_options options = {.iterations = ITERATIONS, .relaxation = 1, .lambda = 0.1};
        const qb_env env = {.user = (void *)&stop, .progress = stop_at_third, .cancel = &stop};
        qb__solved solved = {.trace = trace};
        for (int j = 0; j < M; j++) data[j] = (float)b[j];
        assert_int_equal(solvers[i]->run(&a, &options, &vectors, &env, data, x, &solved), QB_CANCELLED);
        assert_int_equal(solved.iterations, 3);
    }
}

static void nothing_measured_is_nothing(void **state) {
    (void)state;
    dense d;
    double b[M] = {0}, none[N] = {0};
    float x[N];
    make(&d, 4, b, none);
    assert_string_equal(run(&qb__solver_cgls, &d, b, false, 0, x).stopped, "residual is zero");
    assert_string_equal(run(&qb__solver_sirt, &d, b, true, 0, x).stopped, "residual is zero");
    for (int j = 0; j < N; j++) assert_true(x[j] == 0);
}

int main(void) {
    if (qb__pool_create(2, &pool) != QB_OK ||
        qb__vectors_create(pool, M, (const size_t[3]){N, 1, 1}, &vectors) != QB_OK)
        return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cgls_is_least_squares),       cmocka_unit_test(sirt_comes_to_a_consistent_solution),
        cmocka_unit_test(nothing_falls_below_zero),    cmocka_unit_test(sirt_keeps_above_zero),
        cmocka_unit_test(diverging_is_an_error),       cmocka_unit_test(stopped_between_iterations),
        cmocka_unit_test(nothing_measured_is_nothing),
    };
    int failed = cmocka_run_group_tests(tests, throw_dice, NULL);
    qb__vectors_destroy(&vectors);
    qb__pool_destroy(pool);
    return failed;
}
