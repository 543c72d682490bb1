/* SPDX-License-Identifier: MIT */
#include "kernels/project_joseph/project_joseph_device.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "geometry/fan.h"
#include "geometry/grid.h"
#include "geometry/matrix.h"

enum { FAN = 16, VIEW = 64 };

/* ---- upright geometries ---- */

/* The minimum of |p + t q| for 0 <= t <= 1, in the x-y plane. */
static double nearest(const double *p, const double *q) {
    const double square = q[0] * q[0] + q[1] * q[1];
    double t = square > 0 ? -(p[0] * q[0] + p[1] * q[1]) / square : 0;
    t = fmin(fmax(t, 0), 1);
    return hypot(p[0] + t * q[0], p[1] + t * q[1]);
}

/* A fifth wider than necessary, because near 45 degrees the estimate is often too small. */
static bool climbs(const qb_geometry *g, const qb_grid *grid, size_t view) {
    const qb_grid unit = {.n = {1, 1, 1}, .voxel = {grid->voxel[0], grid->voxel[1], grid->voxel[2]}};
    const size_t step = g->radius > 0 ? 1 : g->columns > 1 ? g->columns - 1 : 1;
    const double last = (double)(g->rows - 1);
    for (size_t c = 0; c < g->columns; c += step) {
        const qb__fan a = qb__fan_of(g, &unit, view, c);
        const qb__fan b = qb__fan_of(g, &unit, view, qb__smaller(c + step, g->columns - 1));
        const double across[2] = {b.along[0] - a.along[0], b.along[1] - a.along[1]};
        double most = 0;
        for (int i = 0; i < 4; i++) {
            const qb__fan *f = i & 1 ? &a : &b;
            most = fmax(most, fabs(f->along[2] + (i & 2 ? last : 0) * f->along_step[2]));
        }
        if (most > 0.7 * nearest(a.along, across)) return true;
    }
    return false;
}

bool qb__joseph_is_vertical(const qb_geometry *g, const qb_grid *grid) {
    for (size_t v = 0; v < g->views; v++)
        if (g->view[v].v[0] != 0 || g->view[v].v[1] != 0 || climbs(g, grid, v)) return false;
    return true;
}

/* ---- records ---- */

static void put(float *at, double value) {
    at[0] = (float)value;
    at[1] = (float)(value - (double)at[0]);
}

/* A column of rays in its planes. */
typedef struct course {
    int axis;
    double b0, db, z0, dz, r0, dr;
    double first, last; /* planes in which tiles touch it; first > last: none */
} course;

static course course_of(const qb__fan *f) {
    course c = {.axis = qb__fan_axis(f, 0)};
    const int a = c.axis, b = 1 - a;
    c.db = f->along[b] / f->along[a];
    c.dz = f->along[2] / f->along[a];
    c.dr = f->along_step[2] / f->along[a];
    c.b0 = f->origin[b] - f->origin[a] * c.db;
    c.z0 = f->origin[2] - f->origin[a] * c.dz;
    c.r0 = f->origin_step[2] - f->origin[a] * c.dr;
    return c;
}

/* Sets the range of planes. A tile that the course crosses may begin, and end, tile->planes planes away from the
 * crossing. */
static void find_planes(course *c, const size_t n[3], const qb__joseph_tile *tile) {
    const double low = -2, high = (double)(n[1 - c->axis] + tile->lines + 1), more = (double)tile->planes;
    c->first = 0, c->last = (double)qb__round_up(n[c->axis], tile->planes);
    if (fabs(c->db) < 1e-9) {
        if (c->b0 < low - 1 || c->b0 > high + 1) c->last = -1;
        return;
    }
    const double from = (low - c->b0) / c->db, to = (high - c->b0) / c->db;
    c->first = fmax(c->first, floor(fmin(from, to)) - more);
    c->last = fmin(c->last, ceil(fmax(from, to)) + more);
}

static void put_fan(float *to, const course *c, const double voxel[3]) {
    const double parts[] = {c->b0, c->db, c->z0, c->dz, c->r0, c->dr};
    for (int i = 0; i < 6; i++) put(to + 2 * i, parts[i]);
    const double ahead = voxel[c->axis], lateral = voxel[1 - c->axis] * c->db;
    to[12] = (float)c->axis;
    to[13] = (float)(ahead * ahead + lateral * lateral);
}

