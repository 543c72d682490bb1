/* SPDX-License-Identifier: MIT */
/* The loops of --rings beside plain ones in double, and the bits of all vector lengths beside each other. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/sort.h"
#include "cpu/features.h"
#include "cpu/rows/ring_loops.h"

enum { MOST = 70, APART = MOST + 2 * QB__RING_ENDS, ROOM = APART + 8 * 9 };

static double lines[QB__RING_MOST + 1][APART];
static float values[ROOM];
static size_t columns;

/* Some values are equal, and some have the other sign. */
static double draw(void) { return rand() % 4 ? (double)rand() / RAND_MAX - 0.5 : (double)(rand() % 5 - 2); }

static void fill(void) {
    columns = 1 + (size_t)rand() % MOST;
    for (size_t k = 0; k < sizeof lines / sizeof *lines; k++)
        for (size_t i = 0; i < APART; i++) lines[k][i] = draw();
    for (size_t i = 0; i < ROOM; i++) values[i] = (float)draw();
}

static double median(const double *from, size_t apart, size_t count) {
    double v[QB__RING_MOST];
    for (size_t i = 0; i < count; i++) v[i] = from[i * apart];
    return qb__median(v, count);
}

static void close_to(double a, double b) { assert_true(fabs(a - b) <= 1e-13 * (1 + fabs(b))); }

static void check_sums(const qb__ring_loops *loops) {
    double sum[MOST], weighted[MOST], sizes[MOST];
    for (size_t c = 0; c < columns; c++) sum[c] = weighted[c] = sizes[c] = lines[0][c];
    loops->add(values, columns, sum);
    loops->add_weighted(values, columns, 0.3, weighted);
    loops->add_kinks(values, columns, sizes);
    for (size_t c = 0; c < columns; c++) {
        const bool inside = c > 0 && c + 1 < columns;
        const float kink = inside ? values[c - 1] - 2 * values[c] + values[c + 1] : 0;
        assert_true(sum[c] == lines[0][c] + (double)values[c]);
        assert_true(weighted[c] == lines[0][c] + 0.3 * (double)values[c]);
        assert_true(sizes[c] == lines[0][c] + (double)fabsf(kink));
    }
}

static void check_medians(const qb__ring_loops *loops) {
    double out[MOST], in[ROOM];
    float less[MOST], lanes[QB__RING_MOST * 2][QB__RING_LANES];
    const size_t apart = 1 + (size_t)rand() % 8, count = 1 + (size_t)rand() % (2 * QB__RING_MOST);
    for (size_t i = 0; i < ROOM; i++) in[i] = (double)values[i];
    loops->median9(in, apart, columns, out);
    loops->less_median15(values, columns, less);
    for (size_t c = 0; c < columns; c++) {
        assert_true(out[c] == median(in + c, apart, 9));
        assert_true(less[c] == (float)(in[c + 7] - median(in + c, 1, 15)));
    }
    for (size_t i = 0; i < count; i++)
        for (int l = 0; l < QB__RING_LANES; l++) lanes[i][l] = (float)draw();
    loops->sort(lanes, count);
    for (size_t i = 1; i < count; i++)
        for (int l = 0; l < QB__RING_LANES; l++) assert_true(lanes[i - 1][l] <= lanes[i][l]);
}

/* As prep/rings_windows.c says it: the trend by pairs, then the middle three fifths. */
static void middle_of(size_t count, qb__ring_measure what, const double *kinks, double *middle, double *error) {
    const size_t apart = count / 2, cut = count / 5;
    double v[QB__RING_MOST], steps[QB__RING_MOST], sum = 0;
    for (size_t i = 0; i < count; i++) {
        const double *k = kinks + i * APART;
        v[i] = what == QB__RING_KINK   ? k[0]
               : what == QB__RING_STEP ? (k[-1] - k[0]) / 2
                                       : (k[-1] - 2 * k[0] + k[1]) / 6;
    }
    for (size_t i = 0; i + apart < count; i++) steps[i] = v[i + apart] - v[i];
    const double slope = qb__median(steps, count - apart) / (double)apart;
    for (size_t i = 0; i < count; i++) v[i] -= slope * ((double)i - 0.5 * (double)(count - 1));
    qb__sort(v, count);
    for (size_t i = cut; i < count - cut; i++) sum += v[i] / (double)(count - 2 * cut);
    const double half = 0.5 * (v[(count - 1) / 2] + v[count / 2]);
    for (size_t i = 0; i < count; i++) v[i] = fabs(v[i] - half);
    qb__sort(v, count);
    *middle = sum, *error = 1.48 * v[count / 2] * sqrt(3.6 / (double)count);
}

static double height_of(const double *k) {
    double around[6] = {k[-4], k[-3], k[-2], k[2], k[3], k[4]};
    const double ground = qb__median(around, 6), fit = (k[-1] - 2 * k[0] + k[1]) / 6, sign = fit < 0 ? -1 : 1;
    const double least = fmin(-0.5 * sign * (k[0] - ground), fmin(sign * (k[-1] - ground), sign * (k[1] - ground)));
    return least > 0 ? sign * fmin(fabs(fit), 1.5 * least) : 0;
}

