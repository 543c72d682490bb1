/* SPDX-License-Identifier: MIT */
/* Conversion of projections between images, [row][column], and the kernels' columns of rays, multiplied by the rays'
 * lengths. */
#include <math.h>

#include "base/memory.h"
#include "ops/project.h"

typedef struct turn {
    const qb_projector *p;
    size_t view0, views;
    float *columns; /* [view][column][stride] */
    float *images;  /* [view][row][column] */
    bool forward;
    const qb__members *batch;
    atomic_size_t *odd; /* number of views with a non-finite value */
} turn;

static turn turn_of(const void *context, size_t *task) {
    turn t = *(const turn *)context;
    t.columns += *task / t.views * t.batch->sums;
    t.images += *task / t.views * t.batch->images;
    *task %= t.views;
    return t;
}

enum { TILE = 16 };

/* Flat sums already have the layout of images. */
static void scale_view(void *context, size_t task, int worker) {
    const turn of_member = turn_of(context, &task), *t = &of_member;
    const qb_projector *p = t->p;
    const size_t rows = p->geometry.rows, columns = p->geometry.columns;
    float *image = t->images + task * rows * columns, *lines = t->columns + task * rows * columns;
    bool odd = false;
    (void)worker;
    for (size_t c = 0; c < columns; c++) {
        const float length = (float)qb__flat_length(&p->flat[t->view0 + task].view, p->grid.voxel, c);
        for (size_t i = c; i < rows * columns; i += columns)
            if (t->forward)
                image[i] = lines[i] * length;
            else
                lines[i] = image[i] * length;
    }
    for (size_t i = 0; i < rows * columns; i++) odd |= !isfinite(image[i]);
    if (odd) atomic_fetch_add(t->odd, 1);
}

static void turn_view(void *context, size_t task, int worker) {
    const turn of_member = turn_of(context, &task), *t = &of_member;
    const qb_projector *p = t->p;
    const size_t rows = p->geometry.rows, columns = p->geometry.columns;
    float *image = t->images + task * rows * columns;
    float *lines = t->columns + task * qb__project_view_floats(p);
    bool odd = false;
    (void)worker;
    for (size_t c0 = 0; c0 < columns; c0 += TILE) {
        const size_t count = qb__smaller(TILE, columns - c0);
        qb__fan fan[TILE];
        for (size_t i = 0; i < count; i++) fan[i] = qb__fan_of(&p->geometry, &p->grid, t->view0 + task, c0 + i);
        for (size_t r = 0; r < rows; r++) {
            for (size_t i = 0; i < count; i++) {
                float length = (float)qb__fan_length(&fan[i], p->grid.voxel, (double)r);
                float *pixel = image + r * columns + c0 + i, *ray = lines + (c0 + i) * p->stride + r;
                if (t->forward)
                    *pixel = *ray * length;
                else
                    *ray = *pixel * length;
            }
        }
    }
    for (size_t i = 0; i < rows * columns; i++) odd |= !isfinite(image[i]);
    if (odd) atomic_fetch_add(t->odd, 1);
}

static void turn_batch(qb_projector *p, turn *t, size_t views) {
    t->views = views;
    qb__pool_for(p->pool, t->batch->members * views, p->flat ? scale_view : turn_view, t);
}

void qb__project_finish_batch(qb_projector *p, const qb__members *batch, size_t view0, size_t view1, const float *sums,
                              float *projections) {
    turn t = {p, view0, 0, (float *)sums, projections, true, batch, &p->odd};
    turn_batch(p, &t, view1 - view0);
}

void qb__project_spread_batch(qb_projector *p, const qb__members *batch, size_t view0, size_t view1,
                              const float *projections, float *values) {
    turn t = {p, view0, 0, values, (float *)projections, false, batch, &p->odd};
    turn_batch(p, &t, view1 - view0);
}

void qb__project_finish(qb_projector *p, size_t view0, size_t view1, const float *sums, float *projections) {
    qb__project_finish_batch(p, &(qb__members){.members = 1}, view0, view1, sums, projections);
}

void qb__project_spread(qb_projector *p, size_t view0, size_t view1, const float *projections, float *values) {
    qb__project_spread_batch(p, &(qb__members){.members = 1}, view0, view1, projections, values);
}
