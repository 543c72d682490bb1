/* SPDX-License-Identifier: MIT */
/* A projection is done in layers of bricks, one after the other; the tasks within a layer write to different memory. */
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "ops/project.h"

enum { VIEWS = 16, COLUMNS = 64 }; /* views and columns of a forward task */

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

static float *layer_of(const qb_projector *p, size_t member) {
    return p->layer + member * (layer_bytes(p) / sizeof *p->layer);
}

/* The current layer, or some bricks. */
typedef struct work {
    qb_projector *p;
    size_t z0, slab0; /* first slice of the layer; of the slab */
    float *slab;
    size_t view0, view1;
    float *sums;         /* sums, or values of the adjoint */
    size_t first;        /* adjoint: the brick of the volume that is task 0 */
    size_t packs, tasks; /* per member of the batch */
    const qb__members *batch;
} work;

/* The member that a task works on; *task becomes its number within the member. */
static work member_of(const void *context, size_t *task, size_t each, size_t *member) {
    work w = *(const work *)context;
    *member = *task / each;
    *task %= each;
    w.slab += *member * w.batch->volume;
    w.sums += *member * w.batch->sums;
    return w;
}

/* Scratch of a thread: fans, scratch of the kernel, a brick. */
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
    size_t member;
    (void)worker;
    const work w = member_of(context, &task, ((const work *)context)->packs, &member);
    qb__joseph_brick b = brick_at(w.p, task, w.z0, layer_of(w.p, member) + task * brick_floats(w.p));
    qb__joseph_pack(&b, w.slab, w.slab0, w.p->grid.n[0], w.p->grid.n[1]);
}

/* The part of a brick that columns c0 <= column < c1 of a view see. */
static void forward_brick(const work *w, const qb__joseph_brick *b, size_t view, size_t c0, size_t c1,
                          const qb__fan *fans, void *scratch) {
    const qb_projector *p = w->p;
    float *sums = w->sums + (view - w->view0) * qb__project_view_floats(p);
    qb__view_window seen = qb__project_window(p, view, b->at, b->n);
    if (seen.c0 < c0) seen.c0 = c0;
    if (seen.c1 > c1) seen.c1 = c1;
    if (seen.c0 >= seen.c1) return;
    p->variant->forward(b, fans + (seen.c0 - c0), seen.c1 - seen.c0, seen.r0, seen.r1, sums + seen.c0 * p->stride,
                        p->stride, scratch);
}

static size_t column_blocks(const qb_projector *p) { return (p->geometry.columns + COLUMNS - 1) / COLUMNS; }

/* Brick by brick, so that a brick in the cache serves several views. */
static void forward_task(void *context, size_t task, int worker) {
    size_t member;
    const work of_member = member_of(context, &task, ((const work *)context)->tasks, &member), *w = &of_member;
    const qb_projector *p = w->p;
    const thread_scratch d = scratch_of(p, worker);
    const size_t c0 = task % column_blocks(p) * COLUMNS;
    const size_t c1 = qb__smaller(c0 + COLUMNS, p->geometry.columns), count = c1 - c0;
    const size_t first = w->view0 + task / column_blocks(p) * VIEWS;
    const size_t end = qb__smaller(first + VIEWS, w->view1);
    for (size_t i = 0; i < (end - first) * count; i++)
        d.fans[i] = qb__fan_of(&p->geometry, &p->grid, first + i / count, c0 + i % count);
    for (size_t i = 0; i < layer_bricks(p); i++) {
        const qb__joseph_brick b = brick_at(p, i, w->z0, layer_of(p, member) + i * brick_floats(p));
        for (size_t view = first; view < end; view++)
            forward_brick(w, &b, view, c0, c1, d.fans + (view - first) * count, d.kernel);
    }
}

static void adjoint_task(void *context, size_t task, int worker) {
    size_t member;
    const work of_member = member_of(context, &task, ((const work *)context)->tasks, &member), *w = &of_member;
    const qb_projector *p = w->p;
    const thread_scratch d = scratch_of(p, worker);
    const size_t index = w->first + task, layer = index / layer_bricks(p);
    const qb__joseph_brick b = brick_at(p, index % layer_bricks(p), layer * p->side[2], d.brick);
    qb__joseph_pack(&b, w->slab, w->slab0, p->grid.n[0], p->grid.n[1]);
    for (size_t view = w->view0; view < w->view1; view++) {
        const qb__view_window seen = qb__project_window(p, view, b.at, b.n);
        const float *values = w->sums + (view - w->view0) * qb__project_view_floats(p);
        for (size_t c = seen.c0; c < seen.c1; c++) d.fans[c - seen.c0] = qb__fan_of(&p->geometry, &p->grid, view, c);
        p->variant->adjoint(&b, d.fans, seen.c1 - seen.c0, seen.r0, seen.r1, values + seen.c0 * p->stride, p->stride,
                            d.kernel);
    }
    qb__joseph_unpack(&b, w->slab, w->slab0, p->grid.n[0], p->grid.n[1]);
}

