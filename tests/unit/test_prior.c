/* SPDX-License-Identifier: MIT */
/* Slopes and steps of the prior on the CPU, with every instruction set. */
#include "base/memory.h"
#include "cpu/features.h"
#include "prior_truth.h"

static float was[3][MOST];

static qb__prior_volume volume_of(const trial *t, float *slope, float *curve) {
    qb__prior_volume v = {.x = t->x, .slope = slope, .curve = curve, .toward = t->pull > 0 ? t->toward : NULL};
    memcpy(v.n, t->n, sizeof v.n);
    return v;
}

static qb__prior_numbers numbers_of(const trial *t) {
    qb__prior_numbers numbers = qb__prior_numbers_of(&t->prior, t->pull);
    numbers.data = (float)t->data;
    return numbers;
}

/* Runs the step in pieces like those that vectors make. Memory that must not be read is poisoned. */
static void run(const trial *t, qb__prior_step *step, bool only_slopes, bool nonneg, float *slope, float *curve) {
    const qb__prior_numbers numbers = numbers_of(t);
    memcpy(slope, t->slope, sizeof t->slope);
    memcpy(curve, t->curve, sizeof t->curve);
    for (size_t i = 0; only_slopes && i < t->count; i++) curve[i] = NAN;
    for (size_t i = t->count; i < MOST; i++) slope[i] = curve[i] = 1234.5f;
    qb__prior_volume v = volume_of(t, slope, curve);
    v.only_slopes = only_slopes;
    v.nonneg = nonneg;
    for (size_t first = 0; first < t->count; first += 100)
        step(&numbers, &v, first, first + 100 < t->count ? first + 100 : t->count, NULL);
    for (size_t i = t->count; i < MOST; i++) assert_true(slope[i] == 1234.5f && curve[i] == 1234.5f);
}

static void slopes(void **state) {
    qb__random r = qb__random_stream(11, 0);
    static trial t;
    (void)state;
    for (int k = 0; k < 60; k++) {
        throw_trial(&t, &r);
        run(&t, qb__prior_for_cpu(), true, false, was[0], was[1]);
        check_slopes(&t, was[0], was[1]);
    }
}

static void steps(void **state) {
    qb__random r = qb__random_stream(12, 0);
    static trial t;
    (void)state;
    for (int k = 0; k < 60; k++) {
        throw_trial(&t, &r);
        t.curve[t.count / 2] = 0;
        const bool nonneg = k % 2;
        run(&t, qb__prior_for_cpu(), false, nonneg, was[0], was[1]);
        check_step(&t, was[0], nonneg);
    }
}

/* The slopes are those of the cost: along a small random step both give the same difference. */
static void cost(void **state) {
    qb__random r = qb__random_stream(13, 0);
    static trial t;
    (void)state;
    for (int k = 0; k < 40; k++) {
        throw_trial(&t, &r);
        const qb__prior_numbers numbers = numbers_of(&t);
        double along = 0, at[2] = {0, 0}, size = 0;
        memset(t.slope, 0, sizeof t.slope);
        run(&t, qb__prior_for_cpu(), true, false, was[0], was[1]);
        for (size_t i = 0; i < t.count; i++) was[2][i] = (float)(t.prior.sigma * between(&r, -1e-2, 1e-2));
        for (int side = 0; side < 2; side++) {
            for (size_t i = 0; i < t.count; i++) t.x[i] += (side ? 2 : -1) * was[2][i];
            memcpy(was[1], t.curve, sizeof t.curve);
            float slope[MOST] = {0};
            qb__prior_volume v = volume_of(&t, slope, was[1]);
            v.cost = true;
            qb__prior_for_cpu()(&numbers, &v, 0, t.count, &at[side]);
        }
        for (size_t i = 0; i < t.count; i++) {
            along += 2 * (double)was[0][i] * (double)was[2][i];
            size += fabs(2 * (double)was[0][i] * (double)was[2][i]);
        }
        assert_close(at[1] - at[0], along, 2e-2 * size + 2e-6 * at[0]);
    }
}

static void instruction_sets(void **state) {
    qb__random r = qb__random_stream(14, 0);
    static trial t;
    (void)state;
#if defined(__x86_64__)
    qb__prior_step *const all[] = {qb__prior_avx2, qb__prior_avx512};
    const uint32_t needs[] = {QB__CPU_AVX2, QB__CPU_AVX512};
    for (int k = 0; k < 30; k++) {
        throw_trial(&t, &r);
        run(&t, qb__prior_scalar, false, true, was[0], was[1]);
        for (int i = 0; i < 2; i++) {
            if (!(qb__cpu_features() & needs[i])) continue;
            run(&t, all[i], false, true, was[2], was[1]);
            assert_memory_equal(was[0], was[2], t.count * sizeof(float));
        }
    }
#endif
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slopes),
        cmocka_unit_test(steps),
        cmocka_unit_test(cost),
        cmocka_unit_test(instruction_sets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
