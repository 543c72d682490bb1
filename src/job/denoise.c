/* SPDX-License-Identifier: MIT */
#include "job/volume_out.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/sort.h"
#include "base/status.h"

enum { WINDOW_MOST = 31 };
/* REACH is in sigmas: weights farther away are less than 1e-4 */
static const double SIGMA_LEAST = 0.2, SIGMA_MOST = 50, REACH = 4;

qb_status qb__denoise_parse(const char *text, qb__denoise *denoise) {
    static const char gaussian[] = "gaussian:", median[] = "median:";
    char *end = NULL;
    *denoise = (qb__denoise){0};
    if (!text || strcmp(text, "none") == 0) return QB_OK;
    if (strncmp(text, gaussian, strlen(gaussian)) == 0) {
        denoise->sigma = qb__strtod(text + strlen(gaussian), &end);
        if (!*end && denoise->sigma >= SIGMA_LEAST && denoise->sigma <= SIGMA_MOST) return QB_OK;
    } else if (strncmp(text, median, strlen(median)) == 0) {
        const double window = qb__strtod(text + strlen(median), &end);
        denoise->window = window >= 3 && window <= WINDOW_MOST ? (size_t)window : 0;
        if (!*end && (double)denoise->window == window && denoise->window % 2 == 1) return QB_OK;
    }
    return qb__fail(QB_BAD_ARGUMENT,
                    "--denoise %s: give gaussian:SIGMA from %g to %g voxels, or median:N, odd, from 3 to %d", text,
                    SIGMA_LEAST, SIGMA_MOST, WINDOW_MOST);
}

static size_t reach_of(const qb__denoise *d) { return d->sigma > 0 ? (size_t)ceil(REACH * d->sigma) : d->window / 2; }

size_t qb__denoise_bytes(const qb__denoise *d, size_t nx, size_t ny) {
    if (!(d->sigma > 0) && !d->window) return 0;
    return (nx * ny + 4 * (reach_of(d) + 1) + d->window * d->window) * sizeof(float);
}

/* Index of pixel i of n; beyond the ends the image is mirrored at the outer edges of its outermost pixels. */
static size_t mirror(long i, size_t n) {
    const long period = 2 * (long)n, at = ((i % period) + period) % period;
    return (size_t)(at < (long)n ? at : period - 1 - at);
}

/* Filter one line of n values with the given stride, from `in` to `out`. */
static void blur(const double *weight, size_t reach, const float *in, size_t n, size_t stride, float *out) {
    for (size_t i = 0; i < n; i++) {
        double sum = 0, weights = 0;
        for (long k = -(long)reach; k <= (long)reach; k++) {
            const double v = in[mirror((long)i + k, n) * stride], w = weight[k < 0 ? -k : k];
            if (isfinite(v)) sum += w * v, weights += w;
        }
        out[i * stride] = isfinite(in[i * stride]) && weights > 0 ? (float)(sum / weights) : in[i * stride];
    }
}

static void gaussian(const qb__denoise *d, float *image, size_t nx, size_t ny, float *between, double *weight) {
    const size_t reach = reach_of(d);
    for (size_t k = 0; k <= reach; k++) weight[k] = exp(-0.5 * (double)(k * k) / (d->sigma * d->sigma));
    for (size_t y = 0; y < ny; y++) blur(weight, reach, image + y * nx, nx, 1, between + y * nx);
    for (size_t x = 0; x < nx; x++) blur(weight, reach, between + x, ny, nx, image + x);
}

static float median_at(const qb__denoise *d, const float *image, size_t nx, size_t ny, size_t x, size_t y,
                       float *list) {
    const long half = (long)(d->window / 2);
    size_t n = 0;
    for (long j = -half; j <= half; j++)
        for (long i = -half; i <= half; i++) {
            const float v = image[mirror((long)y + j, ny) * nx + mirror((long)x + i, nx)];
            if (isfinite(v)) list[n++] = v;
        }
    qb__sort_floats(list, n);
    return n % 2 ? list[n / 2] : 0.5f * (list[n / 2 - 1] + list[n / 2]);
}

static void median(const qb__denoise *d, float *image, size_t nx, size_t ny, float *from, float *list) {
    memcpy(from, image, nx * ny * sizeof *from);
    for (size_t y = 0; y < ny; y++)
        for (size_t x = 0; x < nx; x++)
            if (isfinite(from[y * nx + x])) image[y * nx + x] = median_at(d, from, nx, ny, x, y, list);
}

qb_status qb__denoise_image(const qb__denoise *d, float *image, size_t nx, size_t ny) {
    float *other = NULL;
    double *more = NULL; /* weights, or values of the window */
    qb_status status;
    if (!(d->sigma > 0) && !d->window) return QB_OK;
    QB__TRY(qb__alloc(nx * ny, sizeof *other, &other));
    QB__TRY(qb__alloc(reach_of(d) + 1 + d->window * d->window, sizeof *more, &more));
    if (d->sigma > 0)
        gaussian(d, image, nx, ny, other, more);
    else
        median(d, image, nx, ny, other, (float *)more);
out:
    QB__FREE(other, more);
    return status;
}