static void check_measures(const qb__ring_loops *loops) {
    const size_t count = rand() % 2 ? 15 + (size_t)rand() % 2 : 4 + (size_t)rand() % 13;
    const double *in = lines[0] + QB__RING_ENDS;
    double middle[MOST], error[MOST], height[MOST], squares[MOST];
    for (int what = 0; what < 3; what++) {
        loops->middles(in, APART, count, (qb__ring_measure)what, columns, middle, error);
        for (size_t c = 0; c < columns; c++) {
            double m, e;
            middle_of(count, (qb__ring_measure)what, in + c, &m, &e);
            close_to(middle[c], m);
            close_to(error[c], e);
        }
    }
    loops->heights(in, columns, height);
    loops->deviations(in, APART, count, columns, squares);
    for (size_t c = 0; c < columns; c++) {
        const double half = median(in + c, APART, count);
        double sum = 0;
        for (size_t i = 0; i < count; i++) sum += (in[c + i * APART] - half) * (in[c + i * APART] - half);
        close_to(height[c], height_of(in + c));
        close_to(squares[c], sum);
    }
}

static double spike_of(const double *k) { return (k[-2] - 4 * k[-1] + 6 * k[0] - 4 * k[1] + k[2]) / 6; }

/* The size of the change that box says, and the largest of all changes. */
static void check_changes(const qb__ring_loops *loops) {
    enum { LINES = QB__RING_MOST };
    const size_t shortest = 2 + (size_t)rand() % 4;
    double size[MOST], box[MOST];
    loops->changes(lines[0] + QB__RING_ENDS, APART, shortest, columns, size, box);
    for (size_t c = 0; c < columns; c++) {
        double said = 0, most = 0, drift = 0, squares = 0, all = 0;
        for (size_t b = 0; b < LINES; b++) {
            const double t = (double)b - 0.5 * (LINES - 1), h = spike_of(lines[b] + QB__RING_ENDS + c);
            drift += t * h, squares += t * t, all += h;
        }
        for (size_t a = 0; a < LINES; a++)
            for (size_t e = a + shortest; e <= LINES && e - a <= LINES - shortest; e++) {
                double in = 0;
                for (size_t b = a; b < e; b++) in += spike_of(lines[b] + QB__RING_ENDS + c);
                const double n = (double)(e - a), m = LINES - n;
                const double is = fabs(in / n - (all - in) / m) / sqrt(1 / n + 1 / m);
                most = fmax(most, is);
                if (32 * a + e == (size_t)fabs(box[c])) said = is;
            }
        drift = fabs(drift) / sqrt(squares);
        close_to(size[c], fmax(most, drift));
        close_to(size[c], box[c] < 0 ? drift : said);
    }
}

static void loops_are_right(void **state) {
    const qb__ring_loops *of[3] = {&qb__ring_loops_scalar};
    int sets = 1;
    (void)state;
#if defined(__x86_64__)
    if (qb__cpu_features() & QB__CPU_AVX2) of[sets++] = &qb__ring_loops_avx2;
    if (qb__cpu_features() & QB__CPU_AVX512) of[sets++] = &qb__ring_loops_avx512;
#endif
    for (int trial = 0; trial < 400; trial++) {
        fill();
        for (int i = 0; i < sets; i++) {
            check_sums(of[i]);
            check_medians(of[i]);
            check_measures(of[i]);
            check_changes(of[i]);
        }
    }
}

static void all_lengths_give_the_same_bits(void **state) {
    (void)state;
#if defined(__x86_64__)
    const qb__ring_loops *other = qb__cpu_features() & QB__CPU_AVX512 ? &qb__ring_loops_avx512 : &qb__ring_loops_avx2;
    if (!(qb__cpu_features() & QB__CPU_AVX2)) skip();
    for (int trial = 0; trial < 400; trial++) {
        double a[6][MOST] = {{0}}, b[6][MOST] = {{0}};
        fill();
        const size_t count = 4 + (size_t)rand() % 13;
        const qb__ring_measure what = (qb__ring_measure)(rand() % 3);
        for (int i = 0; i < 2; i++) {
            const qb__ring_loops *loops = i ? other : &qb__ring_loops_scalar;
            double(*out)[MOST] = i ? b : a;
            loops->middles(lines[0] + QB__RING_ENDS, APART, count, what, columns, out[0], out[1]);
            loops->heights(lines[0] + QB__RING_ENDS, columns, out[2]);
            loops->deviations(lines[0] + QB__RING_ENDS, APART, count, columns, out[3]);
            loops->changes(lines[0] + QB__RING_ENDS, APART, 4, columns, out[4], out[5]);
        }
        assert_memory_equal(a, b, sizeof a);
    }
#else
    skip();
#endif
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(loops_are_right),
                                       cmocka_unit_test(all_lengths_give_the_same_bits)};
    srand(argc > 1 ? (unsigned)atoi(argv[1]) : 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