static void put_view(float *to, const qb_geometry *g, const qb_grid *grid, size_t view, const qb__matrix *matrix) {
    const qb__fan first = qb__fan_of(g, grid, view, 0), next = qb__fan_of(g, grid, view, 1);
    for (int j = 0; j < 3; j++) {
        const double numbers[] = {
            first.along[j],  next.along[j] - first.along[j],   first.along_step[j],
            first.origin[j], next.origin[j] - first.origin[j], first.origin_step[j],
        };
        const double step = g->view[view].u[j] / grid->voxel[j];
        for (int i = 0; i < 6; i++) {
            const bool across = i % 3 == 1;
            const double value = across ? (numbers[i] != 0 ? step : 0) : numbers[i];
            float parts[2];
            put(parts, value);
            to[3 * i + j] = parts[0], to[18 + 3 * i + j] = parts[1];
        }
    }
    for (int i = 0; i < 12; i++) {
        float parts[2];
        put(parts, matrix->m[i / 4][i % 4]);
        to[36 + i] = parts[0], to[48 + i] = parts[1];
    }
}

/* ---- runs of columns ---- */

/* Smallest distance of two neighbouring columns over the planes; negative if b falls, 0 if they cross. */
static double apart(const course *a, const course *b, double from, double to) {
    const double step = b->db - a->db, first = b->b0 - a->b0 + from * step, end = b->b0 - a->b0 + to * step;
    if (!(first * end > 0)) return 0;
    return fabs(first) < fabs(end) ? first : end;
}

/* Results for a block of views. */
typedef struct making {
    int32_t (*runs[2])[4]; /* runs of each axis */
    size_t room[2], count[2];
    double nearest, least_row, climb;
    qb_status status;
} making;

/* Adds the runs of one view of the block and axis. */
static qb_status add_runs(making *m, const qb_grid *grid, const course *at, size_t columns, int axis, size_t view) {
    const double last = (double)(grid->n[axis] - 1);
    for (size_t c = 0; c < columns;) {
        if (at[c].axis != axis) {
            c++;
            continue;
        }
        size_t end = c + 1;
        double sign = 0;
        for (; end < columns && at[end].axis == axis; end++) {
            const course *a = &at[end - 1], *b = &at[end];
            const double step = apart(a, b, 0, last), from = fmin(a->first, b->first), to = fmax(a->last, b->last);
            if (step == 0 || step * sign < 0) break;
            sign = step;
            if (from <= to) m->nearest = fmin(m->nearest, fabs(apart(a, b, from, fmin(to, last))));
        }
        if (m->count[axis] == m->room[axis]) {
            int32_t(*more)[4];
            const size_t room = 2 * m->room[axis] + 64;
            QB__OR_RETURN(qb__alloc(room, sizeof *more, &more));
            if (m->count[axis]) memcpy(more, m->runs[axis], m->count[axis] * sizeof *more);
            qb__free(m->runs[axis]);
            m->runs[axis] = more, m->room[axis] = room;
        }
        int32_t *run = m->runs[axis][m->count[axis]++];
        run[0] = (int32_t)view;
        run[1] = (int32_t)(sign < 0 ? end - 1 : c);
        run[2] = (int32_t)(end - c);
        run[3] = sign < 0 ? -1 : 1;
        c = end;
    }
    return QB_OK;
}

/* Updates the smallest distance of a column's rows in the tiles that the column crosses, and the largest rise of its
 * rays from plane to plane there. The volume counts with the slices that complete its last tile. */
static void look_at_rows(making *m, const qb_grid *grid, const course *c, const qb__joseph_tile *tile) {
    const double top = (double)qb__round_up(grid->n[2], tile->slices);
    const double near = c->r0 + c->first * c->dr, far = c->r0 + c->last * c->dr;
    if (c->first > c->last) return;
    m->least_row = fmin(m->least_row, near * far > 0 ? fmin(fabs(near), fabs(far)) : 0);
    for (int i = 0; i < 4; i++) {
        const double k = i & 1 ? c->last : c->first, z = i & 2 ? top : 0;
        const double row = (z - c->z0 - k * c->dz) / (c->r0 + k * c->dr);
        m->climb = fmax(m->climb, fabs(c->dz + row * c->dr));
    }
}

