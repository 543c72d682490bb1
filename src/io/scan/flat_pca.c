/* SPDX-License-Identifier: MIT */
/* Dynamic flat fields (V. Van Nieuwenhove et al., Optics Express 23, 27975, 2015), first part: the principal components
 * of flats, scaled to one brightness, about their mean. Flats are divided by the mean flat, so that pixels have equal
 * weights. With more pixels than flats, photon noise gives all components about the same variance, which is their
 * median: a component with twice that variance is a change of the beam. */
#include "io/scan/flat_series.h"

#include <math.h>
#include <string.h>

#include "base/array.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/share.h"
#include "base/sort.h"
#include "base/status.h"
#include "quickbeam/io.h"

enum { LEAST = 5, MOST_MODES = 8, BLOCK = 64 << 20 /* bytes of all flats at a time */, SWEEPS = 60 };
static const float OFF = 0.25f; /* no beam changes by more: a zinger */
static const double NOISE = 2;  /* times the median variance */

typedef struct pca {
    const qb_scan *scan;
    const qb__frames *taken;
    size_t flats, columns, rows, pixels; /* largest number of pixels of a block */
    size_t first, count;                 /* first pixel and number of pixels of the block */
    char *raw;
    /* [flats][pixels] divided by the mean flat, scaled to one brightness, minus 1; 0 where that is dead */
    float *x;
    double *level; /* [flats] */
    double *gram;  /* [flats][flats] */
    double *vector, *value;
} pca;

static float beam_of(const qb_scan *scan, size_t pixel) {
    return scan->flat[pixel] - (scan->dark ? scan->dark[pixel] : 0);
}

/* Rows of all flats from pixel p->first on. */
static qb_status read_block(pca *p, const qb_env *env) {
    const qb_dtype dtype = p->taken->source->dtype;
    const size_t row = p->first / p->columns;
    qb_status status = qb__check_cancel(env);
    p->count = qb__smaller(p->pixels, p->rows * p->columns - p->first);
    for (size_t i = 0; i < p->flats && status == QB_OK; i++) {
        const qb__region region = {i, 1, 1, row, row + p->count / p->columns};
        float *x = p->x + i * p->pixels;
        status = qb__frames_read(p->taken, &region, p->raw);
        if (status != QB_OK) break;
        qb_convert_to_float(p->raw, dtype, p->count, x);
        for (size_t k = 0; k < p->count; k++) {
            const float beam = beam_of(p->scan, p->first + k);
            const float over = (x[k] - (p->scan->dark ? p->scan->dark[p->first + k] : 0)) / beam / (float)p->level[i];
            x[k] = beam > 0 && isfinite(over) ? fminf(fmaxf(over - 1, -OFF), OFF) : 0;
        }
    }
    return status;
}

static qb_status each_block(pca *p, const qb_env *env, void (*with)(pca *p)) {
    qb_status status = QB_OK;
    for (p->first = 0; p->first < p->rows * p->columns && status == QB_OK; p->first += p->pixels) {
        status = read_block(p, env);
        if (status == QB_OK) with(p);
    }
    return status;
}

/* ---- the variances ---- */

/* Add the brightness of the flats, which are not scaled to one brightness yet: value[i] sums the differences, vector[0]
 * the beam. */
static void add_levels(pca *p) {
    for (size_t k = 0; k < p->count; k++) {
        const float beam = beam_of(p->scan, p->first + k);
        if (!(beam > 0)) continue;
        p->vector[0] += (double)beam;
        for (size_t i = 0; i < p->flats; i++) p->value[i] += (double)beam * (double)p->x[i * p->pixels + k];
    }
}

static qb_status add_row(void *context, size_t i, size_t worker) {
    const pca *p = context;
    const float *a = p->x + i * p->pixels;
    (void)worker;
    for (size_t j = 0; j <= i; j++) {
        const float *b = p->x + j * p->pixels;
        double sum = 0;
        for (size_t k = 0; k < p->count; k++) sum += (double)a[k] * (double)b[k];
        p->gram[i * p->flats + j] += sum;
    }
    return QB_OK;
}

static void add_gram(pca *p) { qb__share(p->taken->source->threads, p->flats, add_row, p); }

/* Divide the sums by the number of pixels, and convert them to differences from the mean of all flats. */
static void centre(pca *p) {
    const size_t n = p->flats;
    double mean = 0, *row = p->value;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            p->gram[i * n + j] /= (double)(p->rows * p->columns);
            p->gram[j * n + i] = p->gram[i * n + j];
        }
    memset(row, 0, n * sizeof *row);
    for (size_t i = 0; i < n * n; i++) row[i / n] += p->gram[i] / (double)n;
    for (size_t i = 0; i < n; i++) mean += row[i] / (double)n;
    for (size_t i = 0; i < n * n; i++) p->gram[i] += mean - row[i / n] - row[i % n];
}

/* One Jacobi rotation in the plane of a and b. */
static void rotate(pca *p, size_t a, size_t b) {
    const size_t n = p->flats;
    double *g = p->gram, *v = p->vector;
    if (g[a * n + b] == 0) return;
    const double theta = (g[b * n + b] - g[a * n + a]) / (2 * g[a * n + b]);
    const double t = (theta < 0 ? -1 : 1) / (fabs(theta) + sqrt(theta * theta + 1)), c = 1 / sqrt(t * t + 1), s = t * c;
    for (size_t k = 0; k < n; k++) {
        const double x = g[k * n + a], y = g[k * n + b];
        g[k * n + a] = c * x - s * y, g[k * n + b] = s * x + c * y;
    }
    for (size_t k = 0; k < n; k++) {
        const double x = g[a * n + k], y = g[b * n + k];
        g[a * n + k] = c * x - s * y, g[b * n + k] = s * x + c * y;
    }
    for (size_t k = 0; k < n; k++) {
        const double x = v[k * n + a], y = v[k * n + b];
        v[k * n + a] = c * x - s * y, v[k * n + b] = s * x + c * y;
    }
}

