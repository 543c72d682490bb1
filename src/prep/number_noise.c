/* SPDX-License-Identifier: MIT */
/* Noise is told from differences of a pixel and its neighbour in one view and in the next:
 *   d = (n[v+1][c+1] - n[v+1][c]) - (n[v][c+1] - n[v][c])
 * What the object and the detector's pattern do changes little from a pixel to the next one, or little from a view to the next;
 * either is taken out, and d has four times the variance of a number. Medians make a few edges and zingers harmless. */
#include "prep/number_noise.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/scan.h"
#include "quickbeam/io.h"

enum { PAIRS = 12, ROWS = 4, SAMPLES = 1 << 15, LEAST = 64 };

typedef struct sample {
    double level, square;
} sample;

typedef struct samples {
    sample *of;
    size_t count, step; /* every step-th column is looked at */
    float *line[2];
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

static void add_lines(samples *s, size_t columns) {
    const float *a = s->line[0], *b = s->line[1];
    for (size_t c = 0; c + 1 < columns && s->count < SAMPLES; c += s->step) {
        const double sum = (double)a[c] + (double)a[c + 1] + (double)b[c] + (double)b[c + 1];
        const double d = ((double)b[c + 1] - (double)b[c]) - ((double)a[c + 1] - (double)a[c]);
        if (isfinite(sum)) s->of[s->count++] = (sample){sum / 4, d * d};
    }
}

static qb_status read_pairs(qb_scan *scan, samples *s) {
    const qb_scan_info *info = &scan->info;
    const size_t bytes = info->columns * qb_dtype_size(info->dtype);
    const size_t pairs = qb__smaller(PAIRS, info->views - 1), rows = qb__smaller(ROWS, info->rows);
    s->step = qb__larger(1, pairs * rows * info->columns / SAMPLES);
    for (size_t p = 0; p < pairs; p++) {
        const size_t view = (2 * p + 1) * (info->views - 1) / (2 * pairs);
        for (size_t r = 0; r < rows; r++) {
            const size_t row = (2 * r + 1) * info->rows / (2 * rows);
            const qb_status status = qb__scan_read_stored(scan, view, view + 2, row, row + 1, s->raw);
            if (status != QB_OK) return status;
            for (size_t i = 0; i < 2; i++)
                qb_convert_to_float(s->raw + i * bytes, info->dtype, info->columns, s->line[i]);
            add_lines(s, info->columns);
        }
    }
    return QB_OK;
}

/* The variance of a number, by the median of so many squares; 0.4549: the median of a squared normal number. */
static double variance(const sample *of, size_t count, double *scratch, double *level) {
    *level = 0;
    for (size_t i = 0; i < count; i++) {
        scratch[i] = of[i].square;
        *level += of[i].level / (double)count;
    }
    qsort(scratch, count, sizeof *scratch, by_size);
    return scratch[count / 2] / (4 * 0.4549);
}

/* A straight line through the darkest and the brightest quarter; through 0 where they are about as bright. */
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

qb_status qb__number_noise_of(qb_scan *scan, qb__number_noise *noise) {
    const qb_scan_info *info = &scan->info;
    samples s = {0};
    double *scratch = NULL;
    qb_status status = QB_OK;
    *noise = (qb__number_noise){0, 0};
    if (info->views < 2 || info->columns < 2) return QB_OK;
    QB__TRY(qb__alloc(SAMPLES, sizeof *s.of, &s.of));
    QB__TRY(qb__alloc(SAMPLES, sizeof *scratch, &scratch));
    QB__TRY(qb__alloc(2 * info->columns, qb_dtype_size(info->dtype), &s.raw));
    for (int i = 0; i < 2; i++) QB__TRY(qb__alloc(info->columns, sizeof(float), &s.line[i]));
    QB__TRY(read_pairs(scan, &s));
    if (s.count >= LEAST) *noise = fit(s.of, s.count, scratch);
    if (!qb_dtype_is_float(info->dtype)) noise->base += 1.0 / 12; /* of rounding */
out:
    qb__free(s.of);
    qb__free(scratch);
    qb__free(s.raw);
    qb__free(s.line[0]);
    qb__free(s.line[1]);
    return status;
}