/* Sets the window (floats of a column that a tile may read) and the number of columns that are copied; both are 0 if
 * they are too large for local memory. */
static void plan_window(qb__joseph_records *r, const making *m, double columns, const qb__joseph_tile *tile) {
    enum { MOST = 28 * 1024 };
    const double across = (double)(tile->slices - 1) + m->climb * (double)(tile->planes - 1);
    const double window = across / m->least_row + 2 * (double)r->reach + 9;
    r->window = r->staged = 0;
    if (!(window * columns * sizeof(float) < MOST)) return;
    r->window = qb__round_up((size_t)window, 32), r->staged = qb__round_up((size_t)columns, 8);
    if (r->window * r->staged * sizeof(float) > MOST) r->window = r->staged = 0;
}

typedef struct blocks {
    qb__joseph_records *r;
    const qb__joseph_problem *p;
    const qb__joseph_tile *tile;
    making *of; /* [r->blocks] */
} blocks;

static void make_block(void *context, size_t block, int worker) {
    const blocks *b = context;
    const qb_geometry *g = b->p->geometry;
    const qb_grid *grid = b->p->grid;
    const size_t first = block * b->r->block, views = qb__smaller(b->r->block, g->views - first);
    making *m = &b->of[block];
    course *at = NULL;
    qb_status status;
    (void)worker;
    QB__TRY(qb__alloc(views * g->columns, sizeof *at, &at));
    for (size_t i = 0; i < views * g->columns; i++) {
        const size_t view = first + i / g->columns, column = i % g->columns;
        const qb__fan fan = qb__fan_of(g, grid, view, column);
        at[i] = course_of(&fan);
        put_fan(b->r->fans + (view * g->columns + column) * FAN, &at[i], grid->voxel);
        find_planes(&at[i], grid->n, b->tile);
        look_at_rows(m, grid, &at[i], b->tile);
    }
    for (int axis = 0; axis < 2; axis++)
        for (size_t v = 0; v < views; v++) QB__TRY(add_runs(m, grid, at + v * g->columns, g->columns, axis, v));
out:
    m->status = status;
    qb__free(at);
}

/* Joins the results of the blocks in order. */
static qb_status join(const blocks *b, making *all) {
    qb__joseph_records *r = b->r;
    size_t count = 0;
    qb_status status = QB_OK;
    for (size_t i = 0; i < r->blocks; i++) {
        const making *m = &b->of[i];
        if (status == QB_OK) status = m->status;
        count += m->count[0] + m->count[1];
        all->nearest = fmin(all->nearest, m->nearest);
        all->least_row = fmin(all->least_row, m->least_row);
        all->climb = fmax(all->climb, m->climb);
    }
    if (status == QB_OK) status = qb__alloc(qb__larger(count, 1), sizeof *r->runs, &r->runs);
    if (status != QB_OK) return status;
    count = 0;
    for (size_t i = 0; i < r->blocks; i++)
        for (int axis = 0; axis < 2; axis++) {
            const size_t some = b->of[i].count[axis];
            r->first_run[axis][i] = count;
            if (some) memcpy(r->runs + count, b->of[i].runs[axis], some * sizeof *r->runs);
            count += some;
        }
    r->first_run[0][r->blocks] = r->first_run[1][r->blocks] = count;
    return QB_OK;
}

static qb_status make_vertical(qb__joseph_records *r, const qb__joseph_problem *p, const qb__joseph_tile *tile,
                               making *all) {
    blocks b = {.r = r, .p = p, .tile = tile};
    qb_status status;
    QB__TRY(qb__alloc(p->views * p->columns, FAN * sizeof(float), &r->fans));
    for (int axis = 0; axis < 2; axis++)
        QB__TRY(qb__alloc(r->blocks + 1, sizeof *r->first_run[axis], &r->first_run[axis]));
    QB__TRY(qb__alloc(r->blocks, sizeof *b.of, &b.of));
    for (size_t i = 0; i < r->blocks; i++) b.of[i] = *all;
    if (p->pool) qb__pool_for(p->pool, r->blocks, make_block, &b);
    for (size_t i = 0; !p->pool && i < r->blocks; i++) make_block(&b, i, 0);
    status = join(&b, all);
out:
    for (size_t i = 0; b.of && i < 2 * r->blocks; i++) qb__free(b.of[i / 2].runs[i % 2]);
    qb__free(b.of);
    return status;
}

