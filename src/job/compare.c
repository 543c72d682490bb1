/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/array.h"
#include "base/caller.h"
#include "base/memory.h"
#include "base/status.h"
#include "quickbeam/compare.h"
#include "quickbeam/io.h"

enum { WINDOW = 7, SUMS = 5 }; /* a, b, aa, bb, ab */

/* Structural similarity (Wang, Bovik, Sheikh, Simoncelli 2004) with a uniform window: returns the sum over all windows
 * inside image[ny][nx]; *windows is their number. Windows are 7x7, or smaller for a smaller image; K1 = 0.01, K2 =
 * 0.03, sample covariances, the defaults of scikit-image. `level` is subtracted before squaring to avoid cancellation:
 * use a value near the data's mean. scratch: qb__ssim_scratch(nx) doubles. */
static size_t qb__ssim_scratch(size_t nx) { return SUMS * nx; }

/* Sums of every column over `height` rows. Recomputed for each row of windows, so that rounding errors do not add
 * up. */
static void sum_columns(const float *a, const float *b, size_t nx, size_t height, double level, double *sums) {
    memset(sums, 0, SUMS * nx * sizeof *sums);
    for (size_t y = 0; y < height; y++) {
        for (size_t x = 0; x < nx; x++) {
            double p = a[y * nx + x] - level, q = b[y * nx + x] - level;
            sums[x] += p;
            sums[nx + x] += q;
            sums[2 * nx + x] += p * p;
            sums[3 * nx + x] += q * q;
            sums[4 * nx + x] += p * q;
        }
    }
}

/* A denominator near zero means two constant images, which are equal. */
static double similarity(const double sum[SUMS], double pixels, double range, double level) {
    double ua = sum[0] / pixels, ub = sum[1] / pixels;
    double unbiased = pixels > 1 ? 1 / (pixels - 1) : 0;
    double va = (sum[2] - sum[0] * ua) * unbiased, vb = (sum[3] - sum[1] * ub) * unbiased;
    double vab = (sum[4] - sum[0] * ub) * unbiased;
    ua += level;
    ub += level;
    double c1 = 0.01 * range * 0.01 * range, c2 = 0.03 * range * 0.03 * range;
    double above = (2 * ua * ub + c1) * (2 * vab + c2);
    double below = (ua * ua + ub * ub + c1) * (va + vb + c2);
    return below > 0 ? above / below : above == below;
}

static double ssim_sum(const float *a, const float *b, size_t nx, size_t ny, double range, double level,
                       double *scratch, size_t *windows) {
    size_t width = nx < WINDOW ? nx : WINDOW, height = ny < WINDOW ? ny : WINDOW;
    double total = 0, pixels = (double)(width * height);
    for (size_t y = 0; y + height <= ny; y++) {
        sum_columns(a + y * nx, b + y * nx, nx, height, level, scratch);
        for (size_t x = 0; x + width <= nx; x++) {
            double sum[SUMS] = {0};
            for (size_t i = 0; i < width; i++) {
                for (size_t k = 0; k < SUMS; k++) sum[k] += scratch[k * nx + x + i];
            }
            total += similarity(sum, pixels, range, level);
        }
    }
    *windows = (nx - width + 1) * (ny - height + 1);
    return total;
}

/* Two arrays, read image by image as float; float arrays are not copied. */
typedef struct pair {
    const qb_array *array[2];
    float *buffer[2]; /* NULL for a float array */
    size_t nx, ny, images;
} pair;

static const float *image(const pair *two, int which, size_t index) {
    const qb_array *array = two->array[which];
    size_t count = two->nx * two->ny;
    const char *data = (const char *)array->data + index * count * qb_dtype_size(array->dtype);
    if (!two->buffer[which]) return (const float *)data;
    qb_convert_to_float(data, array->dtype, count, two->buffer[which]);
    return two->buffer[which];
}

static qb_status refuse_values(const qb_array *array, const char *which, size_t bad, size_t first) {
    size_t nx = array->shape[2], ny = array->shape[1];
    return qb__fail(QB_BAD_INPUT, "%zu of %zu values of the %s array are not finite, the first at [%zu][%zu][%zu]", bad,
                    qb_array_count(array), which, first / nx / ny, first / nx % ny, first % nx);
}

static qb_status check_finite(const pair *two, int which) {
    size_t bad = 0, first = 0, count = two->nx * two->ny;
    for (size_t i = 0; i < two->images; i++) {
        const float *values = image(two, which, i);
        for (size_t k = 0; k < count; k++) {
            if (isfinite(values[k])) continue;
            if (bad++ == 0) first = i * count + k;
        }
    }
    if (!bad) return QB_OK;
    return refuse_values(two->array[which], which ? "second" : "first", bad, first);
}

