/* SPDX-License-Identifier: MIT */
/* Estimates the noise of line integrals from their differences, and finds sigma_y for it. */
#include "recon/mbir/mbir.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/status.h"

/* ---- noise ---- */

typedef struct differences {
    uint64_t seen[QB__SIZE_BINS + 1], count;
} differences;

typedef struct looking {
    const float *lines, *weights;
    const size_t *order; /* numbers of three views: the one before, the current one, the one after */
    size_t columns;
    double limit, least; /* larger values than `limit` are outliers; values above `least` have met the object */
    differences met, air;
} looking;

static bool counts(const looking *l, size_t at) { return l->weights[at] > 0 && fabs((double)l->lines[at]) <= l->limit; }

/* Add a difference of nine rays. Their mean, which the difference does not depend on, decides whether they have met the
 * object. */
static void look_at(looking *l, size_t column) {
    static const float times[3] = {1, -2, 1};
    const float length = 6; /* Euclidean norm of the nine coefficients */
    const size_t middle = l->order[1] * l->columns + column;
    double mean = 0;
    float sum = 0;
    for (size_t v = 0; v < 3; v++)
        for (size_t i = 0; i < 3; i++) {
            const size_t at = l->order[v] * l->columns + column + i - 1;
            if (!counts(l, at)) return;
            sum += times[v] * times[i] * l->lines[at];
            mean += (double)l->lines[at] / 9;
        }
    const bool met = mean > l->least;
    differences *d = met ? &l->met : &l->air;
    d->seen[qb__size_bin(met ? sum * sqrtf(l->weights[middle]) / length : sum / length)]++;
    d->count++;
}

static double noise_of(const differences *d) {
    /* quartile of the absolute values of a normal distribution, in units of sigma */
    static const double quarter = 0.31864;
    uint64_t below = 0;
    size_t bin = 0;
    while (bin < QB__SIZE_BINS && below + d->seen[bin] <= d->count / 4) below += d->seen[bin++];
    return d->count ? qb__size_of_bin(bin) / quarter : 0;
}

/* Mean absolute value of the weighted line integrals; *grown: mean of w e^y behind the object. */
static double mean_size(const looking *l, size_t count, double *grown) {
    double mean = 0, measured = 0, sum = 0, met = 0;
    for (size_t i = 0; i < count; i++) {
        if (!counts(l, i)) continue;
        mean += fabs((double)l->lines[i]);
        measured++;
    }
    mean /= measured > 0 ? measured : 1;
    for (size_t i = 0; i < count; i++) {
        if (!counts(l, i) || !((double)l->lines[i] > 0.05 * mean)) continue;
        sum += (double)l->weights[i] * exp((double)l->lines[i]);
        met++;
    }
    *grown = met > 0 ? sum / met : 0;
    return mean;
}

double qb__mbir_noise(const float *lines, const float *weights, size_t sinograms, size_t views, size_t columns,
                      const size_t *order, double limit, bool photons) {
    enum { ENOUGH = 256 };
    looking l = {.lines = lines, .weights = weights, .columns = columns, .limit = limit};
    double grown;
    l.least = 0.05 * mean_size(&l, sinograms * views * columns, &grown);
    for (size_t s = 0; s < sinograms; s++) {
        l.lines = lines + s * views * columns;
        l.weights = weights + s * views * columns;
        for (size_t v = 0; v + 2 < views; v++)
            for (size_t c = 1; c + 1 < columns; c++) {
                l.order = order + v;
                look_at(&l, c);
            }
    }
    const double noise = noise_of(&l.met);
    return photons && l.air.count >= ENOUGH ? fmin(noise, noise_of(&l.air) * sqrt(grown)) : noise;
}

/* ---- result ---- */

double qb__mbir_sigma_y(double noise, double information, double prior, bool cone) {
    static const double free = 3;
    const double smooth = cone ? 5.8 : 5, power = cone ? 0.25 : 0.6;
    const double seen = information * prior * prior;
    return seen > 0 ? sqrt(smooth * seen * pow(1 + noise * noise / (free * seen), power)) : noise;
}

typedef struct around {
    double angle;
    size_t view;
} around;

static int by_angle(const void *a, const void *b) {
    const around *l = a, *r = b;
    if (l->angle != r->angle) return l->angle < r->angle ? -1 : 1;
    return l->view < r->view ? -1 : 1;
}

/* Range of the directions of rays, which repeat after half a turn. A gap counts as at most FEW average steps, because
 * the rest of it was not measured. */
static double covered(around *sorted, size_t count) {
    enum { FEW = 5 };
    const double most = FEW * M_PI / (double)count;
    double sum = 0;
    for (size_t v = 0; v < count; v++) {
        const double angle = fmod(sorted[v].angle + M_PI, M_PI);
        sorted[v] = (around){angle, v};
    }
    qsort(sorted, count, sizeof *sorted, by_angle);
    for (size_t v = 0; v + 1 < count; v++) sum += fmin(sorted[v + 1].angle - sorted[v].angle, most);
    return sum + fmin(sorted[0].angle + M_PI - sorted[count - 1].angle, most);
}

qb_status qb__mbir_views_around(const qb__mbir *m, double *views, size_t *order) {
    const size_t count = m->geometry.views;
    around *sorted;
    const qb_status status = qb__alloc(count, sizeof *sorted, &sorted);
    if (status != QB_OK) return status;
    for (size_t v = 0; v < count; v++) {
        /* the direction from the source, which lies along the rays, too */
        const double *along = m->geometry.view[v].source;
        sorted[v] = (around){atan2(along[1], along[0]), v};
    }
    qsort(sorted, count, sizeof *sorted, by_angle);
    for (size_t v = 0; v < count; v++) order[v] = sorted[v].view;
    *views = (double)count * M_PI / fmin(covered(sorted, count), M_PI);
    qb__free(sorted);
    return status;
}
