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

static float between(const float *row, float h, int columns) {
    const int low = (int)floorf(h);
    const float share = h - (float)low, a = column_of(row, low, columns);
    return a + share * (column_of(row, low + 1, columns) - a);
}

static void make_line(void *context, size_t i, int worker) {
    const making *m = context;
    const qb__plane_place *at = m->place;
    const int columns = (int)m->fbp->width, last = (int)m->p->rows - 1;
    float *line = m->out + i * m->plane->points;
    (void)worker;
    memset(line, 0, m->plane->points * sizeof *line);
    for (size_t v = 0; v < m->fbp->info->views && !(m->plane->gone && *m->plane->gone); v++) {
        const qb__plane_view *view = &m->p->view[v];
        for (size_t j = 0; j < m->plane->points; j++) {
            const float down = (float)i, right = (float)j;
            const float x = at->origin[0] + down * at->down[0] + right * at->right[0];
            const float y = at->origin[1] + down * at->down[1] + right * at->right[1];
            const float row = fminf(fmaxf(at->origin[2] + down * at->down[2] + right * at->right[2], 0), (float)last);
            const float h = view->ax * x + view->ay * y + view->h0;
            const int low = (int)row;
            const float *from = m->p->kept + view->at + (size_t)low * m->p->stride;
            const float share = row - (float)low;
            float value = between(from, h, columns);
            if (share > 0) value += share * (between(from + m->p->stride, h, columns) - value);
            line[j] += view->weight * value;
        }
    }
}

qb_status qb__planes_host_make(qb_tool_planes *p, const qb__fbp *fbp, const qb__plane_place *place,
                               const qb_tool_plane *plane, float *out) {
    making m = {p, fbp, place, plane, out};
    qb__pool_for(p->pool, plane->lines, make_line, &m);
    return plane->gone && *plane->gone ? qb__fail(QB_CANCELLED, "stopped") : QB_OK;
}
