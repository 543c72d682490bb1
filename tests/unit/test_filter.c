/* SPDX-License-Identifier: MIT */
#include "check.h"

#include <unistd.h>

#include "base/memory.h"
#include "cpu/features.h"
#include "cpu/rows/filter_pairs.h"
#include "ops/fft.h"
#include "ops/filter.h"

static qb__filter *make(const char *spec, qb_pad pad, size_t columns, double pitch) {
    qb__filter *filter;
    assert_ok(qb__filter_create(spec, pad, columns, pitch, &filter));
    return filter;
}

static void apply(const qb__filter *filter, float *rows, size_t count, size_t stride, float weight) {
    void *scratch;
    assert_ok(qb__alloc(qb__filter_scratch(filter), 1, &scratch));
    qb__filter_rows(filter, rows, count, stride, weight, scratch);
    qb__free(scratch);
}

static void fill(float *values, size_t count, unsigned seed) {
    uint32_t state = seed * 2654435761u + 1;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        values[i] = (float)(state >> 8) / (float)(1 << 23) - 1;
    }
}

static double l2_error(const float *got, const double *want, size_t count) {
    double error = 0, norm = 0;
    for (size_t i = 0; i < count; i++) {
        error += (got[i] - want[i]) * (got[i] - want[i]);
        norm += want[i] * want[i];
    }
    return sqrt(error / norm);
}

/* Element `at` of the row of width n, with its padding beyond both ends. */
static double continued(const float *row, ptrdiff_t n, ptrdiff_t at, qb_pad pad) {
    if (at >= 0 && at < n) return row[at];
    if (pad == QB_PAD_ZERO) return 0;
    if (pad == QB_PAD_EDGE) return row[at < 0 ? 0 : n - 1];
    ptrdiff_t m = ((at % (2 * n)) + 2 * n) % (2 * n);
    return row[m < n ? m : 2 * n - 1 - m];
}

static double tap(ptrdiff_t n) {
    if (n == 0) return 0.25;
    return n % 2 ? -1 / (M_PI * M_PI * (double)n * (double)n) : 0;
}

static void ramp_is_the_direct_convolution(void **state) {
    (void)state;
    static const ptrdiff_t widths[] = {1, 2, 3, 5, 8, 31, 64, 159, 160, 161, 333, 1000, 2048};
    for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++) {
        ptrdiff_t n = widths[w];
        float *row;
        double *want;
        assert_ok(qb__alloc((size_t)n, sizeof *row, &row));
        assert_ok(qb__alloc((size_t)n, sizeof *want, &want));
        fill(row, (size_t)n, (unsigned)n);
        for (ptrdiff_t i = 0; i < n; i++) {
            for (ptrdiff_t j = 0; j < n; j++) want[i] += row[j] * tap(i - j) / 0.7 * 1.5;
        }
        qb__filter *filter = make("ramp", QB_PAD_ZERO, (size_t)n, 0.7);
        assert_true(qb__filter_length(filter) >= 2 * (size_t)n);
        apply(filter, row, 1, (size_t)n, 1.5f);
        double error = l2_error(row, want, (size_t)n);
        if (!(error < 1e-6)) fail_msg("%td columns: relative error %g", n, error);
        qb__filter_destroy(filter);
        qb__free(row);
        qb__free(want);
    }
}

/* Each tap up to half a width sees the row continued on its own side. The finite length changes the other taps. Their
 * sum, 2/(pi^2 n), bounds that error. */
static void padding_continues_the_row(void **state) {
    (void)state;
    enum { N = 200 };
    for (int pad = QB_PAD_EDGE; pad <= QB_PAD_MIRROR; pad++) {
        float row[N], copy[N];
        fill(row, N, 77);
        for (int i = 0; i < N; i++) row[i] += 2; /* an object wider than the detector */
        memcpy(copy, row, sizeof row);
        qb__filter *filter = make("ramp", (qb_pad)pad, N, 1);
        apply(filter, row, 1, N, 1);
        for (ptrdiff_t i = 0; i < N; i++) {
            double want = 0;
            for (ptrdiff_t j = i - 100 * N; j < i + 100 * N; j++)
                want += continued(copy, N, j, (qb_pad)pad) * tap(i - j);
            double bound = pad == QB_PAD_ZERO ? 1e-6 : 3.0 * 2 / (M_PI * M_PI * N);
            if (!(fabs(row[i] - want) < bound)) fail_msg("pad %d column %td: %g %g", pad, i, row[i], want);
        }
        qb__filter_destroy(filter);
    }
}

