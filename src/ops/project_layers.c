/* SPDX-License-Identifier: MIT */
/* The work of a projection: layers of bricks, one after the other; within one, tasks that share
 * nothing but what they read. */
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "ops/project.h"

enum { VIEWS = 16, COLUMNS = 64 }; /* of a forward task */

size_t qb__project_view_floats(const qb_projector *p) {
    return (p->flat ? p->geometry.rows : p->stride) * p->geometry.columns;
}

static size_t layer_bricks(const qb_projector *p) { return p->bricks[0] * p->bricks[1]; }

static size_t brick_floats(const qb_projector *p) {
    size_t stride;
    return qb__joseph_floats(p->side, &stride);
}

size_t qb__project_fan_bytes(size_t columns) {
    size_t fans = columns > VIEWS * COLUMNS ? columns : VIEWS * COLUMNS;
    return (fans * sizeof(qb__fan) + 63) / 64 * 64;
}

static size_t layer_bytes(const qb_projector *p) {
    return (p->flat ? qb__flat_floats(&p->grid) : layer_bricks(p) * brick_floats(p)) * sizeof(float);
}

size_t qb__project_fixed_bytes(const qb_projector *p) {
    return layer_bytes(p) + (size_t)qb__pool_threads(p->pool) * p->scratch_bytes;
}

/* Brick number `index` of the layer that begins at slice z0. */
static qb__joseph_brick brick_at(const qb_projector *p, size_t index, size_t z0, float *data) {
    const size_t place[3] = {index % p->bricks[0], index / p->bricks[0], 0};
    qb__joseph_brick b = {.data = data};
    for (int j = 0; j < 3; j++) {
        b.at[j] = j < 2 ? place[j] * p->side[j] : z0;
        b.n[j] = qb__smaller(p->side[j], p->grid.n[j] - b.at[j]);
    }
    qb__joseph_floats(b.n, &b.stride);
    return b;
}

/* One layer in hand, or some bricks. */
typedef struct work {
    qb_projector *p;
    size_t z0, slab0; /* first slice of the layer, of the slab */
    float *slab;
    size_t view0, view1;
    float *sums;  /* or values */
    size_t first; /* brick of the volume: of task 0, backwards */
} work;

/* A thread's scratch: fans, the kernel's own, a brick. */
typedef struct thread_scratch {
    qb__fan *fans;
    void *kernel;
    float *brick;
} thread_scratch;

static thread_scratch scratch_of(const qb_projector *p, int worker) {
    char *at = p->scratch[worker];
    size_t fans = qb__project_fan_bytes(p->geometry.columns);
    size_t own = p->variant->scratch_bytes(p->geometry.rows);
    return (thread_scratch){(qb__fan *)at, at + fans, (float *)(at + fans + own)};
}

static void pack_brick(void *context, size_t task, int worker) {
    const work *w = context;
    (void)worker;
    qb__joseph_brick b = brick_at(w->p, task, w->z0, w->p->layer + task * brick_floats(w->p));
    qb__joseph_pack(&b, w->slab, w->slab0, w->p->grid.n[0], w->p->grid.n[1]);
}

/* What columns c0 <= column < c1 of a view see of a brick. */
static void forward_brick(const work *w, const qb__joseph_brick *b, size_t view, size_t c0, size_t c1,
                          const qb__fan *fans, void *scratch) {
    const qb_projector *p = w->p;
    float *sums = w->sums + (view - w->view0) * qb__project_view_floats(p);
    qb__window seen = qb__project_window(p, view, b->at, b->n);
    if (seen.c0 < c0) seen.c0 = c0;
    if (seen.c1 > c1) seen.c1 = c1;
    if (seen.c0 >= seen.c1) return;
    p->variant->forward(b, fans + (seen.c0 - c0), seen.c1 - seen.c0, seen.r0, seen.r1, sums + seen.c0 * p->stride,
                        p->stride, scratch);
}

