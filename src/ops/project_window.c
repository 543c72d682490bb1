/* SPDX-License-Identifier: MIT */
/* The part of the detector that sees a box of voxels. */
#include <math.h>

#include "geometry/curve.h"
#include "ops/project.h"

/* Limits of some numbers. */
typedef struct range {
    double low, high;
} range;

static void widen(range *r, double value) {
    if (!(value >= r->low)) r->low = value; /* NAN is kept */
    if (!(value <= r->high)) r->high = value;
}

/* The same columns and rows on a curved detector: columns keep their order; rows come closer to the row at the height
 * of the source, the more the farther from the line where plane and cylinder touch. */
static void curve_ranges(const qb_geometry *geometry, size_t view, range *columns, range *rows) {
    const qb__curve curve = qb__curve_of_view(geometry, view);
    const double flat[2] = {columns->low, columns->high}, edge[2] = {rows->low, rows->high};
    for (int i = 0; i < 4; i++) {
        double column = flat[i & 1], row = edge[i >> 1];
        qb__curve_pixel(&curve, &column, &row);
        *(i & 1 ? &columns->high : &columns->low) = column;
        widen(rows, row);
    }
}

/* A box in front of the source is seen within the convex hull of its corners. A ray touches a voxel if it passes less
 * than one voxel from its centre, hence the margin. */
qb__view_window qb__project_window(const qb_projector *p, size_t view, const size_t at[3], const size_t n[3]) {
    const qb_geometry *g = &p->geometry;
    const qb__view_window all = {0, g->columns, 0, g->rows};
    range columns = {INFINITY, -INFINITY}, rows = {INFINITY, -INFINITY};
    for (int corner = 0; corner < 8; corner++) {
        double place[3], pixel[3];
        for (int j = 0; j < 3; j++) place[j] = (double)at[j] + (corner >> j & 1 ? (double)n[j] + 0.001 : -1.001);
        qb__matrix_apply(&p->matrices[view], place[0], place[1], place[2], pixel);
        if (!(pixel[2] > 1e-6)) return all; /* the margin reaches behind the source */
        widen(&columns, pixel[0] / pixel[2]);
        widen(&rows, pixel[1] / pixel[2]);
    }
    if (g->radius > 0 && g->beam == QB_BEAM_PARALLEL) return all;
    if (g->radius > 0) curve_ranges(g, view, &columns, &rows);
    if (!(isfinite(columns.low + columns.high + rows.low + rows.high))) return all;
    double c0 = fmax(0, ceil(columns.low)), c1 = fmin((double)all.c1, floor(columns.high) + 1);
    double r0 = fmax(0, ceil(rows.low)), r1 = fmin((double)all.r1, floor(rows.high) + 1);
    if (!(c0 < c1 && r0 < r1)) return (qb__view_window){0, 0, 0, 0};
    return (qb__view_window){(size_t)c0, (size_t)c1, (size_t)r0, (size_t)r1};
}
