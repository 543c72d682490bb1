/* SPDX-License-Identifier: MIT */
/* Every library of Fourier transforms is compared with sums in double, as the definition says. */
#include "check.h"

#include "base/memory.h"
#include "cpu/features.h"
#include "cpu/fft/fft_lanes.h"
#include "ops/fft.h"

static void fill(float *values, size_t count) {
    uint32_t state = 7;
    for (size_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        values[i] = (float)(state >> 8) / (float)(1 << 23) - 1;
    }
}

/* to[k] is the sum of from[j] exp(sign 2 pi i jk/n). The numbers are `step` apart. */
static void sums(const double *from, double *to, size_t n, size_t step, int sign) {
    for (size_t k = 0; k < n; k++) {
        double re = 0, im = 0;
        for (size_t j = 0; j < n; j++) {
            const double angle = sign * 2 * M_PI * (double)(j * k % n) / (double)n, c = cos(angle), s = sin(angle);
            const double *x = from + 2 * step * j;
            re += x[0] * c - x[1] * s;
            im += x[0] * s + x[1] * c;
        }
        to[2 * step * k] = re;
        to[2 * step * k + 1] = im;
    }
}

static double error(const float *got, const double *want, size_t count) {
    double e = 0, norm = 0;
    for (size_t i = 0; i < count; i++) {
        e += (got[i] - want[i]) * (got[i] - want[i]);
        norm += want[i] * want[i];
    }
    return sqrt(e / norm);
}

static void one_line(const qb__fft_library *library, size_t n) {
    qb__fft *fft;
    float *in, *out;
    double *x, *want;
    assert_ok(qb__fft_create_of(library, QB__FFT_COMPLEX, n, &fft));
    assert_ok(qb__alloc(2 * n, sizeof *in, &in));
    assert_ok(qb__alloc(2 * n, sizeof *out, &out));
    assert_ok(qb__alloc(2 * n, sizeof *x, &x));
    assert_ok(qb__alloc(2 * n, sizeof *want, &want));
    for (int sign = -1; sign <= 1; sign += 2) {
        fill(in, 2 * n);
        for (size_t i = 0; i < 2 * n; i++) x[i] = in[i];
        sums(x, want, n, 1, sign);
        (sign < 0 ? qb__fft_forward : qb__fft_backward)(fft, in, out);
        const double e = error(out, want, 2 * n);
        if (!(e < 4e-7)) fail_msg("%s, %zu, %d: %g", qb__fft_library_name(library), n, sign, e);
    }
    qb__fft_destroy(fft);
    qb__free(in);
    qb__free(out);
    qb__free(x);
    qb__free(want);
}

static void lines_are_the_definition(void **state) {
    (void)state;
    for (size_t n = 1; n <= 2048; n = qb__fft_length(n + 1))
        for (const qb__fft_library *const *l = qb__fft_libraries(); *l; l++) one_line(*l, n);
}

/* Long transforms: an impulse becomes a wave, and comes back. */
static void long_lines(void **state) {
    (void)state;
    static const size_t lengths[] = {8192, 10240, 15360, 12288, 65536, 1 << 20};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        const size_t n = lengths[i], at = 3 * n / 7;
        float *in, *out;
        assert_ok(qb__alloc(2 * n, sizeof *in, &in));
        assert_ok(qb__alloc(2 * n, sizeof *out, &out));
        for (const qb__fft_library *const *l = qb__fft_libraries(); *l; l++) {
            qb__fft *fft;
            assert_ok(qb__fft_create_of(*l, QB__FFT_COMPLEX, n, &fft));
            memset(in, 0, 2 * n * sizeof *in);
            in[2 * at] = 1;
            qb__fft_forward(fft, in, out);
            for (size_t k = 0; k < n; k++) {
                const double angle = 2 * M_PI * (double)(k * at % n) / (double)n;
                assert_true(fabs(out[2 * k] - cos(angle)) < 1e-6 && fabs(out[2 * k + 1] + sin(angle)) < 1e-6);
            }
            qb__fft_backward(fft, out, in);
            for (size_t j = 0; j < n; j++)
                assert_true(fabs(in[2 * j] / (double)n - (j == at)) < 1e-6 && fabs(in[2 * j + 1]) < 1e-6 * (double)n);
            qb__fft_destroy(fft);
        }
        qb__free(in);
        qb__free(out);
    }
}

static void one_real_line(const qb__fft_library *library, size_t n) {
    qb__fft *fft;
    float *in, *out, *copy;
    double *x, *y;
    assert_ok(qb__fft_create_of(library, QB__FFT_REAL, n, &fft));
    assert_ok(qb__alloc(n + 2, sizeof *in, &in));
    assert_ok(qb__alloc(n + 2, sizeof *out, &out));
    assert_ok(qb__alloc(n, sizeof *copy, &copy));
    assert_ok(qb__alloc(2 * n, sizeof *x, &x));
    assert_ok(qb__alloc(2 * n, sizeof *y, &y));
    fill(in, n);
    memcpy(copy, in, n * sizeof *in);
    for (size_t i = 0; i < n; i++) x[2 * i] = in[i];
    sums(x, y, n, 1, -1);
    qb__fft_forward(fft, in, out);
    const double e = error(out, y, n + 2);
    if (!(e < 4e-7)) fail_msg("%s, %zu: %g", qb__fft_library_name(library), n, e);
    qb__fft_backward(fft, out, in);
    for (size_t i = 0; i < n; i++) assert_true(fabs(in[i] / (double)n - copy[i]) < 1e-6);
    qb__fft_destroy(fft);
    qb__free(in);
    qb__free(out);
    qb__free(copy);
    qb__free(x);
    qb__free(y);
}