static double window(const char *name, double x) {
    double p = M_PI * x;
    if (!strcmp(name, "butterworth")) return pow(1 + pow(x, 8), -0.5);
    if (x > 1) return 0;
    if (!strcmp(name, "shepp-logan")) return x > 0 ? sin(p / 2) / (p / 2) : 1;
    if (!strcmp(name, "cosine")) return sin(M_PI / 2 - p / 2);
    if (!strcmp(name, "hann")) return pow(cos(p / 2), 2);
    if (!strcmp(name, "hamming")) return 0.54 + 0.46 * cos(p);
    if (!strcmp(name, "blackman")) return 0.42 + 0.5 * cos(p) + 0.08 * cos(2 * p);
    if (!strcmp(name, "parzen")) return x < 0.5 ? 1 - 6 * x * x + 6 * x * x * x : 2 * pow(1 - x, 3);
    return 1;
}

/* out = sum over k of H[k] X[k] e^.., in double and straight from the definitions. */
static void double_dft_filter(const char *name, double cutoff, const float *row, size_t n, size_t length, double *out) {
    double *kernel = calloc(length, sizeof *kernel);
    for (size_t k = 0; k < length; k++) {
        size_t f = k <= length / 2 ? k : length - k;
        double h = 0.25;
        for (size_t j = 1; j < length; j++) {
            ptrdiff_t d = (ptrdiff_t)(j <= length / 2 ? j : length - j);
            h += tap(d) * cos(2 * M_PI * (double)(j * k % length) / (double)length);
        }
        if (!strcmp(name, "none")) h = 1;
        h *= window(name, 2.0 * (double)f / (double)length / cutoff);
        for (size_t j = 0; j < length; j++)
            kernel[j] += h * cos(2 * M_PI * (double)(j * k % length) / (double)length) / (double)length;
    }
    for (size_t i = 0; i < n; i++) {
        out[i] = 0;
        for (size_t j = 0; j < n; j++) out[i] += row[j] * kernel[(i + length - j) % length];
    }
    free(kernel);
}

static void windows_follow_their_formulas(void **state) {
    (void)state;
    static const char *names[] = {"ramp",     "shepp-logan", "cosine",      "hann", "hamming",
                                  "blackman", "parzen",      "butterworth", "none"};
    static const double cutoffs[] = {1, 0.6, 0.35};
    enum { N = 75 };
    for (size_t i = 0; i < 27; i++) {
        float row[N];
        double want[N];
        char spec[64];
        fill(row, N, (unsigned)i);
        snprintf(spec, sizeof spec, i / 9 ? "%s:%g" : "%s", names[i % 9], cutoffs[i / 9]);
        qb__filter *filter = make(spec, QB_PAD_ZERO, N, 1);
        double_dft_filter(names[i % 9], cutoffs[i / 9], row, N, qb__filter_length(filter), want);
        apply(filter, row, 1, N, 1);
        double error = l2_error(row, want, N);
        if (!(error < 1e-6)) fail_msg("%s: relative error %g", spec, error);
        qb__filter_destroy(filter);
    }
}

static void none_is_the_identity(void **state) {
    (void)state;
    float row[33], copy[33];
    fill(row, 33, 5);
    memcpy(copy, row, sizeof row);
    qb__filter *filter = make("none", QB_PAD_ZERO, 33, 0.1);
    apply(filter, row, 1, 33, 0.3f);
    for (int i = 0; i < 33; i++) assert_true(row[i] == copy[i] * 0.3f);
    qb__filter_destroy(filter);
}

static void expect(const char *spec, qb_status status, const char *words) {
    qb__filter *filter;
    assert_int_equal(qb__filter_create(spec, QB_PAD_ZERO, 64, 1, &filter), status);
    assert_null(filter);
    if (!strstr(qb_detail(), words)) fail_msg("%s: \"%s\" lacks \"%s\"", spec, qb_detail(), words);
}

