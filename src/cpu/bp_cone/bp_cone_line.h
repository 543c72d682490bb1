/* SPDX-License-Identifier: MIT */
/* Shared by the bp_cone_matrix variants: one view seen from one tile of voxels.
 *
 * Tiles lie on a fixed lattice of the grid. For a tile and a view, u0 and v0 are the pixel of the tile's centre,
 * computed in double precision; U - u0 w and V - v0 w are small in the tile, so that the quotient has an error of about
 * 1e-5 pixels in single precision for any detector width. A line of voxels along x is limited to those whose rays hit
 * the window: each border of the window is a plane through the source, which gives an inequality that is linear in
 * x. */
#pragma once

#include "bp_cone.h"
#include "base/memory.h"

#include <math.h>

enum { CONE_TILE_X = 64, CONE_TILE_Y = 32, CONE_TILE_Z = 8 };

typedef struct cone_tile {
    qb__bp_cone_brick voxels; /* the wanted part of the tile */
    size_t x, y, z;           /* start of the tile */
} cone_tile;

typedef struct cone_view {
    /* rows of the matrix for voxels relative to the tile's start; u and v minus u0 w and v0 w */
    double u[4], v[4], w[4];
    int64_t u0, v0;
    double border[4][4]; /* positive inside the window */
    double inverse[4];   /* 1 / border[][0] */
} cone_view;

/* The lines of one plane of a tile. */
typedef struct cone_lines {
    _Alignas(64) float u[CONE_TILE_Y], v[CONE_TILE_Y], w[CONE_TILE_Y];
    _Alignas(64) double low[CONE_TILE_Y], high[CONE_TILE_Y]; /* limits of the voxels that see the window */
    _Alignas(64) int begin[CONE_TILE_Y], end[CONE_TILE_Y];   /* these limits in whole voxels, begin < end */
} cone_lines;

/* Keeps the border planes finite if they are parallel to x. */
#define CONE_PARALLEL 1e-200

static inline void cone_shift(double row[4], double x, double y, double z) {
    row[3] += row[0] * x + row[1] * y + row[2] * z;
}

static inline double cone_at(const double row[4], double x, double y, double z) {
    return row[0] * x + row[1] * y + row[2] * z + row[3];
}

static inline cone_view cone_view_of(const qb__bp_cone_problem *p, size_t view, const cone_tile *tile,
                                     qb__bp_cone_window window) {
    const double *m = p->matrix[view];
    cone_view c;
    for (int i = 0; i < 4; i++) c.u[i] = m[i], c.v[i] = m[4 + i], c.w[i] = m[8 + i];
    cone_shift(c.u, (double)tile->x, (double)tile->y, (double)tile->z);
    cone_shift(c.v, (double)tile->x, (double)tile->y, (double)tile->z);
    cone_shift(c.w, (double)tile->x, (double)tile->y, (double)tile->z);

    const double end[4] = {-1, (double)p->columns, (double)window.r0 - 1, (double)window.r1};
    for (int i = 0; i < 4; i++) {
        const double *row = i < 2 ? c.u : c.v, sign = i & 1 ? -1 : 1;
        for (int k = 0; k < 4; k++) c.border[i][k] = sign * (row[k] - end[i] * c.w[k]);
        double a = c.border[i][0];
        c.inverse[i] = 1 / (fabs(a) < CONE_PARALLEL ? CONE_PARALLEL : a);
    }

    /* The centre of the tile's part inside the grid, because only there w is positive. */
    double x = fmin(CONE_TILE_X, (double)(p->nx - tile->x)) / 2;
    double y = fmin(CONE_TILE_Y, (double)(p->ny - tile->y)) / 2;
    double z = fmin(CONE_TILE_Z, (double)(p->nz - tile->z)) / 2;
    x = fmax(0, x - 0.5), y = fmax(0, y - 0.5), z = fmax(0, z - 0.5);
    double w = cone_at(c.w, x, y, z);
    double u0 = floor(cone_at(c.u, x, y, z) / w), v0 = floor(cone_at(c.v, x, y, z) / w);
    /* Limited to the detector, so that a voxel that sees the detector is at most its width away. */
    u0 = fmin(fmax(u0, -1), (double)p->columns), v0 = fmin(fmax(v0, -1), (double)p->rows);
    for (int i = 0; i < 4; i++) c.u[i] -= u0 * c.w[i], c.v[i] -= v0 * c.w[i];
    c.u0 = (int64_t)u0, c.v0 = (int64_t)v0;
    return c;
}

/* Position of a tile relative to the window: whether a view needs no clipping there, or no work. It is evaluated for
 * the whole tile, so that it does not depend on the brick. */
enum cone_meeting { CONE_OUTSIDE, CONE_ACROSS, CONE_INSIDE };

