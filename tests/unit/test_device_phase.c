/* SPDX-License-Identifier: MIT */
/* --paganin on every device of the machine, against the filter's formula in double precision on a plane with wide
 * margins. The bits must be the same whatever rows and views are asked for. */
#include "check.h"

#include <complex.h>
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "io/scan/scan.h"
#include "on_devices.h"
#include "prep/phase.h"
#include "quickbeam/io.h"

static const char *spec;

enum { VIEWS = 3, MARGIN = 48 };
static const double LENGTH = 5; /* in pixels */

typedef struct trial {
    size_t rows, columns;
    bool counts, lost;
    qb_prep_options prep;
} trial;

static size_t below(size_t n) { return (size_t)(qb__random_unit(&chance) * (double)n); }

/* ---- the formula ---- */

/* Replaces z by its Fourier transform. z holds n numbers that are `apart` elements from each other. work has room for 2
 * n. */
static void transform(double complex *z, size_t n, size_t apart, double sign, double complex *work) {
    for (size_t k = 0; k < n; k++) work[n + k] = cexp(sign * 2 * M_PI * I * (double)k / (double)n);
    for (size_t k = 0; k < n; k++) {
        work[k] = 0;
        for (size_t m = 0; m < n; m++) work[k] += z[m * apart] * work[n + m * k % n];
    }
    for (size_t k = 0; k < n; k++) z[k * apart] = work[k];
}

static double frequency(size_t k, size_t n) { return (double)(k <= n / 2 ? k : n - k) / (double)n; }

static double response(const qb_prep_options *prep, double v, double u) {
    const bool pixels = prep->paganin_kernel == QB_PAGANIN_GENERALISED;
    const double x = pixels ? sin(M_PI * u) / M_PI : u, y = pixels ? sin(M_PI * v) / M_PI : v;
    const double low = 1 / (1 + LENGTH * LENGTH * (x * x + y * y));
    if (!prep->unsharp.count) return low;
    const double sigma = prep->unsharp.value[1];
    return low * (1 + prep->unsharp.value[0] * (1 - exp(-2 * M_PI * M_PI * sigma * sigma * (u * u + v * v))));
}

static void filter(const trial *t, double *image) {
    const size_t height = t->rows + 2 * MARGIN, width = t->columns + 2 * MARGIN;
    double complex *z, *work;
    assert_ok(qb__alloc(height * width, sizeof *z, &z));
    assert_ok(qb__alloc(2 * (height + width), sizeof *work, &work));
    for (size_t r = 0; r < height; r++)
        for (size_t c = 0; c < width; c++) {
            const size_t row = qb__smaller(qb__larger(r, MARGIN) - MARGIN, t->rows - 1),
                         column = qb__smaller(qb__larger(c, MARGIN) - MARGIN, t->columns - 1);
            z[r * width + c] = image[row * t->columns + column];
        }
    for (size_t r = 0; r < height; r++) transform(z + r * width, width, 1, -1, work);
    for (size_t c = 0; c < width; c++) transform(z + c, height, width, -1, work);
    for (size_t r = 0; r < height; r++)
        for (size_t c = 0; c < width; c++)
            z[r * width + c] *=
                response(&t->prep, frequency(r, height), frequency(c, width)) / (double)(height * width);
    for (size_t c = 0; c < width; c++) transform(z + c, height, width, 1, work);
    for (size_t r = 0; r < height; r++) transform(z + r * width, width, 1, 1, work);
    for (size_t r = 0; r < t->rows; r++)
        for (size_t c = 0; c < t->columns; c++) image[r * t->columns + c] = creal(z[(r + MARGIN) * width + c + MARGIN]);
    qb__free(z);
    qb__free(work);
}

/* Fills lost pixels from their neighbours, and lost rows from the next row above, or from the first row that is
 * there. */
static void bridge(const trial *t, double *image) {
    const size_t n = t->columns;
    for (size_t r = 0; r < t->rows; r++) {
        double *line = image + r * n;
        for (size_t c = 0, end; c < n; c = end + 1) {
            for (end = c; end < n && isnan(line[end]); end++) continue;
            if (end == c || (c == 0 && end == n)) continue;
            const double left = c > 0 ? line[c - 1] : line[end], right = end < n ? line[end] : left;
            for (size_t i = c; i < end; i++)
                line[i] = left + (right - left) * (double)(i - c + 1) / (double)(end - c + 1);
        }
        if (isnan(line[0]) && r > 0) memcpy(line, line - n, n * sizeof *line);
    }
    for (size_t r = t->rows; r-- > 0;)
        if (isnan(image[r * n])) memcpy(image + r * n, image + (r + 1) * n, n * sizeof *image);
}

/* ---- scans ---- */

/* An edge along rows and columns, and noise. Some pixels and some whole rows are no numbers. */
static void fill(const trial *t, float *numbers, float *flat, float *dark) {
    for (size_t i = 0; i < t->rows * t->columns; i++) {
        flat[i] = (float)(900 + 200 * qb__random_unit(&chance));
        dark[i] = (float)(10 * qb__random_unit(&chance));
    }
    for (size_t v = 0; v < VIEWS; v++)
        for (size_t r = 0; r < t->rows; r++)
            for (size_t c = 0; c < t->columns; c++) {
                const size_t i = r * t->columns + c;
                const double seen = (c > t->columns / 3 ? 0.4 : 1) * (r > t->rows / 2 ? 0.8 : 1) *
                                    (0.9 + 0.2 * qb__random_unit(&chance));
                float *to = numbers + v * t->rows * t->columns + i;
                *to = t->counts ? dark[i] + (flat[i] - dark[i]) * (float)seen : (float)seen;
                if (t->lost && (below(40) == 0 || r == v || r == t->rows / 3 || r == t->rows / 3 + 1)) *to = NAN;
            }
}

