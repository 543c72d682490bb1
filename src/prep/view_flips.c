/* SPDX-License-Identifier: MIT */
#include "prep/view_steps.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/squares.h"

qb_status qb__view_flips_create(size_t rows, size_t bins, qb__view_flips *flips) {
    *flips = (qb__view_flips){.rows = rows, .bins = bins};
    qb_status status = qb__alloc(rows * bins, sizeof *flips->last, &flips->last);
    return status == QB_OK ? qb__alloc(bins, sizeof *flips->mirror, &flips->mirror) : status;
}

void qb__view_flips_clear(qb__view_flips *flips) {
    QB__FREE(flips->last, flips->mirror);
    flips->last = flips->mirror = NULL;
}

void qb__view_flips_add(qb__view_flips *flips, const float *line) {
    double next = 0, flipped = 0;
    for (size_t r = 0; r < flips->rows && flips->views; r++) {
        const float *last = flips->last + r * flips->bins, *now = line + r * flips->bins;
        for (size_t b = 0; b < flips->bins; b++) flips->mirror[b] = now[flips->bins - 1 - b];
        next += qb__squares_between(last, now, flips->bins);
        flipped += qb__squares_between(last, flips->mirror, flips->bins);
    }
    memcpy(flips->last, line, flips->rows * flips->bins * sizeof *line);
    flips->next += next, flips->flipped += flipped;
    flips->gain[0] += next - flipped, flips->gain[1] += (next - flipped) * (next - flipped);
    flips->views++;
}

double qb__view_flips_judge(const qb__view_flips *flips, double noise) {
    enum { FEWEST = 12 };
    const double LESS = 0.75, SURE = 4;
    if (flips->views <= FEWEST) return 0;
    const double pairs = (double)flips->views - 1, mean = flips->gain[0] / pairs;
    const double error = sqrt(fmax(flips->gain[1] / pairs - mean * mean, 0) / pairs);
    const double still = pairs * (double)(flips->rows * flips->bins) * noise * noise;
    const double next = flips->next - still, flipped = fmax(flips->flipped - still, 1e-3 * next);
    return mean > SURE * error && next > 0 && flipped < LESS * next ? sqrt(next / flipped) : 0;
}
