/* SPDX-License-Identifier: MIT */
#include "geometry/virtual_detector.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "geometry/matrix.h"
#include "geometry/vector.h"

/* A view of the virtual detector before its pixels are numbered: horizontal along columns, z along rows, and the point
 * that is at the same pixel in all views. */
typedef struct stand {
    double along[3], up, point[3];
} stand;

/* Sums over the views, then means. */
typedef struct pixels {
    double pitch_u, pitch_v; /* mm */
    double column, row;      /* position of the common point on the real detector */
} pixels;

double qb__virtual_detector_drift(const qb_geometry *geometry) {
    double most = 0;
    for (size_t i = 0; i < geometry->views; i++) {
        const qb_view *view = &geometry->view[i];
        double z = fabs(view->u[2]) * ((double)geometry->columns - 1);
        most = fmax(most, z / qb__norm(view->v));
    }
    return most;
}

bool qb__virtual_detector_wanted(const qb_geometry *geometry) {
    return geometry->radius > 0 || qb__virtual_detector_drift(geometry) > 1;
}

/* Pixel pitch along a direction within the detector's plane. */
static double pitch_along(const qb_view *view, const double direction[3]) {
    double u = qb__norm(view->u), v = qb__norm(view->v);
    double a = qb__dot(view->u, direction) / u, b = qb__dot(view->v, direction) / v;
    double length = hypot(a, b);
    return length > 0 ? length / hypot(a / u, b / v) : u;
}

static qb_status stand_of_view(const qb_geometry *real, const qb_view *view, stand *s, pixels *sum) {
    double n[3], p[3];
    qb__matrix matrix;
    QB__OR_RETURN(qb__matrix_of_view(QB_BEAM_CONE, view, &matrix));
    qb__cross(view->u, view->v, n);
    double flat = hypot(n[0], n[1]);
    if (!(flat > 0.2 * qb__norm(n)))
        return qb__fail(QB_UNSUPPORTED, "the detector leans %.4g degrees from upright",
                        acos(flat / qb__norm(n)) * 57.29577951308232);
    /* Columns keep their direction; if they run along the axis, v decides. */
    double sense[2];
    for (int j = 0; j < 2; j++) sense[j] = view->u[j] / qb__norm(view->u) + 1e-3 * view->v[j] / qb__norm(view->v);
    double side = n[0] * sense[1] - n[1] * sense[0] < 0 ? 1 : -1;
    memcpy(s->along, (double[3]){side * n[1] / flat, -side * n[0] / flat, 0}, sizeof s->along);
    s->up = (s->along[0] * n[1] - s->along[1] * n[0]) < 0 ? 1 : -1; /* (along x up) . n > 0 */
    qb__matrix_apply(&matrix, 0, 0, view->source[2], p);
    double column = p[0] / p[2], row = p[1] / p[2];
    for (int j = 0; j < 3; j++) s->point[j] = view->detector[j] + column * view->u[j] + row * view->v[j];
    double views = (double)real->views, up[3] = {0, 0, 1};
    sum->pitch_u += pitch_along(view, s->along) / views;
    sum->pitch_v += pitch_along(view, up) / views;
    sum->column += column / views;
    sum->row += row / views;
    return QB_OK;
}

static void make_view(const qb_view *real, const stand *s, const pixels *mean, double column, double row,
                      qb_view *view) {
    memcpy(view->source, real->source, sizeof view->source);
    for (int j = 0; j < 3; j++) {
        view->u[j] = s->along[j] * mean->pitch_u;
        view->v[j] = j == 2 ? s->up * mean->pitch_v : 0;
        view->detector[j] = s->point[j] - column * view->u[j] - row * view->v[j];
    }
}

