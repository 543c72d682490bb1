/* SPDX-License-Identifier: MIT */
#include "prep/line_mass.h"

#include <math.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/sort.h"
#include "base/status.h"
#include "base/warning.h"

/* Values from one end to the other, minus a straight line through the levels of air. */
static double sum_line(const float *line, size_t columns, const double end[2], double sum[4]) {
    const double half = 0.5 * ((double)columns - 1);
    size_t lost = 0;
    double last = end[0];
    for (size_t i = 0; i < columns; i++) {
        const double x = (double)i - half, air = end[0] + (end[1] - end[0]) * (double)i / (2 * half);
        if (isfinite(line[i]))
            last = (double)line[i] - air;
        else
            lost++;
        sum[0] += last;
        sum[1] += last * x;
        sum[2] += last * x * x;
        sum[3] += last * x * x * x;
    }
    return (double)lost / (double)columns;
}

void qb__line_mass_of(const float *line, size_t columns, const double end[2], const double noise[2], double top,
                      qb__line_mass *mass) {
    const double AIR = 0.03, LOST = 0.05;
    double sum[4] = {0}, sigma = 0, air[2];
    *mass = (qb__line_mass){.view = mass->view, .row = mass->row, .looked = true};
    if (columns < 8 || !(top > 0)) return;
    for (int side = 0; side < 2; side++) {
        if (fabs(end[side]) > fmax(AIR * top, 5 * noise[side])) return;
        air[side] = fabs(end[side]) > 3 * noise[side] ? end[side] : 0; /* noise there would affect all columns */
        sigma = fmax(sigma, noise[side]);
    }
    if (sum_line(line, columns, air, sum) > LOST || !(sum[0] > 0.02 * top * (double)columns)) return;
    mass->mass = sum[0];
    mass->middle = sum[1] / sum[0];
    mass->spread = sum[2] / sum[0] - mass->middle * mass->middle;
    mass->skew = sum[3] / sum[0] - mass->middle * (3 * mass->spread + mass->middle * mass->middle);
    /* `noise` is that of a median of at least three values. */
    mass->noise = 1.5 * sigma * sqrt((double)columns * (double)columns * (double)columns / 12) / sum[0];
    mass->whole = mass->spread > 0;
}

qb_status qb__view_lines_create(qb_scan *scan, const size_t *row, size_t rows, qb__view_lines *lines) {
    enum { MOST_BYTES = 1 << 20 };
    const qb_scan_info *info = qb_scan_describe(scan);
    const qb__source *source = scan->parts.data.source;
    const size_t block = source ? source->chunk[scan->sinogram ? 1 : 0] : 1;
    const size_t line = info->columns * qb_dtype_size(info->dtype);
    const size_t ahead = qb__larger(1, qb__smaller(qb__smaller(block, info->views), MOST_BYTES / (rows * line)));
    *lines = (qb__view_lines){.scan = scan, .row = row, .rows = rows, .line = line, .ahead = ahead};
    return qb__alloc(rows * ahead, line, &lines->raw);
}

qb_status qb__view_lines_read(qb__view_lines *l, size_t view, size_t r, const char **raw) {
    if (view < l->first || view >= l->end) {
        const size_t first = view - view % l->ahead;
        const size_t end = qb__smaller(first + l->ahead, qb_scan_describe(l->scan)->views);
        l->end = 0; /* after a failure nothing is valid */
        for (size_t i = 0; i < l->rows; i++) {
            char *to = l->raw + i * l->ahead * l->line;
            QB__OR_RETURN(qb_scan_read(l->scan, first, end, l->row[i], l->row[i] + 1, to));
        }
        l->first = first, l->end = end;
    }
    *raw = l->raw + (r * l->ahead + view - l->first) * l->line;
    return QB_OK;
}

void qb__view_lines_destroy(qb__view_lines *lines) { qb__free(lines->raw); }

enum { VIEWS = QB__SAMPLE_VIEWS, GROUPS = QB__SAMPLE_GROUPS, FEWEST = 16 };

/* Variation of the sums of one row: from the median of distances to the median, which single views do not change. */
static bool swing_of(const qb__line_mass *row, size_t columns, double *swing) {
    /* NOISE: in units of the noise of the centre of mass, in widths of the row */
    const double GAUSS = 1.4826, NOISE = 50;
    double mass[VIEWS], noise = 0;
    size_t n = 0;
    for (size_t v = 0; v < VIEWS; v++) {
        if (!row[v].looked) continue;
        if (!row[v].whole) return false;
        noise = fmax(noise, row[v].noise / (double)columns);
        mass[n++] = row[v].mass;
    }
    if (n < FEWEST) return false;
    const double middle = qb__median(mass, n);
    for (size_t v = 0; v < n; v++) mass[v] = fabs(mass[v] - middle);
    *swing = middle > 0 ? GAUSS * qb__median(mass, n) / middle : 0;
    if (*swing < NOISE * noise) *swing = 0;
    return true;
}

double qb__view_sums_swing(const qb__line_mass *lines, size_t columns) {
    /* Edges that fall between pixels make the sums of few columns vary, too. */
    const double MUCH = fmax(0.05, 4.0 / (double)columns), LEAST = MUCH / 2;
    double swing[GROUPS];
    size_t rows = 0, many = 0;
    for (size_t g = 0; g < GROUPS; g++)
        if (swing_of(lines + g * VIEWS, columns, &swing[rows])) many += swing[rows++] > LEAST;
    if (rows == 0 || 4 * many < 3 * rows) return 0;
    const double middle = qb__median(swing, rows);
    return middle > MUCH ? middle : 0;
}

void qb__view_sums_warn(double swing, const qb_env *env) {
    if (swing > 0)
        qb__warn(env,
                 "sums of line integrals over a row differ by %.2g %% from view to view, though all of the object is "
                 "seen: numbers are not -ln of transmission, or the beam is hardened" QB__CODE("sums-swing"),
                 100 * swing);
}

double qb__view_closing_judge(const qb__view_closing *c) {
    const double TIMES = 3, PART = 0.05, NEXT = 1.5, FAR = 4, BACKWARDS = -0.5, LIKE = 1.5, LESS = 2;
    const double less = fmin(c->alike[0], c->alike[1]);
    if (!(c->step > 0) || !(c->gap > 0.5 * c->step)) return 0;
    if (c->gap < NEXT * c->step) {
        const bool large = c->across > fmax(c->floor, PART * c->signal) && c->across > TIMES * c->most;
        return large ? c->across / c->most : 0;
    }
    if (c->gap < FAR * c->step || !(less > fmax(c->floor, LESS * c->across)) || !(c->sense > BACKWARDS)) return 0;
    return c->across < LIKE * c->most ? -less / fmax(c->across, 1e-30) : 0;
}

void qb__view_closing_warn(double times, double gap, const qb_env *env) {
    const double DEGREE = 57.29577951308232;
    if (times > 0)
        qb__warn(env,
                 "by the angles the last view is next to the first, but they differ %.2g times as much as neighbours: "
                 "the object turned by less or more, or moved; check --angles" QB__CODE("angle-span"),
                 times);
    else if (times < 0)
        qb__warn(env,
                 "the last view is as like the first as a neighbour, but is stated to be %.3g degrees from it: check "
                 "--angles, the views seem to cover a turn" QB__CODE("angle-span"),
                 gap * DEGREE);
}
