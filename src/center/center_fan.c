/* SPDX-License-Identifier: MIT */
/* The middle rows of a cone beam are fans. The ray at fan angle g in the view at angle t is the ray of a parallel beam
 * at the angle t - g and the distance sod sin g from the axis (Kak and Slaney, 1988, 3.4.1). Rows sorted this way can
 * be given to the finders for parallel beams. The fan angles depend on the unknown axis. An assumed column that is
 * wrong by d turns all angles by d pixels / sdd and shifts all positions by d columns. The finders see this shift, so a
 * few rounds are enough. */
#include "center/center.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "geometry/parallel.h"

static const double TURN = 2 * M_PI;

/* A view and its angle, counted from the first view and taken within one turn. */
typedef struct place {
    double angle;
    size_t view;
} place;

static int by_angle(const void *a, const void *b) {
    const double x = ((const place *)a)->angle, y = ((const place *)b)->angle;
    return (x > y) - (x < y);
}

struct qb__center_fan {
    qb__center_rows from; /* rows as measured; the number of columns stays the same */
    double sod, sdd, pixel;
    bool full;     /* the views cover a turn */
    place *sorted; /* [views], sorted by angle; for a full turn also the first view again at the end */
    double first;  /* angle of the first parallel view; step: angle between neighbouring views */
    double step;
    double column; /* assumed column of the axis */
    size_t views;  /* number of views of the parallel beam */
    double *angles;
    float *sinograms;
};

static qb_status sort_views(qb__center_fan *f) {
    const size_t n = f->from.views;
    double least = INFINITY;
    qb_status status = qb__alloc(n + 1, sizeof *f->sorted, &f->sorted);
    if (status != QB_OK) return status;
    for (size_t i = 0; i < n; i++) least = fmin(least, f->from.angles[i]);
    for (size_t i = 0; i < n; i++) {
        const double angle = f->from.angles[i] - least;
        f->sorted[i] = (place){f->full ? angle - TURN * floor(angle / TURN) : angle, i};
    }
    qsort(f->sorted, n, sizeof *f->sorted, by_angle);
    f->sorted[n] = (place){f->sorted[0].angle + TURN, f->sorted[0].view};
    return QB_OK;
}

qb_status qb__center_fan_create(const qb__center_rows *rows, double sod, double sdd, double pixel, bool full,
                                qb__center_fan **out) {
    qb__center_fan *f;
    const double half = atan(0.5 * (double)rows->columns * pixel / sdd);
    qb_status status = qb__alloc(1, sizeof *f, &f);
    *out = NULL;
    if (status != QB_OK) return status;
    *f = (qb__center_fan){.from = *rows, .sod = sod, .sdd = sdd, .pixel = pixel, .full = full};
    QB__TRY(sort_views(f));
    const double last = f->sorted[rows->views - 1].angle, seen = full ? TURN : last - 2 * half;
    f->step = full ? TURN / (double)rows->views : last / (double)(rows->views - 1);
    f->first = full ? 0 : half;
    f->views = full ? rows->views : (size_t)fmax(0, floor(seen / f->step)) + 1;
    if (f->views < 8 || seen < 2.6) {
        status =
            qb__fail(QB_BAD_INPUT,
                     "a cone beam's axis is found over 150 degrees and the fan angle, %.4g degrees, and these views "
                     "cover %.4g: give the axis by --detector-offset",
                     150 + 2 * half * 180 / M_PI, last * 180 / M_PI);
        goto out;
    }
    QB__TRY(qb__alloc(f->views, sizeof *f->angles, &f->angles));
    QB__TRY(qb__alloc(rows->rows * f->views, rows->columns * sizeof(float), &f->sinograms));
    *out = f;
out:
    if (status != QB_OK) qb__center_fan_destroy(f);
    return status;
}

void qb__center_fan_destroy(qb__center_fan *f) {
    if (!f) return;
    QB__FREE(f->sorted, f->angles, f->sinograms, f);
}