/* The axes that rays of a part of the detector may have: linear functions have their extremes at its corners. */
static int axes_between(const double corner[4][3]) {
    double least[3], most[3];
    for (int j = 0; j < 3; j++) {
        double low = INFINITY, high = -INFINITY;
        for (int i = 0; i < 4; i++) low = fmin(low, corner[i][j]), high = fmax(high, corner[i][j]);
        most[j] = fmax(fabs(low), fabs(high));
        least[j] = low < 0 && high > 0 ? 0 : fmin(fabs(low), fabs(high));
    }
    int bits = 0;
    for (int j = 0; j < 3; j++) {
        const double other = fmax(least[(j + 1) % 3], least[(j + 2) % 3]);
        if (most[j] >= other * (1 - 1e-6)) bits |= 1 << j;
    }
    return bits;
}

static int axes_of(const qb_geometry *g, const qb_grid *grid, size_t view) {
    enum { PARTS = 16 };
    const qb__fan fan = qb__fan_of(g, grid, view, 0);
    int bits = 0;
    for (int part = 0; part < PARTS * PARTS; part++) {
        double corner[4][3];
        for (int i = 0; i < 4; i++) {
            const double c = (part % PARTS + (i & 1)) * (double)(g->columns - 1) / PARTS;
            const double r = (part / PARTS + (i >> 1)) * (double)(g->rows - 1) / PARTS;
            for (int j = 0; j < 3; j++) {
                const double across = g->beam == QB_BEAM_CONE ? g->view[view].u[j] / grid->voxel[j] : 0;
                corner[i][j] = fan.along[j] + c * across + r * fan.along_step[j];
            }
        }
        bits |= axes_between(corner);
    }
    return bits;
}

static qb_status make_views(qb__joseph_records *r, const qb_geometry *g, const qb_grid *grid) {
    qb__matrix *matrix = NULL;
    qb_status status;
    QB__TRY(qb__alloc(g->views, VIEW * sizeof(float), &r->views));
    QB__TRY(qb__alloc(g->views, sizeof *r->axes, &r->axes));
    QB__TRY(qb__alloc(g->views, sizeof *matrix, &matrix));
    QB__TRY(qb__matrices_on_grid(g, grid, matrix));
    for (size_t v = 0; v < g->views; v++) {
        put_view(r->views + v * VIEW, g, grid, v, &matrix[v]);
        r->axes[v] = axes_of(g, grid, v);
    }
out:
    qb__free(matrix);
    return status;
}

/* The smallest of few values that is large enough, because each value is a program to compile. */
static size_t enough(double least, const size_t *of, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (least <= (double)of[i]) return of[i];
    return 0;
}

qb_status qb__joseph_records_make(const qb__joseph_problem *p, const qb__joseph_tile *tile,
                                  qb__joseph_records *records) {
    const qb_geometry *g = p->geometry;
    making m = {.nearest = INFINITY, .least_row = INFINITY};
    bool gathers = true;
    qb_status status = QB_OK;
    memset(records, 0, sizeof *records);
    records->block = QB__JOSEPH_VIEWS;
    records->blocks = qb__ceil_div(g->views, records->block);
    if (qb__joseph_is_vertical(g, p->grid)) {
        QB__TRY(make_vertical(records, p, tile, &m));
        const double reach = 1 / m.least_row - 0.5;
        const double cap = (double)(tile->lines + tile->planes + 2) / m.nearest + 3;
        records->reach = enough(reach, (const size_t[]){1, 2, 4}, 3);
        records->cap = enough(cap, (const size_t[]){32, 64, 128, 256}, 4);
        gathers = !records->reach || !records->cap;
        if (!gathers) plan_window(records, &m, cap, tile);
    }
    if (gathers && g->radius > 0)
        status = qb__fail(QB_UNSUPPORTED,
                          "a curved detector with many pixels to a voxel is projected by the CPU: --device cpu");
    else if (gathers)
        status = make_views(records, g, p->grid);
out:
    if (status != QB_OK) qb__joseph_records_destroy(records);
    return status;
}

void qb__joseph_records_destroy(qb__joseph_records *r) {
    QB__FREE(r->fans, r->views, r->runs, r->first_run[0], r->first_run[1], r->axes);
    memset(r, 0, sizeof *r);
}
