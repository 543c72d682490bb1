/* SPDX-License-Identifier: MIT */
#include "check.h"

#include "base/memory.h"
#include "ops/bench.h"
#include "ops/fft.h"
#include "ops/filter.h"
#include "ops/window.h"

static const double pi = 3.14159265358979323846;

/* The band-limited ramp applied in space, in double: rows continued by `pad`, kernel as long as the
 * padded row allows. */
static void oracle(const float *row, size_t n, size_t length, double pitch, double *out) {
    for (size_t i = 0; i < n; i++) {
        double sum = 0.25 * row[i];
        for (size_t j = 0; j < n; j++) {
            long d = labs((long)i - (long)j);
            if (d % 2 == 0 || (size_t)d > length / 2) continue;
            sum -= row[j] / (pi * pi * (double)d * (double)d);
        }
        out[i] = sum / pitch;
    }
}

static void ramp_is_the_convolution(void **state) {
    (void)state;
    static const size_t sizes[] = {2, 3, 17, 64, 100, 353, 640, 1024};
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
        size_t n = sizes[k];
        qb__filter *filter;
        assert_ok(qb__filter_create("ramp", QB_PAD_ZERO, n, 0.37, &filter));
        float *rows, *scratch;
        double *want;
        assert_ok(qb__alloc(3 * n, sizeof *rows, &rows));
        assert_ok(qb__alloc(n, sizeof *want, &want));
        assert_ok(qb__alloc(qb__filter_scratch(filter), 1, &scratch));
        qb__noise(rows, 3 * n, 42 + k);
        oracle(rows + n, n, qb__filter_length(filter), 0.37, want);
        qb__filter_rows(filter, rows, 3, n, 2.0f, scratch);
        double error = 0, norm = 0;
        for (size_t i = 0; i < n; i++) {
            double d = rows[n + i] - 2 * want[i];
            error += d * d;
            norm += 4 * want[i] * want[i];
        }
        assert_true(sqrt(error / norm) < 1e-6);
        qb__free(rows);
        qb__free(want);
        qb__free(scratch);
        qb__filter_destroy(filter);
    }
}

/* A row's result has the same bits whatever stands beside it. */
static void rows_are_alone(void **state) {
    (void)state;
    enum { N = 250, ROWS = 5 };
    float all[ROWS * N], one[N], *scratch;
    qb__filter *filter;
    assert_ok(qb__filter_create("hann:0.7", QB_PAD_MIRROR, N, 1, &filter));
    assert_ok(qb__alloc(qb__filter_scratch(filter), 1, &scratch));
    qb__noise(all, ROWS * N, 7);
    memcpy(one, all + 3 * N, sizeof one);
    qb__filter_rows(filter, all, ROWS, N, 0.5f, scratch);
    qb__filter_rows(filter, one, 1, N, 0.5f, scratch);
    assert_memory_equal(one, all + 3 * N, sizeof one);
    qb__free(scratch);
    qb__filter_destroy(filter);
}

/* With edge or mirror padding a constant row has no edges, so only the kernel's cut at half the padded
 * length is left of it; with zeros the ends of the row show. */
static void padding_continues_the_row(void **state) {
    (void)state;
    enum { N = 512 };
    float row[N], *scratch;
    for (int pad = QB_PAD_EDGE; pad <= QB_PAD_MIRROR; pad++) {
        qb__filter *filter;
        assert_ok(qb__filter_create("ramp", (qb_pad)pad, N, 1, &filter));
        assert_ok(qb__alloc(qb__filter_scratch(filter), 1, &scratch));
        for (size_t i = 0; i < N; i++) row[i] = 3;
        qb__filter_rows(filter, row, 1, N, 1, scratch);
        double tail = 2.0 / (pi * pi) * 0.5 / (double)(qb__filter_length(filter) / 2);
        for (size_t i = 0; i < N; i++) assert_close(row[i], 3 * tail, 1e-5);
        qb__free(scratch);
        qb__filter_destroy(filter);
    }
}

static void windows(void **state) {
    (void)state;
    const struct {
        const char *spec;
        double at, want;
    } rows[] = {
        {"ramp", 0.9, 1},          {"ramp:0.5", 0.51, 0},
        {"hann", 0.5, 0.5},        {"hann:0.5", 0.25, 0.5},
        {"hann", 1, 0},            {"hamming", 1, 0.08},
        {"cosine", 0.5, sqrt(0.5)}, {"shepp-logan", 1, 2 / pi},
        {"blackman", 0.5, 0.34},   {"parzen", 0.5, 0.25},
        {"parzen", 0.25, 1 - 6 * 0.0625 * 0.75}, {"butterworth:0.5", 0.5, sqrt(0.5)},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        qb__window window;
        assert_ok(qb__window_parse(rows[i].spec, &window));
        assert_close(qb__window_at(&window, rows[i].at), rows[i].want, 1e-12);
        assert_true(window.ramp);
        qb__window_clear(&window);
    }
    const char *bad[] = {"han", "hann:0", "hann:1.5", "hann:x", "hann:", "/does/not/exist"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        qb__window window;
        assert_status(qb__window_parse(bad[i], &window), QB_BAD_ARGUMENT);
    }
}

static void window_from_a_file(void **state) {
    (void)state;
    char path[] = "/tmp/qb-window-XXXXXX";
    FILE *file = fdopen(mkstemp(path), "w");
    fprintf(file, "1 0.5\n0\n");
    fclose(file);
    qb__window window;
    assert_ok(qb__window_parse(path, &window));
    assert_close(qb__window_at(&window, 0.25), 0.75, 1e-12);
    assert_close(qb__window_at(&window, 1), 0, 1e-12);
    qb__window_clear(&window);
    file = fopen(path, "w");
    fprintf(file, "1 nan 0\n");
    fclose(file);
    assert_status(qb__window_parse(path, &window), QB_BAD_INPUT);
    remove(path);
}

static void none_leaves_rows_alone(void **state) {
    (void)state;
    float row[5] = {1, -2, 3, 4, 5};
    qb__filter *filter;
    assert_ok(qb__filter_create("none", QB_PAD_ZERO, 5, 0.1, &filter));
    qb__filter_rows(filter, row, 1, 5, 2, NULL);
    assert_true(row[0] == 2 && row[1] == -4 && row[4] == 10);
    qb__filter_destroy(filter);
}

static void lengths(void **state) {
    (void)state;
    assert_int_equal(qb__fft_good_length(1280), 1280);
    assert_int_equal(qb__fft_good_length(1), 2);
    assert_int_equal(qb__fft_good_length(11), 12);
    assert_int_equal(qb__fft_good_length(4098), 4116);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ramp_is_the_convolution), cmocka_unit_test(rows_are_alone),
        cmocka_unit_test(padding_continues_the_row), cmocka_unit_test(windows),
        cmocka_unit_test(window_from_a_file), cmocka_unit_test(none_leaves_rows_alone),
        cmocka_unit_test(lengths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
