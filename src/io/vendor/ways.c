/* SPDX-License-Identifier: MIT */
/* Decides which of several interpretations of a scanner's settings is right. In the middle plane of a cone beam, a full
 * turn measures each ray twice: the ray at angle g from the middle of view t is measured again at -g in view t + 180
 * degrees - 2 g (Kak and Slaney, Principles of Computerized Tomographic Imaging, 1988, section 3.4.3). With the wrong
 * sense of rotation, or the axis in the wrong place, the two measurements differ. */
#include "io/vendor/vendor.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "base/warning.h"
#include "quickbeam/array.h"

static const double degree = M_PI / 180;

/* A view, and its angle in degrees from 0 to 360. */
typedef struct turned_view {
    double angle;
    size_t view;
} turned_view;

typedef struct rays {
    const qb__vendor *v;
    const float *lines; /* [view][column] attenuation, up to a constant */
    size_t views, columns;
    turned_view *turned; /* [views] the views of one way in the order of their angles */
} rays;

/* Row in which the middle plane meets the detector: row[0] in the middle column, and row[1] more in each next column.
 * False if it leaves the detector. */
static bool find_rows(const qb__vendor *v, const qb__source *images, double row[2]) {
    const double rows = (double)images->shape[1], half = 0.5 * ((double)images->shape[2] - 1);
    const double pitch = v->pixel_v > 0 ? v->pixel_v : v->pixel_u;
    row[0] = 0.5 * (rows - 1) - v->offset_v / pitch, row[1] = tan(v->tilt * degree) * v->pixel_u / pitch;
    return row[0] - half * fabs(row[1]) >= 0 && row[0] + half * fabs(row[1]) <= rows - 1;
}

/* Interpolates the line in which the middle plane meets the detector, from the rows around it. */
static void take_line(const float *band, const qb__region *region, const double row[2], size_t columns, float least,
                      float *line) {
    const size_t last = region->row1 - region->row0 - 1;
    const double half = 0.5 * ((double)columns - 1);
    for (size_t c = 0; c < columns; c++) {
        const double at = fmax(0, row[0] + row[1] * ((double)c - half) - (double)region->row0);
        const size_t r = qb__smaller((size_t)at, last), s = qb__smaller(r + 1, last);
        const float x = (float)(at - (double)r), value = (1 - x) * band[r * columns + c] + x * band[s * columns + c];
        line[c] = -logf(fmaxf(value, least));
    }
}

/* Reads this line in all views, a few views at a time. */
static qb_status read_lines(qb__source *images, const double row[2], float *lines) {
    enum { VIEWS = 64 };
    const size_t views = images->shape[0], columns = images->shape[2], size = qb_dtype_size(images->dtype);
    const double reach = 0.5 * ((double)columns - 1) * fabs(row[1]);
    qb__region region = {.step = 1, .row0 = (size_t)fmax(0, row[0] - reach)};
    region.row1 = qb__smaller((size_t)(row[0] + reach) + 2, images->shape[1]);
    const size_t band_size = (region.row1 - region.row0) * columns;
    unsigned char *raw = NULL;
    float *band = NULL;
    qb_status status;
    QB__TRY(qb__alloc(VIEWS * band_size, size, &raw));
    QB__TRY(qb__alloc(band_size, sizeof *band, &band));
    /* smallest value before the logarithm: of transmissions, of counts */
    const float least = qb_dtype_is_float(images->dtype) ? 1e-6F : 1;
    for (; region.first < views; region.first += region.count) {
        region.count = qb__smaller(views - region.first, VIEWS);
        QB__TRY(images->read(images, &region, raw));
        for (size_t i = 0; i < region.count; i++) {
            qb_convert_to_float(raw + i * band_size * size, images->dtype, band_size, band);
            take_line(band, &region, row, columns, least, lines + (region.first + i) * columns);
        }
    }
out:
    QB__FREE(raw, band);
    return status;
}

static double angle_of(const qb__vendor *v, const qb__way *way, size_t view) {
    return way->sense * (way->angles ? way->angles[view] : (double)view * v->step);
}

static int compare_angles(const void *a, const void *b) {
    const turned_view *p = a, *q = b;
    return p->angle < q->angle ? -1 : p->angle > q->angle;
}

