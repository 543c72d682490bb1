/* SPDX-License-Identifier: MIT */
/* Noise is measured by second differences of transmissions t along a row,
 *   d = t[c-1] - 2 t[c] + t[c+1],
 * which remove most of a smooth object and the pattern of the detector's pixels. d has six times the variance of a
 * transmission. Medians remove the effect of a few edges and zingers. */
#include "prep/neighbours_parts.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/status.h"
#include "quickbeam/io.h"

enum { VIEWS = 24, ROWS = 4, SAMPLES = 1 << 15, LEAST = 64 };

typedef struct sample {
    double level, square;
} sample;

typedef struct samples {
    sample *of;
    size_t count, step; /* every step-th column is used */
    float *line;
    char *raw;
} samples;

static int by_level(const void *a, const void *b) {
    const double x = ((const sample *)a)->level, y = ((const sample *)b)->level;
    return (x > y) - (x < y);
}

static int by_size(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Add samples of a row of numbers, whose flats and darks are at `row`. */
static void add_line(samples *s, const qb__number_fields *f, size_t row, size_t columns) {
    const float *n = s->line, *dark = f->dark ? f->dark + row * columns : NULL;
    const float *gain = f->gain ? f->gain + row * columns : NULL;
    for (size_t c = 1; c + 1 < columns && s->count < SAMPLES; c += s->step) {
        double t[3];
        bool dead = false;
        for (size_t i = 0; i < 3; i++) {
            const size_t at = c + i - 1;
            t[i] = ((double)n[at] - (dark ? (double)dark[at] : 0)) * (gain ? (double)gain[at] : 1);
            dead |= gain && gain[at] == 0;
        }
        const double d = (t[0] - 2 * t[1] + t[2]) * (f->beam ? (double)f->beam[row * columns + c] : 1);
        if (!dead && isfinite(d)) s->of[s->count++] = (sample){(double)n[c], d * d};
    }
}

static qb_status read_lines(qb_scan *scan, const qb__number_fields *fields, samples *s) {
    const qb_scan_info *info = &scan->info;
    const size_t views = qb__smaller(VIEWS, info->views), rows = qb__smaller(ROWS, info->rows);
    s->step = qb__larger(1, views * rows * info->columns / SAMPLES);
    for (size_t v = 0; v < views; v++) {
        const size_t view = (2 * v + 1) * info->views / (2 * views);
        for (size_t r = 0; r < rows; r++) {
            const size_t row = (2 * r + 1) * info->rows / (2 * rows);
            QB__OR_RETURN(qb__scan_read_stored(scan, view, view + 1, row, row + 1, s->raw));
            qb_convert_to_float(s->raw, qb__scan_dtype(scan), info->columns, s->line);
            add_line(s, fields, row, info->columns);
        }
    }
    return QB_OK;
}

/* The variance of a number, from the median of `count` squares; 0.4549 is the median of a squared normal number. */
static double variance(const sample *of, size_t count, double *scratch, double *level) {
    *level = 0;
    for (size_t i = 0; i < count; i++) {
        scratch[i] = of[i].square;
        *level += of[i].level / (double)count;
    }
    qsort(scratch, count, sizeof *scratch, by_size);
    return scratch[count / 2] / (6 * 0.4549);
}

/* Fit a straight line through the darkest and the brightest quarter; through 0 if both have about the same
 * brightness. */
static qb__number_noise fit(sample *of, size_t count, double *scratch) {
    double low, high, level;
    qsort(of, count, sizeof *of, by_level);
    const double all = variance(of, count, scratch, &level);
    const double dark = variance(of, count / 4, scratch, &low);
    const double bright = variance(of + count - count / 4, count / 4, scratch, &high);
    if (!(high > 1.5 * low)) return (qb__number_noise){0, level > 0 ? all / level : 0};
    const double slope = fmax(0, (bright - dark) / (high - low));
    return (qb__number_noise){slope > 0 ? dark - slope * low : all, slope};
}

qb_status qb__number_noise_of(qb_scan *scan, const qb__number_fields *fields, qb__number_noise *noise) {
    const qb_scan_info *info = &scan->info;
    samples s = {0};
    double *scratch = NULL;
    qb_status status = QB_OK;
    *noise = (qb__number_noise){0, 0};
    if (info->columns < 3) return QB_OK;
    QB__TRY(qb__alloc(SAMPLES, sizeof *s.of, &s.of));
    QB__TRY(qb__alloc(SAMPLES, sizeof *scratch, &scratch));
    QB__TRY(qb__alloc(info->columns, qb_dtype_size(qb__scan_dtype(scan)), &s.raw));
    QB__TRY(qb__alloc(info->columns, sizeof(float), &s.line));
    QB__TRY(read_lines(scan, fields, &s));
    if (s.count >= LEAST) *noise = fit(s.of, s.count, scratch);
    if (!qb_dtype_is_float(qb__scan_dtype(scan))) noise->base += 1.0 / 12; /* rounding */
out:
    QB__FREE(s.of, scratch, s.raw, s.line);
    return status;
}
