/* SPDX-License-Identifier: MIT */
#include "ops/project_slabs.h"

#include <stdint.h>

#include "base/log.h"
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
    size_t slices, plan_bytes; /* of the slabs that were asked for last: to see how rays run takes a while */
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

/* Forwards a volume of several slabs goes up for every block; back, projections of several blocks for every slab, which
 * takes as long as the whole layers of tiles that it lies in. */
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

/* As many as usual, then more, then fewer. */
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
    const qb_status status = qb__cut_search(&space, &found, &fits);
    if (status != QB_OK) return status;
    *cut = (qb__slab_cut){{found.slices, found.views}, found.need.device, seconds(&a, &found)};
    return fits ? QB_OK : qb__device_no_room(cut->bytes, &(qb__room){.device = cap}, even_one, remedy, env);
}

/* ---- life ---- */

static void release(qb__slab_projector *p) {
    qb__joseph_plan_destroy(p->plan);
    qb__memory_destroy(p->slab);
    qb__memory_destroy(p->rays);
    qb__memory_destroy(p->plain);
    p->plan = NULL;
    p->slab = p->rays = p->plain = NULL;
}

static qb_status take(qb__slab_projector *p) {
    const qb__joseph_problem *of = &p->problem;
    qb__device *device = p->pick->device;
    const size_t slab = qb__joseph_slab_bytes(of, p->most.slices), rays = qb__joseph_block_bytes(of, p->most.views);
    qb_status status;
    QB__TRY(qb__joseph_plan_create(device, of, p->most, p->pick->choice.values, &p->plan));
    QB__TRY(qb__memory_create(device, slab, &p->slab));
    QB__TRY(qb__memory_create(device, rays, &p->rays));
    QB__TRY(qb__memory_create(device, plain_bytes(of, p->most), &p->plain));
    QB__TRY(qb__memory_fill(p->queue, p->slab, 0, 0, slab));
    QB__TRY(qb__memory_fill(p->queue, p->rays, 0, 0, rays));
    QB__TRY(qb__queue_finish(p->queue));
out:
    if (status != QB_OK) release(p);
    return status;
}

/* Thinner slabs first, then fewer views; false when nothing is left to take away. */
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

/* What the caller has queued for his arrays comes first. */
static qb_status await(qb__slab_projector *p, const qb__images *a, const qb__images *b) {
    qb_status status = a->array ? qb__tensor_device_await(a->array, p->queue) : QB_OK;
    return status == QB_OK && b->array ? qb__tensor_device_await(b->array, p->queue) : status;
}

/* Images first <= i < end, each of so many bytes, into what passes between the orders, and out of it. */
static qb_status bring(qb__slab_projector *p, const qb__images *images, size_t first, size_t end, size_t each) {
    if (!images->array)
        return qb__memory_upload(p->queue, p->plain, 0, images->from + first * (each / sizeof(float)),
                                 (end - first) * each);
    const qb__tensor_block block = qb__tensor_images(images->array, first, end - first);
    return qb__tensor_device_take(images->array, p->queue, &block, p->plain, 0);
}

static qb_status hand_over(qb__slab_projector *p, const qb__images *images, size_t first, size_t end, size_t each) {
    if (!images->array)
        return qb__memory_download(p->queue, p->plain, 0, images->to + first * (each / sizeof(float)),
                                   (end - first) * each);
    const qb__tensor_block block = qb__tensor_images(images->array, first, end - first);
    return qb__tensor_device_put(images->array, p->queue, &block, p->plain, 0);
}

static qb_status send_slab(qb__slab_projector *p, const qb__images *volume, size_t z0, size_t z1) {
    qb_status status;
    QB__TRY(bring(p, volume, z0, z1, slice_bytes(&p->problem)));
    QB__TRY(qb__joseph_to_lines(p->plan, p->queue, p->plain, 0, p->most.slices, z0, z1, p->slab));
out:
    return status;
}

