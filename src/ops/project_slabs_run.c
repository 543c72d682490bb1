/* SPDX-License-Identifier: MIT */
/* Projections on a device: the order of uploads, computing and downloads. */
#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "ops/project_slabs.h"

static size_t slice_bytes(const qb__joseph_problem *of) { return of->grid->n[0] * of->grid->n[1] * sizeof(float); }

static size_t image_bytes(const qb__joseph_problem *of) { return of->rows * of->columns * sizeof(float); }

/* Number of members that are computed together. */
static qb_status choose(qb__slab_projector *p, size_t members, size_t views, const qb_env *env, size_t *together) {
    const bool whole = p->most.slices >= p->problem.grid->n[2] && p->most.views >= views;
    const size_t most = whole && qb__joseph_batches(p->pick->choice.values) ? members : 1;
    const qb_status status = qb__slab_projector_room(p, most, env);
    *together = qb__smaller(most, p->members);
    return status;
}

/* ---- up and down ---- */

/* Wait for the work that the caller has queued for his arrays. */
static qb_status await(qb__slab_projector *p, const qb__images *a, const qb__images *b) {
    qb_status status = a->array ? qb__tensor_device_await(a->array, p->queue) : QB_OK;
    return status == QB_OK && b->array ? qb__tensor_device_await(b->array, p->queue) : status;
}

/* Images on the device, in the layout of images. */
typedef struct place {
    qb__memory *memory;
    size_t offset;
} place;

/* Images from `first` on: in the caller's array if that is on the device; else in p->plain. */
static place place_of(const qb__slab_projector *p, const qb__images *images, size_t first) {
    place at = {NULL, 0};
    if (images->array) at.memory = qb__tensor_device_dense(images->array, first, &at.offset);
    return at.memory ? at : (place){p->plain, 0};
}

/* Make images first <= i < end, of `each` bytes, available at place_of(): copy them there if the caller has them
 * elsewhere. hand_over() copies back. */
static qb_status bring(qb__slab_projector *p, const qb__images *images, size_t first, size_t end, size_t each) {
    if (!images->array)
        return qb__memory_upload(p->queue, p->plain, 0, images->from + first * (each / sizeof(float)),
                                 (end - first) * each);
    if (place_of(p, images, first).memory != p->plain) return QB_OK;
    const qb__tensor_block block = qb__tensor_images(images->array, first, end - first);
    return qb__tensor_device_take(images->array, p->queue, &block, p->plain, 0);
}

static qb_status hand_over(qb__slab_projector *p, const qb__images *images, size_t first, size_t end, size_t each) {
    if (!images->array)
        return qb__memory_download(p->queue, p->plain, 0, images->to + first * (each / sizeof(float)),
                                   (end - first) * each);
    if (place_of(p, images, first).memory != p->plain) return QB_OK;
    const qb__tensor_block block = qb__tensor_images(images->array, first, end - first);
    return qb__tensor_device_put(images->array, p->queue, &block, p->plain, 0);
}

/* Members of a batch, from `first` on. */
typedef struct some {
    size_t first, count;
} some;

static size_t image_of(const some *s, size_t each, size_t i) { return s->first * each + i; }

/* Each member has one slab, so that their slices lie one behind the other. */
static qb_status send_slab(qb__slab_projector *p, const some *s, const qb__images *volume, size_t z0, size_t z1) {
    const size_t slices = p->problem.grid->n[2], from = image_of(s, slices, z0);
    QB__OR_RETURN(bring(p, volume, from, from + s->count * (z1 - z0), slice_bytes(&p->problem)));
    const place at = place_of(p, volume, from);
    return qb__joseph_to_lines(p->plan, p->queue, at.memory, at.offset, p->most.slices, z0, z1, p->slab);
}

/* ---- forward ---- */

/* Line integrals of a block of views from its slabs. */
static qb_status sums_of(qb__slab_projector *p, const some *s, const qb__images *volume, bool send, size_t v0,
                         size_t v1, const qb_env *env, place to) {
    const size_t slices = p->problem.grid->n[2];
    const bool direct = p->most.slices >= slices && qb__joseph_is_direct(p->plan);
    for (size_t z0 = 0; z0 < slices; z0 += p->most.slices) {
        const size_t z1 = qb__smaller(z0 + p->most.slices, slices);
        QB__OR_RETURN(qb__check_cancel(env));
        if (send || p->most.slices < slices) QB__OR_RETURN(send_slab(p, s, volume, z0, z1));
        if (direct) return qb__joseph_forward_images(p->plan, p->queue, p->slab, v0, v1, to.memory, to.offset);
        QB__OR_RETURN(qb__joseph_forward(p->plan, p->queue, p->slab, z0, z1, v0, v1, p->rays));
    }
    return qb__joseph_images(p->plan, p->queue, p->rays, v1 - v0, to.memory, to.offset);
}

/* A volume of one slab stays on the device for all blocks of views. */
static qb_status forward(qb__slab_projector *p, const some *s, const qb__images *volume, size_t first, size_t end,
                         const qb_env *env, const qb__images *projections) {
    QB__OR_RETURN(qb__joseph_plan_batch(p->plan, s->count));
    for (size_t v0 = first; v0 < end; v0 += p->most.views) {
        const size_t v1 = qb__smaller(v0 + p->most.views, end), from = image_of(s, end - first, v0 - first);
        qb__joseph_watch_from(p->plan, from);
        QB__OR_RETURN(sums_of(p, s, volume, v0 == first, v0, v1, env, place_of(p, projections, from)));
        QB__OR_RETURN(hand_over(p, projections, from, from + s->count * (v1 - v0), image_bytes(&p->problem)));
        QB__OR_RETURN(qb__queue_finish(p->queue));
    }
    return QB_OK;
}