static void real_lines_are_the_definition(void **state) {
    (void)state;
    static const size_t sizes[] = {2, 4, 6, 48, 64, 640, 1024};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (const qb__fft_library *const *l = qb__fft_libraries(); *l; l++) one_real_line(*l, sizes[i]);
}

/* A different factor for every row and column. */
static double some_factor(const void *self, size_t row, size_t column) {
    (void)self;
    return 1 + 0.5 * sin(3.0 * (double)row + 7.0 * (double)column);
}

static void filter_some_columns(size_t rows, size_t columns) {
    const size_t stride = 2 * columns + 5;
    qb__fft_columns *fft;
    float *cells, *scratch;
    double *x, *y;
    assert_ok(qb__fft_columns_create(rows, columns, some_factor, NULL, &fft));
    assert_ok(qb__alloc(rows * stride, sizeof *cells, &cells));
    assert_ok(qb__alloc(qb__fft_columns_scratch(fft), sizeof *scratch, &scratch));
    assert_ok(qb__alloc(2 * rows * columns, sizeof *x, &x));
    assert_ok(qb__alloc(2 * rows * columns, sizeof *y, &y));
    fill(cells, rows * stride);
    const qb__fft_rows which = {rows / 5, rows - rows / 3, rows / 4, rows - rows / 6};
    for (size_t r = 0; r < rows; r++) {
        const size_t of = r < which.low ? which.low : r < which.high ? r : which.high - 1;
        for (size_t i = 0; i < 2 * columns; i++) x[2 * columns * r + i] = cells[stride * of + i];
    }
    for (size_t c = 0; c < columns; c++) sums(x + 2 * c, y + 2 * c, rows, columns, -1);
    for (size_t i = 0; i < 2 * rows * columns; i++) y[i] *= some_factor(NULL, i / 2 / columns, i / 2 % columns);
    for (size_t c = 0; c < columns; c++) sums(y + 2 * c, x + 2 * c, rows, columns, 1);
    const float spare = cells[2 * columns], kept = cells[0];
    qb__fft_columns_run(fft, cells, stride, &which, scratch);
    assert_true(cells[2 * columns] == spare && (which.first == 0 || cells[0] == kept));
    for (size_t r = which.first; r < which.end; r++) {
        const double e = error(cells + stride * r, x + 2 * columns * r, 2 * columns);
        if (!(e < 1e-6)) fail_msg("%zu x %zu, row %zu: %g", rows, columns, r, e);
    }
    qb__fft_columns_destroy(fft);
    qb__free(cells);
    qb__free(scratch);
    qb__free(x);
    qb__free(y);
}

static void filtered_columns_are_the_definition(void **state) {
    (void)state;
    static const size_t sizes[][2] = {{1, 33}, {2, 41}, {10, 49}, {30, 16}, {40, 81}, {64, 5}, {160, 17}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) filter_some_columns(sizes[i][0], sizes[i][1]);
}

static void lanes_fit_the_length(void **state) {
    (void)state;
    assert_ptr_equal(qb__fft_kernel_choose(0, 1024), &qb__fft_scalar);
    assert_null(qb__fft_kernel_choose(0, 30));
    for (size_t n = 16; n <= 4096; n = qb__fft_length(n + 1)) {
        const qb__fft_kernel *k = qb__fft_kernel_choose(qb__cpu_features(), n);
        assert_true(!k || (n % (size_t)k->lanes == 0 && n / (size_t)k->lanes >= (size_t)k->lanes));
        assert_true(k || n % 16);
    }
}

static void what_cannot_be(void **state) {
    (void)state;
    qb__fft *fft;
    for (const qb__fft_library *const *l = qb__fft_libraries(); *l; l++) {
        assert_int_equal(qb__fft_create_of(*l, QB__FFT_COMPLEX, 0, &fft), QB_UNSUPPORTED);
        assert_null(fft);
        assert_int_equal(qb__fft_create_of(*l, QB__FFT_REAL, SIZE_MAX, &fft), QB_UNSUPPORTED);
        qb_status status = QB_NO_MEMORY;
        for (size_t n = 1; status != QB_OK && n < 20; n++) {
            qb__fail_allocation(n);
            status = qb__fft_create_of(*l, QB__FFT_REAL, 80, &fft);
            qb__fail_allocation(0);
            if (status != QB_OK) assert_int_equal(status, QB_NO_MEMORY);
        }
        assert_int_equal(status, QB_OK);
        qb__fft_destroy(fft);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_the_definition),      cmocka_unit_test(long_lines),
        cmocka_unit_test(real_lines_are_the_definition), cmocka_unit_test(filtered_columns_are_the_definition),
        cmocka_unit_test(lanes_fit_the_length),          cmocka_unit_test(what_cannot_be),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
