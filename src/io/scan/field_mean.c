/* SPDX-License-Identifier: MIT */
#include "io/scan/flat_series.h"

#include <float.h>
#include <math.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/share.h"
#include "base/sort.h"
#include "base/status.h"

enum {
    PIECE = 1 << 16 /* pixels of a task */,
    SAMPLE = 2048,
    LEAST = 2 /* frames from which on one value may be left out: of two the brighter one */
};
static const double far = 8; /* standard deviations: noise does not reach that in a billion pixels */

static qb_status clear_piece(void *context, size_t piece, size_t worker) {
    const qb__field_mean *m = context;
    const size_t end = qb__smaller(m->pixels, (piece + 1) * PIECE);
    (void)worker;
    for (size_t i = piece * PIECE; i < end; i++) {
        if (m->high) m->high[i] = -INFINITY;
        if (m->low) m->low[i] = INFINITY;
    }
    return QB_OK;
}

qb_status qb__field_mean_begin(qb__field_mean *m, size_t pixels, size_t frames, qb_dtype dtype, bool robust,
                               size_t threads) {
    *m = (qb__field_mean){.pixels = pixels, .frames = frames, .threads = threads, .top = qb__dtype_top(dtype)};
    const bool few = !robust || frames < LEAST;
    QB__OR_RETURN(qb__alloc(pixels, sizeof *m->sum, &m->sum));
    if (!few || isfinite(m->top)) QB__OR_RETURN(qb__alloc(pixels, sizeof *m->high, &m->high));
    if (!few) QB__OR_RETURN(qb__alloc(pixels, sizeof *m->low, &m->low));
    if (qb_dtype_is_float(dtype)) QB__OR_RETURN(qb__alloc(pixels, sizeof *m->lost, &m->lost));
    if (m->high) return qb__share(threads, qb__ceil_div(pixels, PIECE), clear_piece, m);
    return QB_OK;
}

void qb__field_mean_end(qb__field_mean *m) {
    QB__FREE(m->sum, m->high, m->low, m->lost);
    *m = (qb__field_mean){0};
}

void qb__field_mean_add(qb__field_mean *m, size_t first, size_t count, const float *values) {
    double *sum = m->sum + first; /* in double: the sum of many large counts is exact */
    float *high = m->high ? m->high + first : NULL, *low = m->low ? m->low + first : NULL;
    uint32_t *lost = m->lost ? m->lost + first : NULL;
    for (size_t i = 0; !lost && i < count; i++) sum[i] += values[i];
    for (size_t i = 0; lost && i < count; i++) {
        const bool finite = fabsf(values[i]) <= FLT_MAX;
        sum[i] += finite ? values[i] : 0;
        lost[i] += !finite;
    }
    /* NaN and infinity change neither; fmaxf() and fminf() would be calls */
    for (size_t i = 0; high && i < count; i++)
        high[i] = values[i] > high[i] && values[i] <= FLT_MAX ? values[i] : high[i];
    for (size_t i = 0; low && i < count; i++) low[i] = values[i] < low[i] && values[i] >= -FLT_MAX ? values[i] : low[i];
}

/* Number of frames with a finite value of the pixel. */
static size_t frames_of(const qb__field_mean *m, size_t i) { return m->frames - (m->lost ? m->lost[i] : 0); }

/* Usual distance of the largest from the smallest of so many values, in standard deviations. */
static double usual_range(size_t frames) {
    static const double few[] = {0, 0, 1.13, 1.69, 2.06, 2.33, 2.53, 2.70, 2.85, 2.97, 3.08};
    return frames <= 10 ? few[frames] : 3.08 + 0.6 * log2((double)frames / 10);
}

typedef struct noise {
    double sigma, level; /* noise and level of a usual pixel */
} noise;

static noise noise_of(const qb__field_mean *m) {
    const size_t count = qb__smaller(m->pixels, SAMPLE);
    double range[SAMPLE], level[SAMPLE];
    size_t good = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t at = (2 * i + 1) * m->pixels / (2 * count);
        if (frames_of(m, at) < m->frames) continue;
        range[good] = (double)m->high[at] - (double)m->low[at];
        level[good++] = m->sum[at] / (double)m->frames;
    }
    if (!good) return (noise){INFINITY, 1};
    return (noise){qb__median(range, good) / usual_range(m->frames), qb__median(level, good)};
}