qb_status qb__slab_projector_forward(qb__slab_projector *p, size_t members, const qb__images *volume, size_t first,
                                     size_t end, const qb_env *env, const qb__images *projections) {
    size_t together;
    qb_status status = choose(p, members, end - first, env, &together);
    if (status == QB_OK) status = await(p, volume, projections);
    if (status == QB_OK) status = qb__joseph_watch(p->plan, p->queue, members * (end - first));
    for (size_t m = 0; status == QB_OK && m < members; m += together)
        status = forward(p, &(some){m, qb__smaller(together, members - m)}, volume, first, end, env, projections);
    if (status == QB_OK) status = qb__joseph_watched(p->plan, p->queue, &p->odd);
    return qb__queue_finish_after(p->queue, status);
}

/* ---- adjoint ---- */

/* Copy views v0 <= v < v1 of the scan into a block that begins at `block`, with zeros where the caller has none. */
static qb_status send_block(qb__slab_projector *p, const some *s, const qb__images *projections, size_t first,
                            size_t end, size_t block, size_t v1) {
    const size_t from = qb__larger(first, block), to = qb__smaller(end, v1), views = v1 - block,
                 image = image_of(s, end - first, from - first), each = image_bytes(&p->problem);
    const place at = place_of(p, projections, image);
    QB__OR_RETURN(bring(p, projections, image, image + s->count * (to - from), each));
    qb__joseph_watch_from(p->plan, image);
    if (to - from == views)
        return qb__joseph_columns(p->plan, p->queue, at.memory, at.offset, s->count * views, p->rays);
    QB__OR_RETURN(qb__memory_fill(p->queue, p->rays, 0, 0, s->count * qb__joseph_block_bytes(&p->problem, views)));
    for (size_t m = 0; m < s->count; m++) {
        const size_t view = m * views + from - block;
        qb__joseph_watch_from(p->plan, image + m * (to - from));
        QB__OR_RETURN(qb__joseph_columns_at(p->plan, p->queue, at.memory, at.offset + m * (to - from) * each, view,
                                            view + to - from, p->rays));
    }
    return QB_OK;
}

/* Projections of one block stay on the device for all slabs. */
static qb_status adjoint(qb__slab_projector *p, const some *s, const qb__images *projections, size_t first, size_t end,
                         bool accumulate, const qb_env *env, const qb__images *volume) {
    const size_t slices = p->problem.grid->n[2], views = p->problem.views;
    const size_t begin = first / QB__JOSEPH_VIEWS * QB__JOSEPH_VIEWS;
    QB__OR_RETURN(qb__joseph_plan_batch(p->plan, s->count));
    for (size_t z0 = 0; z0 < slices; z0 += p->most.slices) {
        const size_t z1 = qb__smaller(z0 + p->most.slices, slices), from = image_of(s, slices, z0);
        if (accumulate) QB__OR_RETURN(send_slab(p, s, volume, z0, z1));
        for (size_t v0 = begin; v0 < end; v0 += p->most.views) {
            const size_t whole = qb__round_up(end, QB__JOSEPH_VIEWS);
            const size_t v1 = qb__smaller(qb__smaller(v0 + p->most.views, whole), views);
            QB__OR_RETURN(qb__check_cancel(env));
            if (z0 == 0 || end - begin > p->most.views)
                QB__OR_RETURN(send_block(p, s, projections, first, end, v0, v1));
            QB__OR_RETURN(
                qb__joseph_adjoint(p->plan, p->queue, p->rays, v0, v1, p->slab, z0, z1, accumulate || v0 > begin));
        }
        const place to = place_of(p, volume, from);
        QB__OR_RETURN(qb__joseph_from_lines(p->plan, p->queue, p->slab, z0, z1, 1, to.memory, to.offset));
        QB__OR_RETURN(hand_over(p, volume, from, from + s->count * (z1 - z0), slice_bytes(&p->problem)));
        QB__OR_RETURN(qb__queue_finish(p->queue));
    }
    return QB_OK;
}

qb_status qb__slab_projector_adjoint(qb__slab_projector *p, size_t members, const qb__images *projections, size_t first,
                                     size_t end, bool accumulate, const qb_env *env, const qb__images *volume) {
    const size_t begin = first / QB__JOSEPH_VIEWS * QB__JOSEPH_VIEWS;
    size_t together;
    qb_status status = choose(p, members, end - begin, env, &together);
    if (status == QB_OK) status = await(p, projections, volume);
    if (status == QB_OK) status = qb__joseph_watch(p->plan, p->queue, members * (end - first));
    for (size_t m = 0; status == QB_OK && m < members; m += together)
        status = adjoint(p, &(some){m, qb__smaller(together, members - m)}, projections, first, end, accumulate, env,
                         volume);
    if (status == QB_OK) status = qb__joseph_watched(p->plan, p->queue, &p->odd);
    return qb__queue_finish_after(p->queue, status);
}
