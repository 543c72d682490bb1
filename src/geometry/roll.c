/* SPDX-License-Identifier: MIT */
#include "geometry/roll.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "geometry/check.h"
#include "geometry/vector.h"

qb_status qb__roll_turned(double radians, size_t columns, size_t rows, qb__roll *roll) {
    const double c = cos(radians), s = sin(radians);
    const double column = 0.5 * ((double)columns - 1), row = 0.5 * ((double)rows - 1);
    const double map[6] = {c, -s, column - c * column + s * row, s, c, row - s * column - c * row};
    *roll = (qb__roll){.columns = columns, .rows = rows, .turn = c};
    QB__OR_RETURN(qb__alloc(1, sizeof *roll->map, &roll->map));
    memcpy(roll->map[0], map, sizeof map);
    roll->maps = 1;
    return QB_OK;
}

double qb__roll_column(const qb__roll *roll, double column) {
    const double middle = 0.5 * ((double)roll->columns - 1);
    return roll->turn > 0 ? middle + (column - middle) * roll->turn : column;
}

double qb__roll_back(const qb__roll *roll, double column) {
    const double middle = 0.5 * ((double)roll->columns - 1);
    return roll->turn > 0 ? middle + (column - middle) / roll->turn : column;
}

/* ---- for any geometry ---- */

/* Where the ray through a point meets a view's detector: point - detector = a u + b v + ray. */
typedef struct meeting {
    double column[3], row[3]; /* inner products with the point */
    double column0, row0;     /* inner products with the origin */
} meeting;

static bool meet(const qb_view *view, meeting *m) {
    const double *d = view->source;
    double scale;
    qb__cross(view->v, d, m->column);
    qb__cross(d, view->u, m->row);
    scale = qb__dot(view->u, m->column); /* = v . (d x u) */
    if (!(fabs(scale) > 1e-6 * qb__norm(view->u) * qb__norm(view->v))) return false;
    for (int j = 0; j < 3; j++) m->column[j] /= scale, m->row[j] /= scale;
    m->column0 = -qb__dot(view->detector, m->column);
    m->row0 = -qb__dot(view->detector, m->row);
    return true;
}

static double across(const qb_view *view) {
    const double along = qb__dot(view->u, view->source);
    return sqrt(fmax(qb__dot(view->u, view->u) - along * along, 0));
}

/* Map of a view if the origin is at (axis, zero) of the unrolled detector. */
static void map_of(const qb_view *view, const meeting *m, double axis, double zero, double pitch, double map[6]) {
    const double flat = hypot(view->source[0], view->source[1]);
    const double right[3] = {view->source[1] / flat, -view->source[0] / flat, 0};
    map[0] = qb__dot(m->column, right) * pitch;
    map[1] = m->column[2] * pitch;
    map[2] = m->column0 - map[0] * axis - map[1] * zero;
    map[3] = qb__dot(m->row, right) * pitch;
    map[4] = m->row[2] * pitch;
    map[5] = m->row0 - map[3] * axis - map[4] * zero;
}

static double at(const double part[3], double column, double row) { return part[0] * column + part[1] * row + part[2]; }

/* Largest movement of a pixel, which is at a corner. */
static double departure(const qb__roll *roll, const double map[6]) {
    double most = 0;
    for (int corner = 0; corner < 4; corner++) {
        const double c = corner & 1 ? (double)roll->columns - 1 : 0;
        const double r = corner & 2 ? (double)roll->rows - 1 : 0;
        most = fmax(most, hypot(at(map, c, r) - c, at(map + 3, c, r) - r));
    }
    return most;
}

static qb_status check_ray(const qb_geometry *real, size_t i, double reach, double pitch) {
    const double climb = fabs(real->view[i].source[2]) * 2 * reach / pitch;
    if (climb < 0.5) return QB_OK;
    return qb__fail(QB_UNSUPPORTED,
                    "view %zu: rays climb %.4g degrees against the slices, %.3g rows across the volume: slices are not "
                    "independent (laminography); qb sirt or cgls -g take it",
                    i, asin(fmin(fabs(real->view[i].source[2]), 1)) * 57.29577951308232, climb);
}