static size_t column_blocks(const qb_projector *p) { return (p->geometry.columns + COLUMNS - 1) / COLUMNS; }

/* Brick by brick, so that one serves several views from the cache. */
static void forward_task(void *context, size_t task, int worker) {
    const work *w = context;
    const qb_projector *p = w->p;
    const thread_scratch d = scratch_of(p, worker);
    const size_t c0 = task % column_blocks(p) * COLUMNS;
    const size_t c1 = qb__smaller(c0 + COLUMNS, p->geometry.columns), count = c1 - c0;
    const size_t first = w->view0 + task / column_blocks(p) * VIEWS;
    const size_t end = qb__smaller(first + VIEWS, w->view1);
    for (size_t i = 0; i < (end - first) * count; i++)
        d.fans[i] = qb__fan_of(&p->geometry, &p->grid, first + i / count, c0 + i % count);
    for (size_t i = 0; i < layer_bricks(p); i++) {
        const qb__joseph_brick b = brick_at(p, i, w->z0, p->layer + i * brick_floats(p));
        for (size_t view = first; view < end; view++)
            forward_brick(w, &b, view, c0, c1, d.fans + (view - first) * count, d.kernel);
    }
}

static void adjoint_task(void *context, size_t task, int worker) {
    const work *w = context;
    const qb_projector *p = w->p;
    const thread_scratch d = scratch_of(p, worker);
    const size_t index = w->first + task, layer = index / layer_bricks(p);
    const qb__joseph_brick b = brick_at(p, index % layer_bricks(p), layer * p->side[2], d.brick);
    qb__joseph_pack(&b, w->slab, w->slab0, p->grid.n[0], p->grid.n[1]);
    for (size_t view = w->view0; view < w->view1; view++) {
        const qb__window seen = qb__project_window(p, view, b.at, b.n);
        const float *values = w->sums + (view - w->view0) * qb__project_view_floats(p);
        for (size_t c = seen.c0; c < seen.c1; c++) d.fans[c - seen.c0] = qb__fan_of(&p->geometry, &p->grid, view, c);
        p->variant->adjoint(&b, d.fans, seen.c1 - seen.c0, seen.r0, seen.r1, values + seen.c0 * p->stride, p->stride,
                            d.kernel);
    }
    qb__joseph_unpack(&b, w->slab, w->slab0, p->grid.n[0], p->grid.n[1]);
}

/* ---- few slices (project_flat.h) ---- */

static qb__flat_work flat_work(const work *w) {
    const qb_projector *p = w->p;
    return (qb__flat_work){p->variant, &p->geometry, &p->grid, p->flat, w->view0, w->view1, w->sums, p->layer};
}

typedef struct seen_by {
    const qb_projector *p;
    size_t at[3], n[3];
} seen_by;

static qb__flat_columns columns_of(const void *context, size_t view) {
    const seen_by *s = context;
    const qb__window window = qb__project_window(s->p, view, s->at, s->n);
    return (qb__flat_columns){window.c0, window.c1};
}

static void flat_adjoint_task(void *context, size_t task, int worker) {
    const work *w = context;
    const qb__flat_work flat = flat_work(w);
    seen_by s = {.p = w->p};
    qb__project_brick(w->p, w->first + task, s.at, s.n);
    qb__flat_back(&flat, s.at, s.n, columns_of, &s, w->slab, w->p->scratch[worker]);
}

static qb_status check_slab(const qb_projector *p, size_t z0, size_t z1) {
    bool fits = z0 < z1 && z1 <= p->grid.n[2] && z0 % p->side[2] == 0 && (z1 % p->side[2] == 0 || z1 == p->grid.n[2]);
    return fits ? QB_OK : qb__fail(QB_INTERNAL, "slices %zu to %zu are no layers", z0, z1);
}