static void sort_views(const rays *r, const qb__way *way) {
    for (size_t i = 0; i < r->views; i++) {
        const double angle = angle_of(r->v, way, i);
        r->turned[i] = (turned_view){angle - 360 * floor(angle / 360), i};
    }
    qsort(r->turned, r->views, sizeof *r->turned, compare_angles);
}

/* Interpolates between the views around `angle` and between columns; false if the position is outside. *next is the
 * first view at this angle or above, where the search starts. */
static bool line_at(const rays *r, double angle, double column, size_t *next, double *value) {
    const double MOST = 2.5; /* steps between two views */
    const double last = (double)r->columns - 1;
    angle -= 360 * floor(angle / 360);
    while (*next < r->views && r->turned[*next].angle < angle) ++*next;
    while (*next > 0 && r->turned[*next - 1].angle >= angle) --*next;
    const turned_view *a = &r->turned[(*next ? *next : r->views) - 1], *b = &r->turned[*next < r->views ? *next : 0];
    const double from = angle - a->angle + (*next ? 0 : 360),
                 gap = from + b->angle - angle + (*next < r->views ? 0 : 360);
    if (!(gap <= MOST * fabs(r->v->step)) || !(column >= 0) || column > last) return false;
    const size_t c = column < last ? (size_t)column : r->columns - 2;
    const double x = gap > 0 ? from / gap : 0, y = column - (double)c;
    const float *p = r->lines + a->view * r->columns + c, *q = r->lines + b->view * r->columns + c;
    *value = (1 - x) * ((1 - y) * (double)p[0] + y * (double)p[1]) + x * ((1 - y) * (double)q[0] + y * (double)q[1]);
    return true;
}

/* Mean square difference of opposite rays for one way: over all columns, and for each column. NAN if there are too few
 * rays. */
typedef struct misfit {
    double mean, *column; /* [columns] */
} misfit;

static double column_misfit(const rays *r, const qb__way *way, size_t c) {
    const double middle = 0.5 * ((double)r->columns - 1);
    const double u = ((double)c - middle) * r->v->pixel_u + way->offset_u, g = atan(u / r->v->sdd);
    const double other = (-u - way->offset_u) / r->v->pixel_u + middle, ahead = 180 - 2 * g / degree;
    double sum = 0;
    size_t count = 0, next = 0;
    for (size_t i = 0; i < r->views; i++) {
        double value;
        if (!line_at(r, r->turned[i].angle + ahead, other, &next, &value)) continue;
        const double d = value - (double)r->lines[r->turned[i].view * r->columns + c];
        sum += d * d, count++;
    }
    return count >= r->views / 4 ? sum / (double)count : NAN;
}

static void measure(const rays *r, const qb__way *way, misfit *m) {
    double sum = 0;
    size_t count = 0;
    sort_views(r, way);
    for (size_t c = 0; c < r->columns; c++) {
        m->column[c] = column_misfit(r, way, c);
        if (isfinite(m->column[c])) sum += m->column[c], count++;
    }
    m->mean = count >= r->columns / 4 ? sum / (double)count : NAN;
}

/* By how many of its standard errors, estimated from the columns, one misfit is larger than another. */
static double errors_above(const misfit *m, const misfit *best, size_t columns) {
    double sum = 0, squares = 0, n = 0;
    for (size_t c = 0; c < columns; c++) {
        const double d = m->column[c] - best->column[c];
        if (isfinite(d)) sum += d, squares += d * d, n++;
    }
    const double mean = sum / n, variance = squares / n - mean * mean;
    return n >= 8 && variance > 0 ? mean / sqrt(variance / (n - 1)) : 0;
}

/* Two ways count as the same if they differ by less than half a pixel. */
static bool are_one(const qb__vendor *v, const qb__way *a, const qb__way *b) {
    return a->sense == b->sense && a->angles == b->angles && fabs(a->offset_u - b->offset_u) < 0.5 * v->pixel_u;
}

/* The way with the smallest misfit. *clear: it is smaller than that of every other way, by much more than chance. */
static size_t best_of(const rays *r, const qb__way *ways, const misfit *m, size_t count, bool *clear) {
    const double ERRORS = 5;
    size_t best = 0;
    for (size_t i = 1; i < count; i++)
        if (m[i].mean < m[best].mean || isnan(m[best].mean)) best = i;
    *clear = isfinite(m[best].mean);
    for (size_t i = 0; i < count; i++)
        if (!are_one(r->v, &ways[i], &ways[best]) && !(errors_above(&m[i], &m[best], r->columns) > ERRORS))
            *clear = false;
    return best;
}