qb_status qb__roll_of(const qb_geometry *real, double reach, double *axis, double *zero, double *pitch,
                      qb__roll *roll) {
    const double SAME = 0.01;
    double most = 0;
    meeting m;
    qb_status status;
    *roll = (qb__roll){.columns = real->columns, .rows = real->rows};
    *zero = *pitch = 0;
    if (real->beam != QB_BEAM_PARALLEL)
        return qb__fail(QB_BAD_ARGUMENT, "the geometry is that of a cone beam: use qb fdk");
    QB__TRY(qb__check_turning(real));
    QB__TRY(qb__alloc(real->views, sizeof *roll->map, &roll->map));
    for (size_t i = 0; i < real->views; i++) *pitch += across(&real->view[i]) / (double)real->views;
    for (size_t i = 0; i < real->views; i++) {
        if (!meet(&real->view[i], &m))
            QB__TRY(qb__fail(QB_UNSUPPORTED, "view %zu: the rays lie in the detector's plane", i));
        QB__TRY(check_ray(real, i, reach > 0 ? reach : 0.5 * *pitch * (double)real->columns, *pitch));
        axis[i] = m.column0;
        *zero += m.row0 / (double)real->views;
    }
    const double middle = 0.5 * ((double)real->rows - 1);
    *zero = middle + round(*zero - middle); /* position of rows without a geometry file */
    for (size_t i = 0; i < real->views; i++) {
        meet(&real->view[i], &m);
        map_of(&real->view[i], &m, axis[i], *zero, *pitch, roll->map[i]);
        most = fmax(most, departure(roll, roll->map[i]));
    }
    roll->maps = most > SAME ? real->views : 0;
out:
    if (status != QB_OK) qb__roll_clear(roll);
    return status;
}

void qb__roll_clear(qb__roll *roll) {
    qb__free(roll->map);
    *roll = (qb__roll){0};
}

/* ---- where rows fall ---- */

static const double *map_at(const qb__roll *roll, size_t view) { return roll->map[roll->maps > 1 ? view : 0]; }

void qb__roll_line(const qb__roll *roll, size_t view, size_t row, double *column_out, double *row_out) {
    const double *map = map_at(roll, view);
    for (size_t c = 0; c < roll->columns; c++) {
        column_out[c] = at(map, (double)c, (double)row);
        row_out[c] = at(map + 3, (double)c, (double)row);
    }
}

/* Range of the real rows, in any view, of unrolled rows row0..row1, both included. */
static void extremes(const qb__roll *roll, double row0, double row1, double *low, double *high) {
    *low = INFINITY, *high = -INFINITY;
    for (size_t i = 0; i < roll->maps; i++) {
        for (int corner = 0; corner < 4; corner++) {
            const double c = corner & 1 ? (double)roll->columns - 1 : 0;
            const double r = at(roll->map[i] + 3, c, corner & 2 ? row1 : row0);
            *low = fmin(*low, r), *high = fmax(*high, r);
        }
    }
}

void qb__roll_rows(const qb__roll *roll, size_t row0, size_t row1, size_t margin, size_t *first, size_t *end) {
    double low, high, last = (double)roll->rows - 1;
    extremes(roll, (double)row0, (double)row1 - 1, &low, &high);
    low = fmin(fmax(floor(low) - (double)margin, 0), last);
    high = fmax(fmin(ceil(high) + (double)margin, last), low);
    *first = (size_t)low;
    *end = (size_t)high + 1;
}

size_t qb__roll_most(const qb__roll *roll, size_t count, size_t margin) {
    double low, high, most = 0, steepest = 0;
    for (size_t r = 0; r < 2; r++) {
        extremes(roll, r ? (double)roll->rows - 1 : 0, r ? (double)roll->rows - 1 : 0, &low, &high);
        most = fmax(most, high - low);
    }
    for (size_t i = 0; i < roll->maps; i++) steepest = fmax(steepest, fabs(roll->map[i][4]));
    most += steepest * ((double)count - 1) + 2 * (double)margin + 3;
    return most < (double)roll->rows ? (size_t)most : roll->rows;
}

bool qb__roll_whole(const qb__roll *roll, size_t row) {
    double low, high;
    if (roll->maps == 0) return true;
    extremes(roll, (double)row, (double)row, &low, &high);
    return low > -0.5 && high < (double)roll->rows - 0.5;
}