/* The transmissions of a view as they must come out, in the units of the numbers. */
static void make_truth(const trial *t, const float *numbers, const float *flat, const float *dark, double *image) {
    const size_t pixels = t->rows * t->columns;
    for (size_t i = 0; i < pixels; i++)
        image[i] = t->counts ? (numbers[i] - (double)dark[i]) / (flat[i] - (double)dark[i]) : numbers[i];
    bridge(t, image);
    filter(t, image);
    for (size_t i = 0; i < pixels; i++) {
        if (t->counts) image[i] = dark[i] + (flat[i] - (double)dark[i]) * image[i];
        if (isnan(numbers[i])) image[i] = NAN;
    }
}

static void check_values(const trial *t, const float *got, const double *want) {
    const double unit = t->counts ? 1000 : 1;
    double worst = 0;
    for (size_t i = 0; i < t->rows * t->columns; i++) {
        if (isnan(want[i]) != isnan(got[i])) fail_msg("%zu x %zu: pixel %zu is lost, or not", t->rows, t->columns, i);
        if (!isnan(want[i])) worst = fmax(worst, fabs(got[i] - want[i]) / unit);
    }
    if (!(worst < 1e-4)) fail_msg("%zu x %zu: an error of %g", t->rows, t->columns, worst);
}

static void check_parts(const trial *t, qb_scan *scan, const float *all, float *part) {
    const size_t n = t->columns;
    for (int i = 0; i < 6; i++) {
        const size_t view0 = below(VIEWS), view1 = view0 + 1 + below(VIEWS - view0), row0 = below(t->rows),
                     row1 = row0 + 1 + below(t->rows - row0), rows = row1 - row0;
        assert_ok(qb_scan_read(scan, view0, view1, row0, row1, part));
        for (size_t v = view0; v < view1; v++)
            if (memcmp(part + (v - view0) * rows * n, all + (v * t->rows + row0) * n, rows * n * sizeof *part))
                fail_msg("%zu x %zu: rows %zu to %zu of view %zu are other bits", t->rows, n, row0, row1, v);
    }
}

static void check_trial(const trial *t) {
    static const double angles[VIEWS] = {0, 0.5, 1};
    const size_t pixels = t->rows * t->columns;
    const int64_t rows = (int64_t)t->rows, columns = (int64_t)t->columns;
    const qb_scan_options about = {.quantity = t->counts ? QB_COUNTS : QB_TRANSMISSION};
    const qb_env env = {.device = spec, .threads = 2};
    float *numbers, *fields, *got, *part;
    double *image;
    qb_scan *scan;
    qb__phase *phase;
    assert_ok(qb__alloc(VIEWS * pixels, sizeof *numbers, &numbers));
    assert_ok(qb__alloc(VIEWS * pixels, sizeof *got, &got));
    assert_ok(qb__alloc(VIEWS * pixels, sizeof *part, &part));
    assert_ok(qb__alloc(2 * pixels, sizeof *fields, &fields));
    assert_ok(qb__alloc(pixels, sizeof *image, &image));
    fill(t, numbers, fields, fields + pixels);
    const qb_tensor given = {.data = numbers, .ndim = 3, .dtype = QB_F32, .shape = {VIEWS, rows, columns}};
    const qb_tensor flats = {.data = fields, .ndim = 2, .dtype = QB_F32, .shape = {rows, columns}};
    const qb_tensor darks = {.data = fields + pixels, .ndim = 2, .dtype = QB_F32, .shape = {rows, columns}};
    assert_ok(
        qb_scan_from_tensor(&given, angles, t->counts ? &flats : NULL, t->counts ? &darks : NULL, &about, NULL, &scan));
    assert_ok(qb__phase_create(scan, NULL, &t->prep, &env, &phase));
    assert_string_equal(qb__phase_by(phase), qb__device_info_of(device)->name);
    assert_ok(qb_scan_read(qb__phase_scan(phase, scan), 0, VIEWS, 0, t->rows, got));
    for (size_t v = 0; v < VIEWS; v++) {
        make_truth(t, numbers + v * pixels, fields, fields + pixels, image);
        check_values(t, got + v * pixels, image);
    }
    check_parts(t, qb__phase_scan(phase, scan), got, part);
    qb__phase_destroy(phase);
    qb_scan_close(scan);
    void *const all[] = {numbers, got, part, fields, image};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) qb__free(all[i]);
}

static char paganin[] = "5px";

static void transmissions_and_counts(void **state) {
    (void)state;
    check_trial(&(trial){37, 61, false, false, {.paganin = paganin}});
    check_trial(&(trial){24, 50, true, false, {.paganin = paganin, .paganin_kernel = QB_PAGANIN_GENERALISED}});
    check_trial(&(trial){2, 40, false, false, {.paganin = paganin, .unsharp = {2, {3, 1.5}}}});
}

static void pixels_without_a_value(void **state) {
    (void)state;
    check_trial(&(trial){40, 70, false, true, {.paganin = paganin}});
    check_trial(&(trial){31, 45, true, true, {.paganin = paganin}});
}

/* Three blocks of rows. */
static void several_planes(void **state) {
    (void)state;
    check_trial(&(trial){600, 12, true, true, {.paganin = paganin}});
}

static int group(const char *which) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(transmissions_and_counts),
                                       cmocka_unit_test(pixels_without_a_value), cmocka_unit_test(several_planes)};
    spec = which;
    return cmocka_run_group_tests_name(which, tests, NULL, NULL);
}

/* The argument names the only device to test. */
int main(int argc, char **argv) { return on_devices(argc > 1 ? argv[1] : NULL, group); }