static inline enum cone_meeting cone_meet(const cone_view *c) {
    const double size[3] = {CONE_TILE_X - 1, CONE_TILE_Y - 1, CONE_TILE_Z - 1};
    enum cone_meeting meeting = CONE_INSIDE;
    for (int i = 0; i < 4; i++) {
        double least = c->border[i][3], most = least;
        for (int k = 0; k < 3; k++) {
            const double across = c->border[i][k] * size[k];
            *(across < 0 ? &least : &most) += across;
        }
        if (!(most > 0)) return CONE_OUTSIDE;
        if (!(least > 0)) meeting = CONE_ACROSS;
    }
    return meeting;
}

/* The lines of plane z, counted from the tile's start, before clipping. */
static inline void cone_lines_of(cone_lines *lines, const cone_view *c, double z) {
    for (int y = 0; y < CONE_TILE_Y; y++) {
        lines->u[y] = (float)(c->u[1] * y + (c->u[2] * z + c->u[3]));
        lines->v[y] = (float)(c->v[1] * y + (c->v[2] * z + c->v[3]));
        lines->w[y] = (float)(c->w[1] * y + (c->w[2] * z + c->w[3]));
    }
}

/* The whole part of a line that belongs to the brick. */
static inline void cone_whole_lines(cone_lines *lines, const cone_tile *tile) {
    for (int y = 0; y < CONE_TILE_Y; y++) {
        lines->begin[y] = (int)(tile->voxels.x0 - tile->x);
        lines->end[y] = (int)(tile->voxels.x1 - tile->x);
    }
}

/* The voxels of plane z that belong to the brick and whose rays hit the window. */
static inline void cone_clip_lines(cone_lines *lines, const cone_view *c, const cone_tile *tile, double z) {
    const double from = (double)(tile->voxels.x0 - tile->x);
    const double to = (double)(tile->voxels.x1 - tile->x) - 1;
    for (int y = 0; y < CONE_TILE_Y; y++) {
        lines->low[y] = from;
        lines->high[y] = to;
    }
    for (int i = 0; i < 4; i++) {
        const double *b = c->border[i], inverse = -c->inverse[i];
        const double first = b[2] * z + b[3], step = b[1];
        if (inverse < 0) {
            for (int y = 0; y < CONE_TILE_Y; y++) {
                double x = (step * y + first) * inverse;
                lines->low[y] = x > lines->low[y] ? x : lines->low[y];
            }
        } else {
            for (int y = 0; y < CONE_TILE_Y; y++) {
                double x = (step * y + first) * inverse;
                lines->high[y] = x < lines->high[y] ? x : lines->high[y];
            }
        }
    }
    for (int y = 0; y < CONE_TILE_Y; y++) {
        double low = lines->low[y] < CONE_TILE_X ? lines->low[y] : CONE_TILE_X;
        double high = lines->high[y] > -1 ? lines->high[y] : -1;
        lines->begin[y] = (int)low + (low > (double)(int)low);
        lines->end[y] = (int)(high + 1);
    }
}

static inline cone_tile cone_tile_at(qb__bp_cone_brick b, size_t x, size_t y, size_t z) {
    cone_tile t = {.x = x, .y = y, .z = z};
    t.voxels.x0 = qb__larger(x, b.x0), t.voxels.x1 = qb__smaller(x + CONE_TILE_X, b.x1);
    t.voxels.y0 = qb__larger(y, b.y0), t.voxels.y1 = qb__smaller(y + CONE_TILE_Y, b.y1);
    t.voxels.z0 = qb__larger(z, b.z0), t.voxels.z1 = qb__smaller(z + CONE_TILE_Z, b.z1);
    return t;
}

/* Step to the next tile of a brick, along x first; false after the last. */
static inline bool cone_first_tile(qb__bp_cone_brick b, cone_tile *tile) {
    *tile = cone_tile_at(b, b.x0 / CONE_TILE_X * CONE_TILE_X, b.y0 / CONE_TILE_Y * CONE_TILE_Y,
                         b.z0 / CONE_TILE_Z * CONE_TILE_Z);
    return b.x0 < b.x1 && b.y0 < b.y1 && b.z0 < b.z1;
}

static inline bool cone_next_tile(qb__bp_cone_brick b, const cone_tile *tile, cone_tile *next) {
    size_t x = tile->x + CONE_TILE_X, y = tile->y, z = tile->z;
    if (x >= b.x1) x = b.x0 / CONE_TILE_X * CONE_TILE_X, y += CONE_TILE_Y;
    if (y >= b.y1) y = b.y0 / CONE_TILE_Y * CONE_TILE_Y, z += CONE_TILE_Z;
    *next = cone_tile_at(b, x, y, z);
    return z < b.z1;
}