/* Noise of counts grows with the root of the count; two steps of an integer are never an outlier. */
static double limit_of(const qb__field_mean *m, const noise *n, double rest) {
    const double brighter = n->level > 0 && rest > n->level ? rest / n->level : 1;
    return far * n->sigma * sqrt(brighter) + (isfinite(m->top) ? 2 : 1e-5 * fabs(rest));
}

/* The mean of one pixel; whether a value was left out, and whether it was the largest. */
static double mean_at(const qb__field_mean *m, const noise *n, size_t i, bool *out, bool *high_out) {
    const double sum = m->sum[i], frames = (double)frames_of(m, i);
    *out = *high_out = false;
    if (!m->low || frames < LEAST) return sum / frames; /* NaN if all values are missing */
    const double above = (sum - (double)m->high[i]) / (frames - 1), below = (sum - (double)m->low[i]) / (frames - 1);
    *high_out = (double)m->high[i] - above > limit_of(m, n, above);
    *out = *high_out || below - (double)m->low[i] > limit_of(m, n, below);
    return *high_out ? above : *out ? below : sum / frames;
}

/* For runs of pixels: (most - least) / mean, in which noise is nearly the same everywhere. `differ`: the 5 % and 95 %
 * levels over the runs. */
static void find_differences(const qb__field_mean *m, double level, double differ[2]) {
    enum { RUN = 16, LEAST_RUNS = 16 };
    const size_t runs = qb__smaller(m->pixels / RUN, SAMPLE);
    double share[SAMPLE];
    size_t good = 0;
    for (size_t r = 0; r < runs; r++) {
        const size_t first = r * (m->pixels / RUN) / runs * RUN;
        double range = 0, mean = 0;
        for (size_t i = first; i < first + RUN; i++) {
            range += (double)m->high[i] - (double)m->low[i];
            mean += m->sum[i] / (double)frames_of(m, i);
        }
        if (isfinite(range) && mean > 0.05 * RUN * level) share[good++] = range / mean;
    }
    if (good < LEAST_RUNS || !(level > 0)) return;
    qb__sort(share, good);
    differ[0] = share[good / 20];
    differ[1] = share[good - 1 - good / 20];
}

typedef struct taking {
    const qb__field_mean *m;
    noise noise;
    float *mean;
    qb__field_found *found; /* [piece] counts */
} taking;

static qb_status take_piece(void *context, size_t piece, size_t worker) {
    const taking *t = context;
    const qb__field_mean *m = t->m;
    const size_t end = qb__smaller(m->pixels, (piece + 1) * PIECE);
    qb__field_found *found = &t->found[piece];
    (void)worker;
    for (size_t i = piece * PIECE; i < end; i++) {
        bool out, high_out;
        t->mean[i] = (float)mean_at(m, &t->noise, i, &out, &high_out);
        found->left_out += out;
        if (m->lost && m->lost[i] && m->lost[i] < m->frames) found->missing++;
        if (!m->high || high_out || !(m->high[i] >= m->top)) continue;
        found->saturated++;
        t->mean[i] = NAN;
    }
    return QB_OK;
}

qb_status qb__field_mean_take(const qb__field_mean *m, float *mean, qb__field_found *found) {
    const size_t pieces = qb__ceil_div(m->pixels, PIECE);
    taking t = {.m = m, .noise = m->low ? noise_of(m) : (noise){0, 0}, .mean = mean};
    *found = (qb__field_found){.noise = m->low && isfinite(t.noise.sigma) ? t.noise.sigma : 0};
    if (m->low) find_differences(m, t.noise.level, found->differ);
    qb_status status = qb__alloc(pieces, sizeof *t.found, &t.found);
    if (status == QB_OK) status = qb__share(m->threads, pieces, take_piece, &t);
    for (size_t i = 0; status == QB_OK && i < pieces; i++) {
        found->left_out += t.found[i].left_out;
        found->missing += t.found[i].missing;
        found->saturated += t.found[i].saturated;
    }
    qb__free(t.found);
    return status;
}