/* Index of the last sorted view whose angle is at most `angle`. */
static size_t before(const qb__center_fan *f, double angle) {
    size_t low = 0, high = f->from.views - (f->full ? 0 : 1); /* sorted[high] exists */
    while (high - low > 1) {
        const size_t middle = (low + high) / 2;
        if (f->sorted[middle].angle <= angle)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static float between(const float *row, size_t columns, double column) {
    if (column <= 0) return row[0];
    if (column >= (double)columns - 1) return row[columns - 1];
    const size_t i = (size_t)column;
    const float share = (float)(column - (double)i);
    return row[i] + share * (row[i + 1] - row[i]);
}

/* Makes one parallel view of one row. */
static void sort_line(void *context, size_t task, int worker) {
    const qb__center_fan *f = context;
    const qb__center_rows *from = &f->from;
    const size_t row = task / f->views, view = task % f->views;
    const float *fan = from->sinograms + row * from->views * from->columns;
    float *line = f->sinograms + task * from->columns;
    (void)worker;
    for (size_t c = 0; c < from->columns; c++) {
        const double place_of = ((double)c - f->column) * f->pixel * f->sod / f->sdd;
        const double share = fmin(fmax(place_of / f->sod, -1), 1), g = asin(share);
        double t = f->first + (double)view * f->step + g;
        if (f->full) {
            t -= f->sorted[0].angle;
            t -= TURN * floor(t / TURN);
            t += f->sorted[0].angle;
        }
        const double column = f->column + f->sdd * tan(g) / f->pixel;
        const size_t i = before(f, t);
        const place *a = &f->sorted[i], *b = a + 1;
        const double gap = b->angle - a->angle, weight = gap > 0 ? fmin(fmax((t - a->angle) / gap, 0), 1) : 0;
        const float low = between(fan + a->view * from->columns, from->columns, column);
        const float high = between(fan + b->view * from->columns, from->columns, column);
        line[c] = low + (float)weight * (high - low);
    }
}

qb__center_rows qb__center_fan_rows(qb__center_fan *f, double column) {
    f->column = column;
    for (size_t i = 0; i < f->views; i++) f->angles[i] = f->first + (double)i * f->step;
    qb__pool_for(f->from.pool, f->from.rows * f->views, sort_line, f);
    qb__center_rows rows = f->from;
    rows.sinograms = f->sinograms;
    rows.views = f->views;
    rows.angles = f->angles;
    return rows;
}

/* Compares the sorted views with their opposite views, mirrored about the axis. */
static double disagreement(const qb__center_rows *rows, double column) {
    const size_t half = rows->views / 2, columns = rows->columns;
    double apart = 0, all = 0;
    for (size_t r = 0; r < rows->rows; r++)
        for (size_t v = 0; v < half; v++) {
            const float *line = rows->sinograms + (r * rows->views + v) * columns;
            const float *opposite = line + half * columns;
            for (size_t c = 0; c < columns; c++) {
                const double mirrored = 2 * column - (double)c;
                if (mirrored < 0 || mirrored > (double)columns - 1) continue;
                const double a = line[c], b = between(opposite, columns, mirrored);
                apart += (a - b) * (a - b), all += a * a + b * b;
            }
        }
    return all > 0 ? apart / all : NAN;
}

/* Disagreement of opposite rays if the views turn in the stated sense (1) or in the other (-1), and the fan is `wide`
 * times as wide as stated. */
static qb_status disagree_if(const qb__center_rows *rows, const qb__center_beam *beam, double column, int sense,
                             double wide, double *angles, double *disagree) {
    qb__center_rows turned = *rows;
    qb__center_fan *fan;
    for (size_t v = 0; v < rows->views; v++) angles[v] = sense * rows->angles[v];
    turned.angles = angles;
    const qb_status status =
        qb__center_fan_create(&turned, beam->sod / wide, beam->sdd / wide, beam->pixel, true, &fan);
    if (status != QB_OK) return status;
    const qb__center_rows parallel = qb__center_fan_rows(fan, column);
    *disagree = disagreement(&parallel, column);
    qb__center_fan_destroy(fan);
    return QB_OK;
}

/* Changes the width of the fan from the stated one by a fixed factor as long as the disagreement falls, then by a
 * smaller factor in both directions. */
static qb_status find_width(const qb__center_rows *rows, const qb__center_beam *beam, double column, double *angles,
                            double disagree, double *wide) {
    enum { STEPS = 5 };
    static const double factor = 1.4, finer = 1.0878; /* finer is the fourth root of factor */
    double best = disagree, there;
    qb_status status = QB_OK;
    *wide = 1;
    for (int way = -1; way <= 1 && *wide == 1; way += 2)
        for (int i = 1; i <= STEPS; i++) {
            const double next = pow(factor, way * i);
            QB__TRY(disagree_if(rows, beam, column, 1, next, angles, &there));
            if (!(there < best)) break;
            best = there, *wide = next;
        }
    if (*wide == 1) return QB_OK;
    for (int way = -1; way <= 1; way += 2) {
        const double from = *wide;
        for (int i = 1; i <= 3; i++) {
            const double next = from * pow(finer, way * i);
            QB__TRY(disagree_if(rows, beam, column, 1, next, angles, &there));
            if (!(there < best)) break;
            best = there, *wide = next;
        }
    }
out:
    return status;
}

/* How much rays change from view to view, in the same measure as `disagreement`. 0 if the object is round about the
 * axis. */
static double variation(const qb__center_rows *rows) {
    double apart = 0, all = 0;
    for (size_t r = 0; r < rows->rows; r++)
        for (size_t c = 0; c < rows->columns; c++) {
            double sum = 0, square = 0;
            for (size_t v = 0; v < rows->views; v++) {
                const double y = rows->sinograms[(r * rows->views + v) * rows->columns + c];
                sum += y, square += y * y;
            }
            apart += square - sum / (double)rows->views * sum, all += square;
        }
    return all > 0 ? apart / all : 0;
}

/* Sets shown->better: by what factor the disagreement at the width found is smaller than at the stated width, at twice
 * the width found and at half of it. 0 for a round object, because it agrees with any width. */
static qb_status how_sure(const qb__center_rows *rows, const qb__center_beam *beam, double column, double *angles,
                          double stated, qb__center_fan_shown *shown) {
    const double round = 1e-4, part = 1e-3;
    const double changes = variation(rows);
    double best, nearby;
    qb_status status;
    QB__TRY(disagree_if(rows, beam, column, 1, shown->wide, angles, &best));
    shown->better = changes > round && stated > part * changes && best > 0 ? stated / best : 0;
    for (int i = 0; i < 2; i++) {
        QB__TRY(disagree_if(rows, beam, column, 1, shown->wide * (i ? 2 : 0.5), angles, &nearby));
        shown->better = fmin(shown->better, best > 0 ? nearby / best : 0);
    }
out:
    return status;
}

qb_status qb__center_fan_check(const qb__center_rows *rows, const qb__center_beam *beam, double column,
                               qb__center_fan_shown *shown) {
    double *angles, disagree[2] = {NAN, NAN};
    bool full = false;
    qb_status status = qb__turns_fully(rows->views, rows->angles, &full, NULL);
    *shown = (qb__center_fan_shown){0};
    if (status != QB_OK || !full) return status;
    status = qb__alloc(rows->views, sizeof *angles, &angles);
    for (int i = 0; i < 2 && status == QB_OK; i++)
        status = disagree_if(rows, beam, column, i ? -1 : 1, 1, angles, &disagree[i]);
    if (status == QB_OK && disagree[1] > 0) shown->other_sense = disagree[0] / disagree[1];
    if (status == QB_OK && disagree[0] > 0) status = find_width(rows, beam, column, angles, disagree[0], &shown->wide);
    if (status == QB_OK && shown->wide > 0 && shown->wide != 1)
        status = how_sure(rows, beam, column, angles, disagree[0], shown);
    qb__free(angles);
    return status;
}
