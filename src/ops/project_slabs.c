/* SPDX-License-Identifier: MIT */
#include "ops/project_slabs.h"

#include <stdint.h>

#include "base/memory.h"
#include "base/status.h"

/* ---- how it is cut ---- */

static size_t slice_bytes(const qb__joseph_problem *of) { return of->grid->n[0] * of->grid->n[1] * sizeof(float); }

static size_t image_bytes(const qb__joseph_problem *of) { return of->rows * of->columns * sizeof(float); }

static size_t plain_bytes(const qb__joseph_problem *of, qb__joseph_most most) {
    return qb__larger(most.slices * slice_bytes(of), most.views * image_bytes(of));
}

static size_t device_bytes(const qb__joseph_problem *of, const qb__device_pick *pick, qb__joseph_most most) {
    return qb__joseph_plan_bytes(pick->device, of, most, pick->choice.values) + qb__joseph_slab_bytes(of, most.slices) +
           qb__joseph_block_bytes(of, most.views) + plain_bytes(of, most);
}

typedef struct asked {
    const qb__joseph_problem *of;
    const qb__device_pick *pick;
    /* Size of the slabs that were planned last. It is kept because finding the directions of the rays takes some
     * time. */
    size_t slices, plan_bytes;
} asked;

static qb__room need(void *context, const qb__cut *cut) {
    asked *a = context;
    const qb__joseph_most most = {cut->slices, cut->views};
    if (a->slices != cut->slices)
        a->plan_bytes = qb__joseph_plan_bytes(a->pick->device, a->of, most, a->pick->choice.values);
    a->slices = cut->slices;
    return (qb__room){.device = a->plan_bytes + qb__joseph_slab_bytes(a->of, most.slices) +
                                qb__joseph_block_bytes(a->of, most.views) + plain_bytes(a->of, most)};
}

/* Forward, a volume of several slabs is uploaded for every block of views; in the adjoint, projections of several
 * blocks are uploaded for every slab. A slab takes as long as the whole layers of tiles that it touches. */
static double seconds(void *context, const qb__cut *cut) {
    const asked *a = context;
    const qb__device_costs *costs = &a->pick->costs;
    const size_t slices = a->of->grid->n[2], tile = qb__joseph_tile_slices(a->pick->choice.values);
    const double volume = (double)slices * (double)slice_bytes(a->of),
                 lines = (double)a->of->views * (double)image_bytes(a->of);
    size_t layers = 0;
    for (size_t z = 0; z < slices; z += cut->slices)
        layers += qb__ceil_div(qb__smaller(z + cut->slices, slices), tile) - z / tile;
    const double again = cut->slabs > 1 ? (double)cut->blocks : 1, back = cut->blocks > 1 ? (double)cut->slabs : 1;
    return (again * volume + back * lines) / costs->up + (volume + lines) / costs->down +
           a->pick->choice.seconds * (1 + (double)layers / (double)qb__ceil_div(slices, tile)) +
           1e-4 * (double)cut->slabs * (double)cut->blocks;
}

/* The usual number of views, then more, then fewer. */
static size_t views_after(const void *engine, const qb__cut *cut, size_t before) {
    enum { USUAL = 4 * QB__JOSEPH_VIEWS };
    (void)cut;
    const size_t views = ((const asked *)engine)->of->views, usual = qb__smaller(USUAL, views);
    if (before == 0) return usual;
    if (before >= usual && before < views) return qb__smaller(2 * before, views);
    const size_t from = qb__smaller(before, usual), less = qb__round_up(from / 2, QB__JOSEPH_VIEWS);
    return less < from ? less : 0;
}

static const char even_one[] = "even one slice needs", remedy[] = "a smaller volume, or --device cpu";

qb_status qb__slab_projector_cut(const qb__joseph_problem *problem, const qb__device_pick *pick, size_t cap,
                                 const qb_env *env, qb__slab_cut *cut) {
    asked a = {.of = problem, .pick = pick};
    const qb__cut_space space = {.slices = problem->grid->n[2],
                                 .views = problem->views,
                                 .layers.thickness = qb__joseph_tile_slices(pick->choice.values),
                                 .most = problem->grid->n[2],
                                 .thinner = qb__thinner_layers,
                                 .views_after = views_after,
                                 .engine = &a,
                                 .cap = {SIZE_MAX, cap, 0},
                                 .need = need,
                                 .seconds = seconds,
                                 .context = &a};
    qb__cut found;
    bool fits;
    QB__OR_RETURN(qb__cut_search(&space, &found, &fits));
    *cut = (qb__slab_cut){{found.slices, found.views}, found.need.device, seconds(&a, &found)};
    return fits ? QB_OK : qb__device_no_room(cut->bytes, &(qb__room){.device = cap}, even_one, remedy, env);
}