static void bad_filters_are_refused(void **state) {
    (void)state;
    expect("rampp", QB_BAD_ARGUMENT, "shepp-logan");
    expect("", QB_BAD_ARGUMENT, "shepp-logan");
    expect("no/such/file:0.5", QB_BAD_ARGUMENT, "butterworth");
    expect("hann:0", QB_BAD_ARGUMENT, "cut-off 0 ");
    expect("hann:1.5", QB_BAD_ARGUMENT, "1.5");
    expect("hann:", QB_BAD_ARGUMENT, "cut-off");
    expect("hann:x", QB_BAD_ARGUMENT, "x");
    expect("hann:nan", QB_BAD_ARGUMENT, "nan");
    qb__filter *filter;
    assert_int_equal(qb__filter_create("ramp", QB_PAD_ZERO, 0, 1, &filter), QB_BAD_ARGUMENT);
    assert_int_equal(qb__filter_create("ramp", QB_PAD_ZERO, 4, 0, &filter), QB_BAD_ARGUMENT);
    assert_int_equal(qb__filter_create("ramp", QB_PAD_ZERO, SIZE_MAX / 2, 1, &filter), QB_UNSUPPORTED);
}

static void write_file(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

static void windows_come_from_files(void **state) {
    (void)state;
    enum { N = 90 };
    char path[] = "/tmp/qb-window-XXXXXX", spec[64];
    close(mkstemp(path));
    write_file(path, "1 # at 0\n0.75, 0.5\n\n0.25\n0\n");
    float row[N];
    double want[N];
    for (int cut = 0; cut < 2; cut++) {
        fill(row, N, 3);
        snprintf(spec, sizeof spec, cut ? "%s:0.5" : "%s", path);
        qb__filter *filter = make(spec, QB_PAD_ZERO, N, 1);
        size_t length = qb__filter_length(filter);
        memset(want, 0, sizeof want);
        for (size_t k = 0; k < length; k++) { /* a triangle, as a sum of its plane waves */
            double f = 2.0 * (double)(k <= length / 2 ? k : length - k) / (double)length;
            double h = 0.25, w = fmax(0, 1 - f * (cut ? 2 : 1));
            for (size_t j = 1; j < length; j++)
                h += tap((ptrdiff_t)(j <= length / 2 ? j : length - j)) *
                     cos(2 * M_PI * (double)(j * k % length) / (double)length);
            for (size_t i = 0; i < N; i++) {
                for (size_t j = 0; j < N; j++)
                    want[i] += h * w / (double)length * row[j] *
                               cos(2 * M_PI * (double)((i + length - j) * k % length) / (double)length);
            }
        }
        apply(filter, row, 1, N, 1);
        assert_true(l2_error(row, want, N) < 1e-6);
        qb__filter_destroy(filter);
    }
    write_file(path, "1 0.5 half 0\n");
    expect(path, QB_BAD_INPUT, "half");
    write_file(path, "1\n");
    expect(path, QB_BAD_INPUT, "two values");
    write_file(path, "1 0\n");
    snprintf(spec, sizeof spec, "%s:2", path);
    expect(spec, QB_BAD_ARGUMENT, "2");
    unlink(path);
}

static void a_row_is_its_own(void **state) {
    (void)state;
    enum { N = 301, STRIDE = 317, ROWS = 7 };
    static float rows[ROWS * STRIDE], alone[ROWS * STRIDE];
    fill(rows, ROWS * STRIDE, 9);
    memcpy(alone, rows, sizeof rows);
    qb__filter *filter = make("hamming", QB_PAD_EDGE, N, 1);
    for (size_t i = 0; i < N; i++) rows[3 * STRIDE + i] *= 1e6f; /* the rows beside have large values */
    rows[5 * STRIDE] = NAN;
    float between = rows[STRIDE - 1];
    apply(filter, rows, ROWS, STRIDE, 0.5f);
    for (size_t r = 0; r < ROWS; r++) {
        apply(filter, alone + r * STRIDE, 1, STRIDE, 0.5f);
        if (r != 3 && r != 5) assert_memory_equal(rows + r * STRIDE, alone + r * STRIDE, N * sizeof(float));
    }
    assert_true(rows[STRIDE - 1] == between);
    qb__filter_destroy(filter);
}

static void all_variants_agree(void **state) {
    (void)state;
    enum { M = 300 };
    float turn[M], low[M], high[M], want[2 * M], got[2 * M];
    uint32_t masks[] = {QB__CPU_AVX2, QB__CPU_AVX2 | QB__CPU_AVX512};
    fill(turn, M, 1);
    fill(low, M, 2);
    fill(high, M, 3);
    for (int v = 0; v < 2; v++) {
        if ((qb__cpu_features() & masks[v]) != masks[v]) continue;
        for (size_t count = 0; count < M; count++) {
            fill(want, 2 * M, (unsigned)count);
            memcpy(got, want, sizeof got);
            qb__filter_pairs_scalar(turn, low, high, count, want, want + 2 * M - 1);
            qb__filter_pairs_choose(masks[v])(turn, low, high, count, got, got + 2 * M - 1);
            assert_memory_equal(got, want, sizeof got);
        }
    }
}

static void lengths_are_good(void **state) {
    (void)state;
    for (size_t n = 1; n < 20000; n += 1 + n / 50) {
        size_t got = qb__fft_length(n), rest = got;
        assert_true(got >= n && got % 2 == 0 && (n < 2 || got < 2 * n));
        for (size_t p = 2; p <= 5; p++) {
            while (rest % p == 0) rest /= p;
        }
        assert_int_equal(rest, 1);
    }
    assert_int_equal(qb__fft_length(2048), 2048);
    assert_int_equal(qb__fft_length(SIZE_MAX), 0);
}

static void real_transforms_too(void **state) {
    (void)state;
    enum { N = 48 };
    qb__fft *fft;
    float *in, *out, copy[N];
    assert_ok(qb__fft_create(QB__FFT_REAL, N, &fft));
    assert_ok(qb__alloc(N + 2, sizeof *in, &in));
    assert_ok(qb__alloc(N + 2, sizeof *out, &out));
    fill(in, N, 1);
    memcpy(copy, in, sizeof copy);
    qb__fft_forward(fft, in, out);
    for (int k = 0; k <= N / 2; k++) {
        double re = 0, im = 0;
        for (int j = 0; j < N; j++) {
            re += copy[j] * cos(2 * M_PI * j * k / N);
            im -= copy[j] * sin(2 * M_PI * j * k / N);
        }
        assert_true(fabs(out[2 * k] - re) < 1e-5 && fabs(out[2 * k + 1] - im) < 1e-5);
    }
    qb__fft_backward(fft, out, in);
    for (int j = 0; j < N; j++) assert_true(fabsf(in[j] / N - copy[j]) < 1e-6f);
    qb__fft_destroy(fft);
    qb__free(in);
    qb__free(out);
}

static void running_out_of_memory(void **state) {
    (void)state;
    qb_status status = QB_NO_MEMORY;
    qb__filter *filter;
    for (size_t n = 1; status != QB_OK && n < 100; n++) {
        qb__fail_allocation(n);
        status = qb__filter_create("hann", QB_PAD_ZERO, 100, 1, &filter);
        qb__fail_allocation(0);
        if (status != QB_OK) assert_int_equal(status, QB_NO_MEMORY);
    }
    assert_int_equal(status, QB_OK);
    qb__filter_destroy(filter);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ramp_is_the_direct_convolution),
        cmocka_unit_test(padding_continues_the_row),
        cmocka_unit_test(windows_follow_their_formulas),
        cmocka_unit_test(none_is_the_identity),
        cmocka_unit_test(bad_filters_are_refused),
        cmocka_unit_test(windows_come_from_files),
        cmocka_unit_test(a_row_is_its_own),
        cmocka_unit_test(all_variants_agree),
        cmocka_unit_test(lengths_are_good),
        cmocka_unit_test(real_transforms_too),
        cmocka_unit_test(running_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
