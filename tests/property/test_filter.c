/* SPDX-License-Identifier: MIT */
#include "dice.h"

#include "base/memory.h"
#include "ops/filter.h"

enum { CASES = 60 };

typedef struct random_case {
    qb__filter *filter;
    size_t columns;
    float *a, *b, *c;
    void *scratch;
} random_case;

static size_t pick(unsigned long long seed, size_t below) {
    float x;
    qb__noise(&x, 1, (dice_seed + seed) * 7919);
    return (size_t)((x + 1) / 2.0001f * (float)below);
}

static random_case draw(unsigned long long seed, qb_pad pad) {
    static const char *specs[] = {"ramp",     "shepp-logan:0.7", "cosine",          "hann:0.5", "hamming",
                                  "blackman", "parzen:0.9",      "butterworth:0.4", "none:0.3"};
    random_case c = {.columns = 8 + pick(seed, 700)};
    assert_ok(qb__filter_create(specs[pick(seed + 1, 9)], pad, c.columns, 0.25, &c.filter));
    assert_ok(qb__alloc(c.columns, sizeof(float), &c.a));
    assert_ok(qb__alloc(c.columns, sizeof(float), &c.b));
    assert_ok(qb__alloc(c.columns, sizeof(float), &c.c));
    assert_ok(qb__alloc(qb__filter_scratch(c.filter), 1, &c.scratch));
    qb__noise(c.a, c.columns, dice_seed + seed + 2);
    qb__noise(c.b, c.columns, dice_seed + seed + 3);
    return c;
}

static void drop(random_case *c) {
    qb__filter_destroy(c->filter);
    qb__free(c->a);
    qb__free(c->b);
    qb__free(c->c);
    qb__free(c->scratch);
}

static void apply(const random_case *c, float *row, float weight) {
    qb__filter_rows(c->filter, row, 1, c->columns, weight, c->scratch);
}

static double distance(const float *got, const float *want, size_t count) {
    double error = 0, norm = 0;
    for (size_t i = 0; i < count; i++) {
        error += ((double)got[i] - want[i]) * ((double)got[i] - want[i]);
        norm += (double)want[i] * want[i];
    }
    return sqrt(error / norm);
}

static void linear(void **state) {
    (void)state;
    const size_t cases = trials(CASES);
    for (unsigned seed = 1; seed <= cases; seed++) {
        random_case c = draw(seed, (qb_pad)(seed % 3));
        for (size_t i = 0; i < c.columns; i++) c.c[i] = 2 * c.a[i] - 0.5f * c.b[i];
        apply(&c, c.a, 1);
        apply(&c, c.b, 1);
        for (size_t i = 0; i < c.columns; i++) c.a[i] = 3 * (2 * c.a[i] - 0.5f * c.b[i]);
        apply(&c, c.c, 3);
        double error = distance(c.c, c.a, c.columns);
        if (!(error < 1e-6)) fail_msg("case %u, %zu columns: %g", seed, c.columns, error);
        drop(&c);
    }
}

/* A pattern between zeros that is moved by some columns is filtered to the same result, moved by as many. */
static void shift_invariant(void **state) {
    (void)state;
    const size_t cases = trials(CASES);
    for (unsigned seed = 1; seed <= cases; seed++) {
        random_case c = draw(seed * 31, QB_PAD_ZERO);
        size_t half = c.columns / 2, shift = pick(seed * 17, half);
        memset(c.b, 0, c.columns * sizeof *c.b);
        memset(c.a + half, 0, (c.columns - half) * sizeof *c.a);
        memcpy(c.b + shift, c.a, half * sizeof *c.a);
        apply(&c, c.a, 1);
        apply(&c, c.b, 1);
        double error = distance(c.b + shift, c.a, c.columns - shift);
        if (!(error < 1e-6)) fail_msg("case %u, %zu columns by %zu: %g", seed, c.columns, shift, error);
        drop(&c);
    }
}