/* Points on the edges of the real detector, seen on a view of the virtual one. */
static qb_status widen(const qb_geometry *real, size_t i, const qb_view *view, double low[2], double high[2]) {
    enum { SIDE = 33 };
    qb__matrix matrix;
    QB__OR_RETURN(qb__matrix_of_view(QB_BEAM_CONE, view, &matrix));
    for (int k = 0; k < 4 * SIDE; k++) {
        double part = (double)(k / 4) / (SIDE - 1), end = k & 1, place[3], p[3];
        double c = (k & 2 ? part : end) * ((double)real->columns - 1);
        double r = (k & 2 ? end : part) * ((double)real->rows - 1);
        qb__pixel_position(real, i, c, r, place);
        qb__matrix_apply(&matrix, place[0], place[1], place[2], p);
        if (!(p[2] > 0.05))
            return qb__fail(QB_UNSUPPORTED, "the detector reaches round to the source: no flat one sees as much");
        for (int a = 0; a < 2; a++) {
            low[a] = fmin(low[a], p[a] / p[2]);
            high[a] = fmax(high[a], p[a] / p[2]);
        }
    }
    return QB_OK;
}

static qb_status number_pixels(const qb_geometry *real, const stand *stands, pixels *mean,
                               qb_geometry *virtual_detector) {
    double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
    for (size_t i = 0; i < real->views; i++) {
        make_view(&real->view[i], &stands[i], mean, 0, 0, &virtual_detector->view[i]);
        qb_status status = widen(real, i, &virtual_detector->view[i], low, high);
        if (status != QB_OK) return qb__fail_in(status, "view %zu", i);
    }
    /* Rows at whole or half numbers from the common point keep the mirror symmetry about the plane z = 0. */
    double part[2] = {mean->column - floor(mean->column), 0.5 * round(2 * mean->row)}, first[2];
    part[1] -= floor(part[1]);
    size_t count[2], most[2] = {8 * real->columns + 8 * real->rows, 8 * real->columns + 8 * real->rows};
    for (int a = 0; a < 2; a++) {
        first[a] = ceil(low[a] + part[a] - 1e-6) - part[a];
        double n = floor(high[a] - first[a] + 1e-6) + 1;
        if (!(n <= (double)most[a]))
            return qb__fail(QB_UNSUPPORTED, "a virtual flat detector would need %.0f %s", n, a ? "rows" : "columns");
        count[a] = n > 1 ? (size_t)n : 1;
    }
    virtual_detector->columns = count[0];
    virtual_detector->rows = count[1];
    for (size_t i = 0; i < real->views; i++)
        make_view(&real->view[i], &stands[i], mean, -first[0], -first[1], &virtual_detector->view[i]);
    return QB_OK;
}

static qb_status find_map(const qb_view *real, const qb_view *virtual_detector, double map[9]) {
    qb__matrix matrix;
    qb_status status = qb__matrix_of_view(QB_BEAM_CONE, real, &matrix);
    for (int i = 0; i < 3 && status == QB_OK; i++) {
        map[3 * i] = qb__dot(matrix.m[i], virtual_detector->u);
        map[3 * i + 1] = qb__dot(matrix.m[i], virtual_detector->v);
        map[3 * i + 2] = qb__dot(matrix.m[i], virtual_detector->detector) + matrix.m[i][3];
    }
    return status;
}

/* True if a view's map, rounded to a ten-thousandth of a pixel, equals that of the first view. */
static bool same_map(const qb__virtual_detector *up, size_t i) {
    double size = (double)(up->geometry.columns + up->geometry.rows);
    const double *a = up->map[0], *b = up->map[i];
    for (int k = 0; k < 9; k++) {
        double reach = (k % 3 == 2 ? 1 : size) * (k >= 6 ? size : 1);
        if (!(fabs(a[k] / a[8] - b[k] / b[8]) * reach < 1e-4)) return false;
    }
    return !up->curve || (fabs(up->curve[0].x - up->curve[i].x) < 1e-4 * up->curve[0].pitch &&
                          fabs(up->curve[0].depth - up->curve[i].depth) < 1e-7 * up->curve[0].depth);
}