/* ---- few slices (project_flat.c) ---- */

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
    const qb__view_window window = qb__project_window(s->p, view, s->at, s->n);
    return (qb__flat_columns){window.c0, window.c1};
}

static void flat_adjoint_task(void *context, size_t task, int worker) {
    size_t member;
    const work of_member = member_of(context, &task, ((const work *)context)->tasks, &member), *w = &of_member;
    const qb__flat_work flat = flat_work(w);
    seen_by s = {.p = w->p};
    qb__project_brick(w->p, w->first + task, s.at, s.n);
    qb__flat_back(&flat, s.at, s.n, columns_of, &s, w->slab, w->p->scratch[worker]);
}

static qb_status check_slab(const qb_projector *p, size_t z0, size_t z1) {
    bool fits = z0 < z1 && z1 <= p->grid.n[2] && z0 % p->side[2] == 0 && (z1 % p->side[2] == 0 || z1 == p->grid.n[2]);
    return fits ? QB_OK : qb__fail(QB_INTERNAL, "slices %zu to %zu are no layers", z0, z1);
}

static const qb__members alone = {.members = 1};

/* Layers of all members are held at once; a flat batch is computed one by one and needs one layer. */
static qb_status make_layers(qb_projector *p, size_t members) {
    const size_t layers = p->flat ? 1 : members;
    if (p->layer && layers <= p->layers) return QB_OK;
    qb__free(p->layer);
    p->layer = NULL;
    p->layers = layers;
    return qb__alloc(layers, layer_bytes(p), &p->layer);
}

qb_status qb__project_add_batch(qb_projector *p, const qb__members *batch, const float *slab, size_t z0, size_t z1,
                                size_t view0, size_t view1, float *sums, const qb_env *env) {
    qb_status status = check_slab(p, z0, z1);
    if (status == QB_OK) status = make_layers(p, batch->members);
    work w = {.p = p, .slab0 = z0, .slab = (float *)slab, .view0 = view0, .view1 = view1, .sums = sums};
    w.batch = batch;
    w.packs = layer_bricks(p);
    w.tasks = qb__ceil_div(view1 - view0, VIEWS) * column_blocks(p);
    for (size_t m = 0; status == QB_OK && p->flat && m < batch->members; m++) {
        qb__flat_work flat = flat_work(&w);
        flat.lines += m * batch->sums;
        status = qb__check_cancel(env);
        if (status == QB_OK) qb__flat_add(&flat, slab + m * batch->volume, p->pool);
    }
    for (w.z0 = z0; status == QB_OK && !p->flat && w.z0 < z1; w.z0 += p->side[2]) {
        status = qb__check_cancel(env);
        if (status != QB_OK) break;
        qb__pool_for(p->pool, batch->members * w.packs, pack_brick, &w);
        qb__pool_for(p->pool, batch->members * w.tasks, forward_task, &w);
    }
    return status;
}

qb_status qb__project_add(qb_projector *p, const float *slab, size_t z0, size_t z1, size_t view0, size_t view1,
                          float *sums, const qb_env *env) {
    return qb__project_add_batch(p, &alone, slab, z0, z1, view0, view1, sums, env);
}

size_t qb__project_members_at_once(const qb_projector *p, size_t members, size_t views) {
    static const size_t BYTES = 256 << 20;
    const size_t each = qb__larger(p->flat ? 0 : layer_bytes(p), views * qb__project_view_floats(p) * sizeof(float));
    return qb__smaller(members, qb__larger(1, BYTES / each));
}

size_t qb__project_bricks(const qb_projector *p) { return layer_bricks(p) * p->bricks[2]; }

void qb__project_brick(const qb_projector *p, size_t brick, size_t at[3], size_t n[3]) {
    const qb__joseph_brick b = brick_at(p, brick % layer_bricks(p), brick / layer_bricks(p) * p->side[2], NULL);
    memcpy(at, b.at, sizeof b.at);
    memcpy(n, b.n, sizeof b.n);
}

qb_status qb__project_back_batch(qb_projector *p, const qb__members *batch, const float *values, size_t view0,
                                 size_t view1, size_t first, size_t end, float *volume, const qb_env *env) {
    qb_status status = QB_OK;
    work w = {.p = p, .slab = volume, .view0 = view0, .view1 = view1, .sums = (float *)values, .batch = batch};
    for (w.first = first; status == QB_OK && w.first < end; w.first += layer_bricks(p)) {
        status = qb__check_cancel(env);
        w.tasks = qb__smaller(layer_bricks(p), end - w.first);
        if (status == QB_OK)
            qb__pool_for(p->pool, batch->members * w.tasks, p->flat ? flat_adjoint_task : adjoint_task, &w);
    }
    return status;
}

qb_status qb__project_back(qb_projector *p, const float *values, size_t view0, size_t view1, size_t first, size_t end,
                           float *volume, const qb_env *env) {
    return qb__project_back_batch(p, &alone, values, view0, view1, first, end, volume, env);
}