/* A volume that is one slab stays for all blocks of views. */
static qb_status forward(qb__slab_projector *p, const qb__images *volume, size_t first, size_t end, const qb_env *env,
                         const qb__images *projections) {
    const size_t slices = p->problem.grid->n[2];
    qb_status status;
    QB__TRY(await(p, volume, projections));
    for (size_t v0 = first; v0 < end; v0 += p->most.views) {
        const size_t v1 = qb__smaller(v0 + p->most.views, end);
        for (size_t z0 = 0; z0 < slices; z0 += p->most.slices) {
            const size_t z1 = qb__smaller(z0 + p->most.slices, slices);
            QB__TRY(qb__check_cancel(env));
            if (v0 == first || p->most.slices < slices) QB__TRY(send_slab(p, volume, z0, z1));
            QB__TRY(qb__joseph_forward(p->plan, p->queue, p->slab, z0, z1, v0, v1, p->rays));
        }
        QB__TRY(qb__joseph_images(p->plan, p->queue, p->rays, v1 - v0, p->plain, 0));
        QB__TRY(hand_over(p, projections, v0 - first, v1 - first, image_bytes(&p->problem)));
        QB__TRY(qb__queue_finish(p->queue));
    }
out:
    return status;
}

qb_status qb__slab_projector_forward(qb__slab_projector *p, const qb__images *volume, size_t first, size_t end,
                                     const qb_env *env, const qb__images *projections) {
    return qb__queue_finish_after(p->queue, forward(p, volume, first, end, env, projections));
}

/* Views v0 <= v < v1 of the scan into a block that begins at `block`, zeros where the caller has none. */
static qb_status send_block(qb__slab_projector *p, const qb__images *projections, size_t first, size_t end,
                            size_t block, size_t v1) {
    const size_t from = qb__larger(first, block), to = qb__smaller(end, v1);
    qb_status status;
    QB__TRY(qb__memory_fill(p->queue, p->rays, 0, 0, qb__joseph_block_bytes(&p->problem, v1 - block)));
    QB__TRY(bring(p, projections, from - first, to - first, image_bytes(&p->problem)));
    QB__TRY(qb__joseph_columns_at(p->plan, p->queue, p->plain, 0, from - block, to - block, p->rays));
    QB__TRY(qb__queue_finish(p->queue));
out:
    return status;
}

/* Projections that are one block stay for all slabs. */
static qb_status adjoint(qb__slab_projector *p, const qb__images *projections, size_t first, size_t end,
                         bool accumulate, const qb_env *env, const qb__images *volume) {
    const size_t slices = p->problem.grid->n[2], views = p->problem.views;
    const size_t begin = first / QB__JOSEPH_VIEWS * QB__JOSEPH_VIEWS;
    qb_status status;
    QB__TRY(await(p, projections, volume));
    for (size_t z0 = 0; z0 < slices; z0 += p->most.slices) {
        const size_t z1 = qb__smaller(z0 + p->most.slices, slices);
        if (accumulate) QB__TRY(send_slab(p, volume, z0, z1));
        for (size_t v0 = begin; v0 < end; v0 += p->most.views) {
            const size_t whole = qb__round_up(end, QB__JOSEPH_VIEWS);
            const size_t v1 = qb__smaller(qb__smaller(v0 + p->most.views, whole), views);
            QB__TRY(qb__check_cancel(env));
            if (z0 == 0 || end - begin > p->most.views) QB__TRY(send_block(p, projections, first, end, v0, v1));
            QB__TRY(qb__joseph_adjoint(p->plan, p->queue, p->rays, v0, v1, p->slab, z0, z1, accumulate || v0 > begin));
        }
        QB__TRY(qb__joseph_from_lines(p->plan, p->queue, p->slab, z0, z1, 1, p->plain, 0));
        QB__TRY(hand_over(p, volume, z0, z1, slice_bytes(&p->problem)));
        QB__TRY(qb__queue_finish(p->queue));
    }
out:
    return status;
}

qb_status qb__slab_projector_adjoint(qb__slab_projector *p, const qb__images *projections, size_t first, size_t end,
                                     bool accumulate, const qb_env *env, const qb__images *volume) {
    return qb__queue_finish_after(p->queue, adjoint(p, projections, first, end, accumulate, env, volume));
}