/* The filter is symmetric: a mirrored row gives the mirrored result. */
static void mirror_symmetric(void **state) {
    (void)state;
    const size_t cases = trials(CASES);
    for (unsigned seed = 1; seed <= cases; seed++) {
        random_case c = draw(seed * 13, seed % 2 ? QB_PAD_ZERO : QB_PAD_EDGE);
        size_t n = c.columns;
        c.a[0] = c.a[n - 1]; /* no step at the seam, which padding that is longer by one on one side would move */
        for (size_t i = 0; i < n; i++) c.b[i] = c.a[n - 1 - i];
        apply(&c, c.a, 1);
        apply(&c, c.b, 1);
        for (size_t i = 0; i < n; i++) c.c[i] = c.b[n - 1 - i];
        assert_true(distance(c.c, c.a, n) < 1e-6);
        drop(&c);
    }
}

/* A constant row between zeros: column c keeps what the taps beyond its ends do not remove,
 *   1/4 - sum over odd n <= c of 1/(pi n)^2 - the same over odd n <= columns - 1 - c;
 * in the middle of a wide row that is about 2/(pi^2 columns): nearly nothing, but not 0. */
static void constants_come_back_right(void **state) {
    (void)state;
    static const size_t widths[] = {16, 101, 512, 2000, 5000};
    for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++) {
        size_t n = widths[w];
        float *row;
        void *scratch;
        qb__filter *filter;
        assert_ok(qb__filter_create("ramp", QB_PAD_ZERO, n, 0.5, &filter));
        assert_ok(qb__alloc(n, sizeof *row, &row));
        assert_ok(qb__alloc(qb__filter_scratch(filter), 1, &scratch));
        for (size_t i = 0; i < n; i++) row[i] = 7;
        qb__filter_rows(filter, row, 1, n, 1, scratch);
        for (size_t i = 0; i < n; i++) {
            double want = 0.25;
            for (size_t d = 1; d < n; d += 2)
                want -= ((d <= i) + (d <= n - 1 - i)) / (M_PI * M_PI * (double)d * (double)d);
            assert_close(row[i], want * 7 / 0.5, 7 / 0.5 * 1e-7);
        }
        double middle = 2 / (M_PI * M_PI * (double)n) * 7 / 0.5;
        if (n > 100) assert_close(row[n / 2], middle, 0.02 * middle);
        qb__filter_destroy(filter);
        qb__free(row);
        qb__free(scratch);
    }
}

/* However the rows are divided into calls, the bits are the same. */
static void any_chunking(void **state) {
    (void)state;
    enum { ROWS = 9 };
    const size_t cases = trials(CASES / 4);
    for (unsigned seed = 1; seed <= cases; seed++) {
        random_case c = draw(seed * 101, (qb_pad)(seed % 3));
        float *whole, *parts;
        assert_ok(qb__alloc(ROWS * c.columns, sizeof *whole, &whole));
        assert_ok(qb__alloc(ROWS * c.columns, sizeof *parts, &parts));
        qb__noise(whole, ROWS * c.columns, dice_seed + seed);
        memcpy(parts, whole, ROWS * c.columns * sizeof *whole);
        qb__filter_rows(c.filter, whole, ROWS, c.columns, 0.7f, c.scratch);
        for (size_t r = 0, count; r < ROWS; r += count) {
            count = 1 + pick(seed + r, ROWS - r);
            qb__filter_rows(c.filter, parts + r * c.columns, count, c.columns, 0.7f, c.scratch);
        }
        assert_memory_equal(whole, parts, ROWS * c.columns * sizeof *whole);
        qb__free(whole);
        qb__free(parts);
        drop(&c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear),           cmocka_unit_test(shift_invariant),
        cmocka_unit_test(mirror_symmetric), cmocka_unit_test(constants_come_back_right),
        cmocka_unit_test(any_chunking),
    };
    return cmocka_run_group_tests(tests, throw_dice, NULL);
}