static qb_status find_best(const qb__vendor *v, qb__source *images, const qb__way *ways, size_t count, size_t *best,
                           bool *clear) {
    const size_t views = images->shape[0], columns = images->shape[2];
    double row[2], *columns_of = NULL;
    misfit m[QB__WAYS] = {{0}};
    size_t size;
    float *lines = NULL;
    turned_view *turned = NULL;
    *best = 0, *clear = false;
    if (!find_rows(v, images, row) || columns < 8 || views < 8 || v->step == 0 || !qb__mul(views, columns, 1, &size))
        return QB_OK;
    qb_status status;
    QB__TRY(qb__alloc(size, sizeof *lines, &lines));
    QB__TRY(qb__alloc(count * columns, sizeof *columns_of, &columns_of));
    QB__TRY(read_lines(images, row, lines));
    QB__TRY(qb__alloc(views, sizeof *turned, &turned));
    const rays r = {.v = v, .lines = lines, .views = views, .columns = columns, .turned = turned};
    for (size_t i = 0; i < count; i++) {
        m[i].column = columns_of + i * columns;
        measure(&r, &ways[i], &m[i]);
    }
    *best = best_of(&r, ways, m, count, clear);
out:
    QB__FREE(columns_of, turned, lines);
    return status;
}

/* Says which question opposite rays leave open. */
static void tell_doubts(const qb__vendor *v, const qb__way *ways, size_t count, qb__notes *notes) {
    if (fabs(v->offset_u) > 0.5 * v->pixel_u)
        qb__note(notes,
                 "%s: readers of %s differ in the sign of the axis position, and opposite rays do not tell it: if "
                 "slices are doubled, give --detector-offset %g,%g" QB__CODE("axis-sign"),
                 v->path, v->format, -v->offset_u, v->offset_v);
    for (size_t i = 1; i < count; i++)
        if (ways[i].angles) {
            qb__note(notes,
                     "%s states other angles than %s, and opposite rays do not tell which are right: %s is used; if "
                     "slices are blurred, give --angles with those of %s" QB__CODE("two-angles"),
                     ways[i].from, v->path, v->path, ways[i].from);
            return;
        }
}

qb_status qb__ways_choose(const qb__vendor *v, const qb_scan_options *options, const qb__way *ways, size_t count,
                          bool ask, qb__scan_parts *parts) {
    bool clear, several = false;
    size_t best;
    for (size_t i = 1; i < count; i++) several = several || !are_one(v, &ways[0], &ways[i]);
    if (!several) return QB_OK;
    if (options && options->angles && *options->angles) {
        /* --angles states the sense of rotation, but the axis position is still unknown */
        if (ask) parts->detector_stated = false;
        return QB_OK;
    }
    QB__OR_RETURN(find_best(v, parts->data.source, ways, count, &best, &clear));
    const double span = (double)v->views * v->step;
    if (!clear && ask)
        return qb__fail(
            QB_BAD_INPUT,
            "%s: which way did the object turn? Readers of %s differ, and opposite rays do not tell: give --angles "
            "%g:%g or %g:%g",
            v->path, v->format, v->first, v->first + span, 0 - v->first, 0 - v->first - span);
    if (!clear) tell_doubts(v, ways, count, &parts->notes);
    if (!clear || best == 0) return QB_OK;
    const qb__way *way = &ways[best];
    for (size_t i = 0; i < parts->angle_count; i++)
        parts->angles[i] = (way->sense * v->first + angle_of(v, way, i)) * degree;
    if (way->angles) snprintf(parts->angles_from, sizeof parts->angles_from, "%.150s", way->from);
    parts->detector[0] = way->offset_u;
    qb__note(&parts->notes,
             "%s: readers of %s differ; opposite rays show that views turn by %g degrees%s%s and the detector's middle "
             "is at %g mm" QB__CODE("way-shown"),
             v->path, v->format,
             way->angles ? angle_of(v, way, v->views - 1) / ((double)v->views - 1) : v->step * way->sense,
             way->angles ? " on average, by the angles of " : "", way->angles ? way->from : "", way->offset_u);
    return QB_OK;
}