/* ---- create and destroy ---- */

static void release_arrays(qb__slab_projector *p) {
    QB__MEMORY_DESTROY(p->slab, p->rays, p->plain);
    p->slab = p->rays = p->plain = NULL;
    p->members = 0;
}

static void release(qb__slab_projector *p) {
    qb__joseph_plan_destroy(p->plan);
    release_arrays(p);
    p->plan = NULL;
}

static qb_status take_arrays(qb__slab_projector *p, size_t members) {
    const qb__joseph_problem *of = &p->problem;
    qb__device *device = p->pick->device;
    const size_t slab = members * qb__joseph_slab_bytes(of, p->most.slices),
                 rays = members * qb__joseph_block_bytes(of, p->most.views);
    release_arrays(p);
    QB__OR_RETURN(qb__memory_create(device, slab, &p->slab));
    QB__OR_RETURN(qb__memory_create(device, rays, &p->rays));
    QB__OR_RETURN(qb__memory_create(device, members * plain_bytes(of, p->most), &p->plain));
    QB__OR_RETURN(qb__memory_fill(p->queue, p->slab, 0, 0, slab));
    QB__OR_RETURN(qb__memory_fill(p->queue, p->rays, 0, 0, rays));
    QB__OR_RETURN(qb__queue_finish(p->queue));
    p->members = members;
    return QB_OK;
}

static qb_status take(qb__slab_projector *p) {
    qb_status status = qb__joseph_plan_create(p->pick->device, &p->problem, p->most, p->pick->choice.values, &p->plan);
    if (status == QB_OK) status = take_arrays(p, 1);
    if (status != QB_OK) release(p);
    return status;
}

/* Thinner slabs first, then fewer views; false if it cannot become smaller. */
static bool less(qb__slab_projector *p) {
    if (p->most.slices > 1)
        p->most.slices = (p->most.slices + 1) / 2;
    else if (p->most.views > QB__JOSEPH_VIEWS)
        p->most.views = QB__JOSEPH_VIEWS;
    else
        return false;
    return true;
}

qb_status qb__slab_projector_open(const qb__joseph_problem *problem, const qb__device_pick *pick, qb__joseph_most most,
                                  const qb_env *env, qb__slab_projector *p) {
    *p = (qb__slab_projector){.problem = *problem, .pick = pick, .most = most};
    qb_status status = qb__queue_create(pick->device, &p->queue);
    if (status != QB_OK) return status;
    while ((status = take(p)) == QB_NO_MEMORY && less(p)) {}
    return status == QB_NO_MEMORY
               ? qb__device_no_room(device_bytes(problem, pick, p->most), NULL, even_one, remedy, env)
               : status;
}

void qb__slab_projector_close(qb__slab_projector *p) {
    if (p->queue) qb__queue_finish(p->queue);
    release(p);
    qb__queue_destroy(p->queue);
    p->queue = NULL;
}

qb_status qb__slab_projector_room(qb__slab_projector *p, size_t members, const qb_env *env) {
    if (members <= p->members) return QB_OK;
    const qb__joseph_problem *of = &p->problem;
    const size_t cap = qb__device_pick_cap(p->pick, env), one = device_bytes(of, p->pick, p->most),
                 each = one - qb__joseph_plan_bytes(p->pick->device, of, p->most, p->pick->choice.values) +
                        qb__joseph_member_bytes(of);
    qb_status status;
    members = qb__smaller(members, qb__joseph_members_most(of));
    members = qb__smaller(members, 1 + (cap > one ? (cap - one) / each : 0));
    if (members <= p->members) return QB_OK;
    while ((status = take_arrays(p, members)) == QB_NO_MEMORY && members > 1) members = (members + 1) / 2;
    return status;
}
