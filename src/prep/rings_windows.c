/* SPDX-License-Identifier: MIT */
/* Means over overlapping windows of views, each weighted by a raised cosine: what moves across a column in that time leaves next
 * to nothing of itself, since the window has no edges; a stripe stays as it is. */
#include <math.h>
#include <string.h>

#include "prep/rings.h"

void qb__rings_windows(qb__rings_row *row) {
    const size_t n = row->columns;
    const double half = (double)(row->views - 1) / (double)(row->windows + 1);
    memset(row->window, 0, row->windows * n * sizeof *row->window);
    for (size_t w = 0; w < row->windows; w++) {
        const double centre = half * (double)(w + 1);
        double *mean = row->window + w * n, sum = 0;
        for (size_t v = 0; v < row->views; v++) {
            const double far = fabs((double)v - centre) / half;
            if (far >= 1) continue;
            const double weight = 0.5 + 0.5 * cos(M_PI * far);
            const float *line = row->lines + v * n;
            sum += weight;
            for (size_t c = 0; c < n; c++) mean[c] += weight * (double)line[c];
        }
        for (size_t c = 0; c < n; c++) mean[c] /= sum;
    }
}

void qb__rings_mean(const qb__rings_row *row, double *mean) {
    const size_t n = row->columns;
    for (size_t c = 0; c < n; c++) {
        double sum = 0;
        for (size_t b = 0; b < row->blocks; b++) sum += row->means[b * n + c];
        mean[c] = sum / (double)row->blocks - row->stripe[c];
    }
}