qb_status qb__project_add(qb_projector *p, const float *slab, size_t z0, size_t z1, size_t view0, size_t view1,
                          float *sums, const qb_env *env) {
    qb_status status = check_slab(p, z0, z1);
    if (status == QB_OK && !p->layer) status = qb__alloc(layer_bytes(p), 1, &p->layer);
    size_t tasks = (view1 - view0 + VIEWS - 1) / VIEWS * column_blocks(p);
    work w = {.p = p, .slab0 = z0, .slab = (float *)slab, .view0 = view0, .view1 = view1, .sums = sums};
    if (status == QB_OK && p->flat) {
        const qb__flat_work flat = flat_work(&w);
        status = qb__check_cancel(env);
        if (status == QB_OK) qb__flat_add(&flat, slab, p->pool);
        return status;
    }
    for (w.z0 = z0; status == QB_OK && w.z0 < z1; w.z0 += p->side[2]) {
        status = qb__check_cancel(env);
        if (status != QB_OK) break;
        qb__pool_for(p->pool, layer_bricks(p), pack_brick, &w);
        qb__pool_for(p->pool, tasks, forward_task, &w);
    }
    return status;
}

size_t qb__project_bricks(const qb_projector *p) { return layer_bricks(p) * p->bricks[2]; }

void qb__project_brick(const qb_projector *p, size_t brick, size_t at[3], size_t n[3]) {
    const qb__joseph_brick b = brick_at(p, brick % layer_bricks(p), brick / layer_bricks(p) * p->side[2], NULL);
    memcpy(at, b.at, sizeof b.at);
    memcpy(n, b.n, sizeof b.n);
}

qb_status qb__project_back(qb_projector *p, const float *values, size_t view0, size_t view1, size_t first, size_t end,
                           float *volume, const qb_env *env) {
    qb_status status = QB_OK;
    work w = {.p = p, .slab = volume, .view0 = view0, .view1 = view1, .sums = (float *)values};
    for (w.first = first; status == QB_OK && w.first < end; w.first += layer_bricks(p)) {
        status = qb__check_cancel(env);
        if (status == QB_OK)
            qb__pool_for(p->pool, qb__smaller(layer_bricks(p), end - w.first),
                         p->flat ? flat_adjoint_task : adjoint_task, &w);
    }
    return status;
}

/* ---- between [row][column] and columns of rays, with the rays' lengths ---- */

typedef struct turn {
    const qb_projector *p;
    size_t view0;
    float *columns; /* [view][column][stride] */
    float *images;  /* [view][row][column] */
    bool forward;
} turn;

enum { TILE = 16 };

/* Flat sums lie as images do already. */
static void scale_view(void *context, size_t task, int worker) {
    const turn *t = context;
    const qb_projector *p = t->p;
    const size_t rows = p->geometry.rows, columns = p->geometry.columns;
    float *image = t->images + task * rows * columns, *lines = t->columns + task * rows * columns;
    (void)worker;
    for (size_t c = 0; c < columns; c++) {
        const float length = (float)qb__flat_length(&p->flat[t->view0 + task].view, p->grid.voxel, c);
        for (size_t i = c; i < rows * columns; i += columns)
            if (t->forward)
                image[i] = lines[i] * length;
            else
                lines[i] = image[i] * length;
    }
}

static void turn_view(void *context, size_t task, int worker) {
    const turn *t = context;
    const qb_projector *p = t->p;
    const size_t rows = p->geometry.rows, columns = p->geometry.columns;
    float *image = t->images + task * rows * columns;
    float *lines = t->columns + task * qb__project_view_floats(p);
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
}

void qb__project_finish(qb_projector *p, size_t view0, size_t view1, const float *sums, float *projections) {
    turn t = {p, view0, (float *)sums, projections, true};
    qb__pool_for(p->pool, view1 - view0, p->flat ? scale_view : turn_view, &t);
}

void qb__project_spread(qb_projector *p, size_t view0, size_t view1, const float *projections, float *values) {
    turn t = {p, view0, values, (float *)projections, false};
    qb__pool_for(p->pool, view1 - view0, p->flat ? scale_view : turn_view, &t);
}
