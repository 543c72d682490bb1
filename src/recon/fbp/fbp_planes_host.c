/* SPDX-License-Identifier: MIT */
/* The computation of kernels/plane/plane_parallel.cl, on the CPU. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "recon/fbp/fbp_planes_parts.h"

/* Filtering of several views, with scratch for each thread. */
typedef struct filtering {
    qb_tool_planes *p;
    const qb__fbp *fbp;
    const float *lines;
    size_t first, scratch_bytes;
    char *scratch;
} filtering;

static qb_status each_view(filtering *f, size_t end, void (*run)(void *context, size_t task, int worker)) {
    qb__pool *pool = f->p->pool;
    const qb_status status = qb__alloc((size_t)qb__pool_threads(pool), f->scratch_bytes, &f->scratch);
    if (status == QB_OK) qb__pool_for(pool, end - f->first, run, f);
    qb__free(f->scratch);
    return status;
}

/* Resample a view's rows to those of a level detector. */
static void level_view(void *context, size_t task, int worker) {
    const filtering *f = context;
    const qb_tool_planes *p = f->p;
    const size_t image = task * p->rows * p->columns;
    size_t first, end;
    qb__rolled_rows_window(&f->fbp->rolled, 0, p->rows, &first, &end);
    qb__rolled_rows_view(&f->fbp->rolled, NULL, 0, 0, 1, p->rows, (const char *)(f->lines + image + first * p->columns),
                         p->level + image, p->columns, f->scratch + (size_t)worker * f->scratch_bytes, NULL);
}

qb_status qb__planes_level(qb_tool_planes *p, const qb__fbp *fbp, const float *lines, size_t first, size_t end) {
    filtering f = {p, fbp, lines, first, qb__rolled_rows_scratch(&fbp->rolled, p->rows), NULL};
    qb_status status = QB_OK;
    if (!p->pool) status = qb__pool_create(0, &p->pool);
    if (status == QB_OK && !p->level) status = qb__alloc(p->block * p->rows * p->columns, sizeof *p->level, &p->level);
    return status == QB_OK ? each_view(&f, end, level_view) : status;
}

/* Filter a view's rows. Rows that are wider than the detector begin and end with zeros. */
static void filter_view(void *context, size_t task, int worker) {
    const filtering *f = context;
    const qb__fbp *fbp = f->fbp;
    const size_t columns = f->p->columns, rows = f->p->rows, stride = f->p->stride;
    const float *from = f->lines + task * rows * columns;
    float *to = f->p->kept + (f->first + task) * rows * stride;
    for (size_t r = 0; r < rows; r++) {
        memset(to + r * stride, 0, stride * sizeof *to);
        for (size_t c = 0; c < columns; c++)
            to[r * stride + fbp->fan.before + c] = from[r * columns + c] * (fbp->share ? fbp->share[c] : 1);
    }
    qb__filter_rows(fbp->filter, to, rows, stride, 1, f->scratch + (size_t)worker * f->scratch_bytes);
}

qb_status qb__planes_host_filter(qb_tool_planes *p, const qb__fbp *fbp, const float *lines, size_t first, size_t end) {
    filtering f = {p, fbp, lines, first, qb__filter_scratch(fbp->filter), NULL};
    return each_view(&f, end, filter_view);
}

typedef struct making {
    const qb_tool_planes *p;
    const qb__fbp *fbp;
    const qb__plane_place *place;
    const qb_tool_plane *plane;
    float *out;
} making;

static float column_of(const float *row, int column, int columns) {
    return column >= 0 && column < columns ? row[column] : 0;
}

static float between(const float *row, int low, float share, int columns) {
    const bool inside = low >= 0 && low + 1 < columns;
    const float a = inside ? row[low] : column_of(row, low, columns);
    const float b = inside ? row[low + 1] : column_of(row, low + 1, columns);
    return a + share * (b - a);
}

/* Points of a line, with all that is the same in each view. */
enum { POINTS = 256 };
typedef struct some_points {
    float x[POINTS], y[POINTS];
    size_t row[POINTS];  /* place of the row below the point */
    float share[POINTS]; /* share of the row above it */
} some_points;

static void place_points(const making *m, size_t i, size_t first, size_t count, some_points *p) {
    const qb__plane_place *at = m->place;
    const float down = (float)i, last = (float)(m->p->rows - 1);
    for (size_t j = 0; j < count; j++) {
        const float right = (float)(first + j);
        p->x[j] = at->origin[0] + down * at->down[0] + right * at->right[0];
        p->y[j] = at->origin[1] + down * at->down[1] + right * at->right[1];
        const float row = fminf(fmaxf(at->origin[2] + down * at->down[2] + right * at->right[2], 0), last);
        p->row[j] = (size_t)row * m->p->stride;
        p->share[j] = row - (float)(size_t)row;
    }
}

static void add_view(const making *m, const qb__plane_view *view, const some_points *p, size_t count, float *line) {
    const int columns = (int)m->fbp->width;
    const float *rows = m->p->kept + view->at;
    for (size_t j = 0; j < count; j++) {
        const float h = view->ax * p->x[j] + view->ay * p->y[j] + view->h0;
        const int cut = (int)h, low = cut - ((float)cut > h); /* floor(h), without a call of the library */
        const float share = h - (float)low;
        float value = between(rows + p->row[j], low, share, columns);
        if (p->share[j] > 0)
            value += p->share[j] * (between(rows + p->row[j] + m->p->stride, low, share, columns) - value);
        line[j] += view->weight * value;
    }
}

static void make_line(void *context, size_t i, int worker) {
    const making *m = context;
    const size_t points = m->plane->points;
    float *line = m->out + i * points;
    some_points p;
    (void)worker;
    memset(line, 0, points * sizeof *line);
    for (size_t first = 0; first < points; first += POINTS) {
        const size_t count = qb__smaller(POINTS, points - first);
        place_points(m, i, first, count, &p);
        for (size_t v = 0; v < m->fbp->info->views && !(m->plane->gone && *m->plane->gone); v++)
            add_view(m, &m->p->view[v], &p, count, line + first);
    }
}

qb_status qb__planes_host_make(qb_tool_planes *p, const qb__fbp *fbp, const qb__plane_place *place,
                               const qb_tool_plane *plane, float *out) {
    making m = {p, fbp, place, plane, out};
    qb__pool_for(p->pool, plane->lines, make_line, &m);
    return plane->gone && *plane->gone ? qb__fail(QB_CANCELLED, "stopped") : QB_OK;
}