/* Compute the eigenvalues value[i] and eigenvectors vector[][i] of the matrix. */
static void diagonalise(pca *p) {
    const size_t n = p->flats;
    for (size_t i = 0; i < n * n; i++) p->vector[i] = i / n == i % n;
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        double off = 0, all = 0;
        for (size_t i = 0; i < n * n; i++) {
            all += p->gram[i] * p->gram[i];
            off += i / n != i % n ? p->gram[i] * p->gram[i] : 0;
        }
        if (!(off > 1e-24 * all)) break;
        for (size_t a = 0; a + 1 < n; a++)
            for (size_t b = a + 1; b < n; b++) rotate(p, a, b);
    }
    for (size_t i = 0; i < n; i++) p->value[i] = p->gram[i * n + i];
}

/* Choose the largest components above noise. `sorted` is scratch for all. One of the variances is 0, that of the
 * mean. */
static size_t choose(const pca *p, double *sorted, size_t chosen[MOST_MODES]) {
    const size_t n = p->flats;
    size_t count = 0;
    memcpy(sorted, p->value, n * sizeof *sorted);
    qb__sort(sorted, n);
    const double usual = sorted[n / 2];
    for (size_t k = n; k-- > 0 && count < MOST_MODES && sorted[k] > NOISE * usual && sorted[k] > 1e-12;)
        for (size_t i = 0; i < n; i++)
            if (p->value[i] == sorted[k]) {
                chosen[count++] = i;
                break;
            }
    return count;
}

/* ---- the modes ---- */

/* Make the modes, scaled to a root mean square of 1. */
static qb_status make_modes(pca *p, const size_t *chosen, qb__drift *drift, const qb_env *env) {
    qb_status status = qb__alloc(drift->modes * drift->pixels, sizeof(float), &drift->mode);
    for (p->first = 0; p->first < drift->pixels && status == QB_OK; p->first += p->pixels) {
        status = read_block(p, env);
        for (size_t m = 0; m < drift->modes && status == QB_OK; m++) {
            float *mode = drift->mode + m * drift->pixels + p->first;
            const double scale = 1 / sqrt(p->value[chosen[m]]);
            for (size_t i = 0; i < p->flats; i++) {
                const float v = (float)(p->vector[i * p->flats + chosen[m]] * scale);
                const float *x = p->x + i * p->pixels;
                for (size_t k = 0; k < p->count; k++) mode[k] += v * x[k];
            }
        }
    }
    return status;
}

static qb_status find_levels(pca *p, const qb_env *env) {
    for (size_t i = 0; i < p->flats; i++) p->level[i] = 1;
    const qb_status status = each_block(p, env, add_levels);
    for (size_t i = 0; i < p->flats && status == QB_OK; i++)
        p->level[i] = 1 + (p->vector[0] > 0 ? p->value[i] / p->vector[0] : 0);
    return status;
}

qb_status qb__flat_pca_modes(const qb_scan *scan, const qb__frames *taken, const qb_env *env, qb__drift *drift,
                             double *level) {
    const size_t n = taken->count, rows = scan->info.rows, columns = scan->info.columns;
    pca p = {.scan = scan, .taken = taken, .flats = n, .columns = columns, .rows = rows, .level = level};
    size_t chosen[MOST_MODES];
    double *sorted = NULL, found = 0, all = 0;
    qb_status status;
    if (n < LEAST)
        return qb__fail(QB_BAD_ARGUMENT,
                        "--flat-fields pca: %zu flats do not tell changes of the beam from noise: %d do", n, LEAST);
    p.pixels = columns * qb__smaller(rows, qb__larger(1, BLOCK / (n * columns * sizeof(float))));
    QB__TRY(qb__alloc(p.pixels, qb_dtype_size(taken->source->dtype), &p.raw));
    QB__TRY(qb__alloc(n * p.pixels, sizeof *p.x, &p.x));
    QB__TRY(qb__alloc(n * n, sizeof *p.gram, &p.gram));
    QB__TRY(qb__alloc(n * n, sizeof *p.vector, &p.vector));
    QB__TRY(qb__alloc(n, sizeof *p.value, &p.value));
    QB__TRY(qb__alloc(n, sizeof *sorted, &sorted));
    QB__TRY(find_levels(&p, env));
    QB__TRY(each_block(&p, env, add_gram));
    centre(&p);
    diagonalise(&p);
    drift->modes = choose(&p, sorted, chosen);
    drift->pixels = rows * columns, drift->columns = columns;
    QB__TRY(make_modes(&p, chosen, drift, env));
    for (size_t i = 0; i < n; i++) all += p.value[i];
    for (size_t m = 0; m < drift->modes; m++) found += p.value[chosen[m]];
    qb__print(drift->text, sizeof drift->text, "%zu principal components of %zu flats, %.3g %% of their variance",
              drift->modes, n, all > 0 ? 100 * found / all : 0);
out:
    QB__FREE(p.raw, p.x, p.gram, p.vector, p.value, sorted);
    return status;
}