qb_status qb__virtual_detector_create(const qb_geometry *real, qb__virtual_detector *virtual_detector) {
    *virtual_detector = (qb__virtual_detector){.real = real};
    stand *stands = NULL;
    pixels mean = {0};
    qb_status status;
    size_t views = real->views;
    virtual_detector->geometry = (qb_geometry){.beam = QB_BEAM_CONE, .views = views};
    QB__TRY(qb__alloc(views, sizeof *stands, &stands));
    QB__TRY(qb__alloc(views, sizeof *virtual_detector->geometry.view, &virtual_detector->geometry.view));
    QB__TRY(qb__alloc(views, sizeof *virtual_detector->map, &virtual_detector->map));
    if (real->radius > 0) QB__TRY(qb__alloc(views, sizeof *virtual_detector->curve, &virtual_detector->curve));
    for (size_t i = 0; i < views; i++) {
        status = stand_of_view(real, &real->view[i], &stands[i], &mean);
        if (status != QB_OK) QB__TRY(qb__fail_in(status, "view %zu", i));
    }
    QB__TRY(number_pixels(real, stands, &mean, &virtual_detector->geometry));
    for (size_t i = 0; i < views; i++) {
        QB__TRY(find_map(&real->view[i], &virtual_detector->geometry.view[i], virtual_detector->map[i]));
        if (virtual_detector->curve) virtual_detector->curve[i] = qb__curve_of_view(real, i);
        if (i > 0 && !same_map(virtual_detector, i)) virtual_detector->different++;
    }
out:
    qb__free(stands);
    if (status != QB_OK) qb__virtual_detector_destroy(virtual_detector);
    return status;
}

void qb__virtual_detector_destroy(qb__virtual_detector *virtual_detector) {
    if (!virtual_detector) return;
    qb_geometry_destroy(&virtual_detector->geometry);
    QB__FREE(virtual_detector->map, virtual_detector->curve);
    *virtual_detector = (qb__virtual_detector){0};
}

static void pixel(const qb__virtual_detector *up, size_t view, double x, double y, double *column, double *row) {
    const double *m = up->map[view];
    double w = m[6] * x + m[7] * y + m[8];
    *column = (m[0] * x + m[1] * y + m[2]) / w;
    *row = (m[3] * x + m[4] * y + m[5]) / w;
    if (up->curve) qb__curve_pixel(&up->curve[view], column, row);
}

void qb__virtual_detector_line(const qb__virtual_detector *up, size_t view, size_t at, double *column, double *row) {
    for (size_t i = 0; i < up->geometry.columns; i++) pixel(up, view, (double)i, (double)at, &column[i], &row[i]);
}

/* Find the range of rows of a line from some of its columns; between two of them less than one row is missed. */
static void rows_of_line(const qb__virtual_detector *up, size_t view, size_t at, double *low, double *high) {
    enum { LOOKS = 33 };
    double column[LOOKS], row[LOOKS], last = (double)up->geometry.columns - 1;
    double most = (double)up->real->columns - 0.5;
    for (int k = 0; k < LOOKS; k++) pixel(up, view, last * k / (LOOKS - 1), (double)at, &column[k], &row[k]);
    for (int k = 0; k < LOOKS; k++) {
        bool near = false;
        for (int j = k > 0 ? k - 1 : 0; j <= k + 1 && j < LOOKS; j++)
            near = near || (column[j] >= -0.5 && column[j] <= most);
        if (near && row[k] < *low) *low = row[k];
        if (near && row[k] > *high) *high = row[k];
    }
}

void qb__virtual_detector_rows(const qb__virtual_detector *up, size_t row0, size_t row1, size_t margin, size_t *first,
                               size_t *end) {
    double low = INFINITY, high = -INFINITY, rows = (double)up->real->rows;
    size_t views = up->different ? up->geometry.views : 1;
    for (size_t i = 0; i < views && row0 < row1; i++) {
        rows_of_line(up, i, row0, &low, &high);
        rows_of_line(up, i, row1 - 1, &low, &high);
    }
    low = floor(low) - 1 - (double)margin;
    high = ceil(high) + 2 + (double)margin;
    *first = *end = 0;
    if (!(low < rows && high > 0)) return;
    *first = low > 0 ? (size_t)low : 0;
    *end = high < rows ? (size_t)high : up->real->rows;
}
