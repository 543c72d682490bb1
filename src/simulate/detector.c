/* SPDX-License-Identifier: MIT */
#include "simulate/detector.h"

#include <math.h>

#include "base/memory.h"
#include "base/status.h"

#define READ_NOISE 4.0 /* variance in counts */
#define PEDESTAL 96
#define CEILING 65535.0
#define HEADROOM 1.25 /* brightest pixel over the nominal one, with noise */
#define FAULTY 0.1    /* share of faulty columns */

/* Streams of random numbers for fixed patterns; frames are numbered by enum qb__simulated_frame. */
enum { PATTERN_PIXEL = 3, PATTERN_COLUMN, PATTERN_DARK };

static uint64_t stream_seed(uint64_t seed, int kind) { return seed * 8 + (uint64_t)kind; }

static double normal(qb__random *random) {
    double radius = sqrt(-2 * log(qb__random_unit(random)));
    return radius * cos(2 * M_PI * qb__random_unit(random));
}

/* ---- Poisson ---- */

static double by_inversion(qb__random *random, double mean) {
    double left = qb__random_unit(random), term = exp(-mean), k = 0;
    while (left > term && k < 200) {
        left -= term;
        term *= mean / ++k;
    }
    return k;
}

static double log_factorial(double k) {
    int sign; /* lgamma() would store the sign in a global variable */
    return lgamma_r(k + 1, &sign);
}

static double by_rejection(qb__random *random, double mean) {
    double b = 0.931 + 2.53 * sqrt(mean), a = -0.059 + 0.02483 * b;
    double inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), edge = 0.9277 - 3.6224 / (b - 2);
    for (;;) {
        double u = qb__random_unit(random) - 0.5, v = qb__random_unit(random);
        double s = 0.5 - fabs(u), k = floor((2 * a / s + b) * u + mean + 0.43);
        if (s >= 0.07 && v <= edge) return k;
        if (k < 0 || (s < 0.013 && v > s)) continue;
        double limit = k * log(mean) - mean - log_factorial(k);
        if (log(v * inverse_alpha / (a / (s * s) + b)) <= limit) return k;
    }
}

double qb__poisson(qb__random *random, double mean) {
    if (!(mean > 0)) return 0;
    return mean < 10 ? by_inversion(random, mean) : by_rejection(random, mean);
}

/* ---- the detector ---- */

double qb__across(double index, size_t count) { return count > 1 ? 2 * index / (double)(count - 1) - 1 : 0; }

double qb__beam(double x, double y) {
    return 1.05 - 0.22 * (x - 0.15) * (x - 0.15) - 0.12 * (y + 0.1) * (y + 0.1) + 0.02 * sin(5 * x + 3 * y);
}

static void paint_profile(qb__detector *d) {
    for (size_t i = 0; i < d->rows * d->columns; i++) {
        double x = qb__across((double)(i % d->columns), d->columns), y = qb__across((double)(i / d->columns), d->rows);
        double beam = qb__beam(x, y);
        qb__random random = qb__random_stream(stream_seed(d->seed, PATTERN_PIXEL), i);
        d->profile[i] = (float)(beam * (1 + 0.01 * normal(&random)));
    }
}

static void draw_faults(qb__detector *d, double rings) {
    for (size_t c = 0; c < d->columns; c++) {
        qb__random random = qb__random_stream(stream_seed(d->seed, PATTERN_COLUMN), c);
        bool faulty = qb__random_unit(&random) < FAULTY;
        d->fault[c] = faulty ? (float)fmax(0, 1 + rings * normal(&random)) : 1;
    }
}

qb_status qb__detector_create(size_t rows, size_t columns, double photons, double rings, uint64_t seed,
                              qb__detector *detector) {
    *detector = (qb__detector){.rows = rows, .columns = columns, .photons = photons, .gain = 1, .seed = seed};
    double room = CEILING - PEDESTAL - READ_NOISE;
    if (photons * HEADROOM > room) detector->gain = room / (photons * HEADROOM);
    qb_status status;
    size_t pixels;
    if (!qb__mul(rows, columns, 1, &pixels))
        return qb__fail(QB_NO_MEMORY, "a detector of %zu x %zu is too large", columns, rows);
    QB__TRY(qb__alloc(columns, sizeof(float), &detector->fault));
    draw_faults(detector, rings);
    if (photons > 0) {
        QB__TRY(qb__alloc(pixels, sizeof(float), &detector->profile));
        paint_profile(detector);
    }
out:
    if (status != QB_OK) qb__detector_destroy(detector);
    return status;
}

void qb__detector_destroy(qb__detector *detector) {
    if (!detector) return;
    QB__FREE(detector->profile, detector->fault);
    *detector = (qb__detector){0};
}

/* Fixed pattern of a pixel, -4..4. */
static int dark_pattern(const qb__detector *d, size_t pixel) {
    qb__random random = qb__random_stream(stream_seed(d->seed, PATTERN_DARK), pixel);
    return (int)(qb__random_bits(&random) % 9) - 4;
}

size_t qb__detector_expose(const qb__detector *d, enum qb__simulated_frame kind, size_t frame, size_t row,
                           const double *transmission, uint16_t *out) {
    size_t clipped = 0;
    uint64_t seed = stream_seed(d->seed, kind);
    for (size_t c = 0; c < d->columns; c++) {
        size_t pixel = row * d->columns + c;
        qb__random random = qb__random_stream(seed, (uint64_t)frame * d->rows * d->columns + pixel);
        double mean = kind == QB__FRAME_DARK ? 0 : d->photons * d->profile[pixel];
        if (kind == QB__FRAME_VIEW) mean *= d->fault[c] * transmission[c];
        if (kind == QB__FRAME_FLAT && transmission) mean *= transmission[c];
        double drawn = d->gain * qb__poisson(&random, mean + READ_NOISE / d->gain);
        double counts = floor(drawn + 0.5) + PEDESTAL + dark_pattern(d, pixel);
        clipped += counts > CEILING;
        out[c] = (uint16_t)fmin(counts, CEILING);
    }
    return clipped;
}