typedef struct sums {
    double mean_a, mean_b, low, high; /* low, high of b */
    double aa, bb, ab;                /* relative to the means */
    double b2, error2, max_abs;
} sums;

static void add_means(const float *a, const float *b, size_t count, sums *s) {
    for (size_t k = 0; k < count; k++) {
        s->mean_a += a[k];
        s->mean_b += b[k];
        s->low = fmin(s->low, b[k]);
        s->high = fmax(s->high, b[k]);
    }
}

static void add_moments(const float *a, const float *b, size_t count, sums *s) {
    for (size_t k = 0; k < count; k++) {
        double p = a[k] - s->mean_a, q = b[k] - s->mean_b, error = (double)a[k] - b[k];
        s->aa += p * p;
        s->bb += q * q;
        s->ab += p * q;
        s->b2 += (double)b[k] * b[k];
        s->error2 += error * error;
        s->max_abs = fmax(s->max_abs, fabs(error));
    }
}

static sums measure(const pair *two) {
    sums s = {.low = INFINITY, .high = -INFINITY};
    size_t count = two->nx * two->ny;
    for (size_t i = 0; i < two->images; i++) add_means(image(two, 0, i), image(two, 1, i), count, &s);
    s.mean_a /= (double)(count * two->images);
    s.mean_b /= (double)(count * two->images);
    for (size_t i = 0; i < two->images; i++) add_moments(image(two, 0, i), image(two, 1, i), count, &s);
    return s;
}

static double mean_ssim(const pair *two, const sums *s, double *scratch) {
    double total = 0;
    size_t windows = 0;
    for (size_t i = 0; i < two->images; i++)
        total += ssim_sum(image(two, 0, i), image(two, 1, i), two->nx, two->ny, s->high - s->low, s->mean_b, scratch,
                          &windows);
    return total / ((double)windows * (double)two->images);
}

/* Divisions by zero give NaN or infinity on purpose: equal arrays have psnr +infinity. */
static void derive(const sums *s, double count, qb_comparison *result) {
    double mse = s->error2 / count, range = s->high - s->low;
    result->rmse = sqrt(mse);
    result->max_abs = s->max_abs;
    result->rel_l2 = s->error2 > 0 ? sqrt(s->error2 / s->b2) : 0;
    result->psnr_db = mse > 0 ? 10 * log10(range * range / mse) : INFINITY;
    result->slope = s->bb > 0 ? s->ab / s->bb : NAN;
    result->correlation = s->aa > 0 && s->bb > 0 ? s->ab / (sqrt(s->aa) * sqrt(s->bb)) : NAN;
}

static qb_status check_shapes(const qb_array *a, const qb_array *b) {
    const size_t *p = a->shape, *q = b->shape;
    if (p[0] != q[0] || p[1] != q[1] || p[2] != q[2])
        return qb__fail(QB_BAD_INPUT, "the shapes differ: %zu x %zu x %zu and %zu x %zu x %zu", p[0], p[1], p[2], q[0],
                        q[1], q[2]);
    if (qb_array_count(a) == 0) return qb__fail(QB_BAD_INPUT, "the arrays are empty");
    return QB_OK;
}

static qb_status compare(const qb_array *a, const qb_array *b, qb_comparison *result) {
    pair two = {.array = {a, b}, .images = a->shape[0], .ny = a->shape[1], .nx = a->shape[2]};
    double *scratch = NULL;
    qb_status status;
    QB__TRY(check_shapes(a, b));
    for (int i = 0; i < 2; i++) {
        if (two.array[i]->dtype != QB_F32) QB__TRY(qb__alloc(two.nx * two.ny, sizeof(float), &two.buffer[i]));
        QB__TRY(check_finite(&two, i));
    }
    QB__TRY(qb__alloc(qb__ssim_scratch(two.nx), sizeof *scratch, &scratch));
    sums s = measure(&two);
    derive(&s, (double)qb_array_count(a), result);
    result->ssim = mean_ssim(&two, &s, scratch);
out:
    QB__FREE(two.buffer[0], two.buffer[1], scratch);
    return status;
}

enum { FIRST_RESULT = sizeof(qb_comparison) }; /* size of the first version */

qb_status qb_compare(const qb_array *a, const qb_array *b, qb_comparison *result) {
    QB__NEED(a);
    QB__NEED(b);
    QB__NEED(result);
    qb_comparison found = {0};
    qb_status status = qb__result_check(result, FIRST_RESULT, "qb_comparison");
    if (status == QB_OK) status = qb__array_check(a, "the first array");
    if (status == QB_OK) status = qb__array_check(b, "the second array");
    if (status != QB_OK) return status;
    status = compare(a, b, &found);
    qb__result_give(&found, sizeof found, FIRST_RESULT, result);
    return status;
}
