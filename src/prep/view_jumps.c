/* SPDX-License-Identifier: MIT */
#include "prep/view_steps.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/sort.h"
#include "base/squares.h"

enum { PARTS = QB__JUMP_PARTS, MOST_ROWS = 3, NEAR = 4 };

/* Bins on both sides. */
static const size_t halves[QB__JUMP_WIDTHS] = {0, 2, 5};

qb_status qb__view_jumps_begin(qb__view_jumps *j, size_t views, size_t rows, size_t bins) {
    *j = (qb__view_jumps){.rows = qb__smaller(rows, MOST_ROWS), .bins = bins, .views = views};
    QB__OR_RETURN(qb__alloc(bins + 1, sizeof *j->sum, &j->sum));
    for (int w = 0; w < QB__JUMP_WIDTHS; w++) {
        QB__OR_RETURN(qb__alloc(j->rows * bins, sizeof **j->line, &j->line[w]));
        QB__OR_RETURN(qb__alloc(j->rows * bins, sizeof **j->last, &j->last[w]));
        QB__OR_RETURN(qb__alloc(views * j->rows * PARTS, sizeof **j->square, &j->square[w]));
    }
    return QB_OK;
}

void qb__view_jumps_end(qb__view_jumps *j) {
    qb__free(j->sum);
    for (int w = 0; w < QB__JUMP_WIDTHS; w++) QB__FREE(j->line[w], j->last[w], j->square[w]);
}

/* Mean over `half` existing bins on both sides of bin b; `sum`: sums of all bins before each. */
static float mean_at(const double *sum, size_t bins, size_t half, size_t b) {
    const size_t from = b > half ? b - half : 0, to = qb__smaller(b + half + 1, bins);
    return (float)((sum[to] - sum[from]) / (double)(to - from));
}

static void smooth(const double *sum, size_t bins, size_t half, float *restrict out) {
    const size_t first = qb__smaller(half, bins), end = bins > half ? qb__larger(bins - half, first) : first;
    const double each = 1 / (double)(2 * half + 1);
    for (size_t b = 0; b < first; b++) out[b] = mean_at(sum, bins, half, b);
    for (size_t b = first; b < end; b++) out[b] = (float)((sum[b + half + 1] - sum[b - half]) * each);
    for (size_t b = end; b < bins; b++) out[b] = mean_at(sum, bins, half, b);
}

static void smooth_row(qb__view_jumps *j, const float *line, size_t row) {
    j->sum[0] = 0;
    for (size_t b = 0; b < j->bins; b++) j->sum[b + 1] = j->sum[b] + (double)line[b];
    for (int w = 0; w < QB__JUMP_WIDTHS; w++) {
        float *out = j->line[w] + row * j->bins;
        if (halves[w] == 0)
            memcpy(out, line, j->bins * sizeof *out);
        else
            smooth(j->sum, j->bins, halves[w], out);
    }
}

static void add_parts(qb__view_jumps *j, int width, size_t step) {
    float *out = j->square[width] + step * j->rows * PARTS;
    for (size_t r = 0; r < j->rows; r++)
        for (size_t p = 0; p < PARTS; p++) {
            const size_t from = p * j->bins / PARTS, to = (p + 1) * j->bins / PARTS, at = r * j->bins + from;
            out[r * PARTS + p] = (float)qb__squares_between(j->line[width] + at, j->last[width] + at, to - from);
        }
}

void qb__view_jumps_add(qb__view_jumps *j, size_t view, const float *line) {
    for (size_t r = 0; r < j->rows; r++) smooth_row(j, line + r * j->bins, r);
    for (int w = 0; w < QB__JUMP_WIDTHS && view; w++) add_parts(j, w, view - 1);
    for (int w = 0; w < QB__JUMP_WIDTHS; w++) {
        float *const now = j->line[w];
        j->line[w] = j->last[w];
        j->last[w] = now;
    }
}

/* The steps near one, by parts. */
typedef struct nearby {
    double most[MOST_ROWS * PARTS];
    double largest, least; /* over all parts */
} nearby;

static void look_nearby(const qb__view_jumps *j, const float *square, size_t view, nearby *n) {
    const size_t parts = j->rows * PARTS, steps = j->views - 1;
    *n = (nearby){.least = INFINITY};
    for (size_t k = view > NEAR ? view - NEAR : 0; k <= view + NEAR && k < steps; k++) {
        double total = 0;
        if (k == view) continue;
        for (size_t p = 0; p < parts; p++) {
            total += (double)square[k * parts + p];
            n->most[p] = fmax(n->most[p], (double)square[k * parts + p]);
        }
        n->largest = fmax(n->largest, total);
        n->least = fmin(n->least, total);
    }
}

/* True if most of the parts that change nearby change more here. */
static bool most_change(const nearby *n, const float *here, size_t parts) {
    const double TIMES = 3, SHARE = 0.03, FEW = 0.25;
    double ratio[MOST_ROWS * PARTS], all = 0;
    size_t count = 0;
    for (size_t p = 0; p < parts; p++) all += n->most[p];
    for (size_t p = 0; p < parts; p++)
        if (n->most[p] > SHARE * all) ratio[count++] = (double)here[p] / n->most[p];
    if (count < 3) return false;
    qb__sort(ratio, count);
    return ratio[(size_t)(FEW * (double)count)] > TIMES;
}

/* Number of positions along a row over which the larger change is spread. */
static double spread_of(const nearby *n, const float *here, size_t rows) {
    double sum = 0, square = 0;
    for (size_t p = 0; p < PARTS; p++) {
        double place = 0;
        for (size_t r = 0; r < rows; r++) place += fmax((double)here[r * PARTS + p] - n->most[r * PARTS + p], 0);
        sum += place, square += place * place;
    }
    return square > 0 ? sum * sum / square : 0;
}

/* Ratio of a step to the largest step nearby, from the squares of one width; 0 if it is not a jump. Steps of pure noise
 * are equal. */
static double larger_at(const qb__view_jumps *j, int width, size_t view, double least, double noise) {
    const double TIMES = 8, CLEAR_TIMES = 12, SPREAD = 3, SURE_TIMES = 15, SURE_SPREAD = 1.2, STEADY = 1.6,
                 STEADY_TIMES = 5, STEADY_SPREAD = 2, NOISE = 4;
    const size_t parts = j->rows * PARTS;
    const float *square = j->square[width], *here = square + view * parts;
    const double values = (double)(j->rows * j->bins);
    double sum = 0;
    nearby n;
    for (size_t p = 0; p < parts; p++) sum += (double)here[p];
    if (!(sum > least * least * values)) return 0;
    look_nearby(j, square, view, &n);
    const bool noisy = width == 0 && n.largest < NOISE * noise * noise * values && n.largest < STEADY * n.least;
    const double spread = spread_of(&n, here, j->rows);
    const bool jump = (sum > TIMES * n.largest && most_change(&n, here, parts)) ||
                      (sum > CLEAR_TIMES * n.largest && spread > SPREAD) ||
                      (sum > SURE_TIMES * n.largest && spread > SURE_SPREAD) ||
                      (noisy && sum > STEADY_TIMES * n.largest && spread > STEADY_SPREAD);
    return jump ? sum / n.largest : 0;
}

double qb__view_jumps_at(const qb__view_jumps *j, size_t view, double least, double noise) {
    double most = 0;
    for (int w = 0; w < QB__JUMP_WIDTHS; w++) most = fmax(most, larger_at(j, w, view, least, noise));
    return sqrt(most);
}
