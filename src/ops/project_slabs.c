/* SPDX-License-Identifier: MIT */
#include "ops/project_slabs.h"

#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"

enum { MANY_VIEWS = 4 * QB__JOSEPH_VIEWS };

static size_t slice_floats(const qb__slab_projector *p) {
    return p->problem.grid->n[0] * p->problem.grid->n[1];
}

static size_t image_floats(const qb__slab_projector *p) {
    return p->problem.rows * p->problem.columns;
}

static size_t plain_bytes(const qb__slab_projector *p) {
    return qb__larger(p->most.slices * slice_floats(p), p->most.views * image_floats(p)) * sizeof(float);
}

static size_t device_bytes(const qb__slab_projector *p) {
    const qb__joseph_problem *of = &p->problem;
    return qb__joseph_plan_bytes(p->pick.device, of, p->most, p->pick.choice.values) +
           qb__joseph_slab_bytes(of, p->most.slices) + qb__joseph_block_bytes(of, p->most.views) + plain_bytes(p);
}

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
    qb__device *device = p->pick.device;
    const size_t slab = qb__joseph_slab_bytes(of, p->most.slices), rays = qb__joseph_block_bytes(of, p->most.views);
    qb_status status;
    QB__TRY(qb__joseph_plan_create(device, of, p->most, p->pick.choice.values, &p->plan));
    QB__TRY(qb__memory_create(device, slab, &p->slab));
    QB__TRY(qb__memory_create(device, rays, &p->rays));
    QB__TRY(qb__memory_create(device, plain_bytes(p), &p->plain));
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

qb_status qb__slab_projector_open(const qb__joseph_problem *problem, const char *kernel, const qb_env *env,
                                  qb__slab_projector *p) {
    static const char remedy[] = "a smaller volume, or --device cpu";
    bool named;
    qb_status status;
    *p = (qb__slab_projector){0};
    p->problem = *problem;
    QB__TRY(qb__project_pick(&p->pick, &p->problem, kernel, env, &named));
    p->most = (qb__joseph_most){problem->grid->n[2], qb__smaller(MANY_VIEWS, problem->views)};
    const size_t cap = qb__device_pick_cap(&p->pick, env);
    while (device_bytes(p) > cap)
        if (!less(p))
            return qb__device_no_room(device_bytes(p), &(qb__room){.device = cap}, "even one slice needs", remedy, env);
    QB__TRY(qb__queue_create(p->pick.device, &p->queue));
    while ((status = take(p)) == QB_NO_MEMORY && less(p)) {}
    if (status == QB_NO_MEMORY)
        status = qb__device_no_room(device_bytes(p), NULL, "even one slice needs", remedy, env);
out:
    return status;
}

void qb__slab_projector_close(qb__slab_projector *p) {
    if (p->queue) qb__queue_finish(p->queue);
    release(p);
    qb__queue_destroy(p->queue);
    p->queue = NULL;
    qb__device_pick_close(&p->pick);
}

static qb_status send_slab(qb__slab_projector *p, const float *volume, size_t z0, size_t z1) {
    qb_status status;
    QB__TRY(qb__memory_upload(p->queue, p->plain, 0, volume + z0 * slice_floats(p),
                              (z1 - z0) * slice_floats(p) * sizeof(float)));
    QB__TRY(qb__joseph_to_lines(p->plan, p->queue, p->plain, 0, p->most.slices, z0, z1, p->slab));
out:
    return status;
}

/* A volume that is one slab stays for all blocks of views. */
static qb_status forward(qb__slab_projector *p, const float *volume, size_t first, size_t end, const qb_env *env,
                         float *projections) {
    const size_t slices = p->problem.grid->n[2];
    qb_status status = QB_OK;
    for (size_t v0 = first; v0 < end; v0 += p->most.views) {
        const size_t v1 = qb__smaller(v0 + p->most.views, end);
        for (size_t z0 = 0; z0 < slices; z0 += p->most.slices) {
            const size_t z1 = qb__smaller(z0 + p->most.slices, slices);
            QB__TRY(qb__check_cancel(env));
            if (v0 == first || p->most.slices < slices) QB__TRY(send_slab(p, volume, z0, z1));
            QB__TRY(qb__joseph_forward(p->plan, p->queue, p->slab, z0, z1, v0, v1, p->rays));
        }
        QB__TRY(qb__joseph_images(p->plan, p->queue, p->rays, v1 - v0, p->plain, 0));
        QB__TRY(qb__memory_download(p->queue, p->plain, 0, projections + (v0 - first) * image_floats(p),
                                    (v1 - v0) * image_floats(p) * sizeof(float)));
        QB__TRY(qb__queue_finish(p->queue));
    }
out:
    return status;
}

qb_status qb__slab_projector_forward(qb__slab_projector *p, const float *volume, size_t first, size_t end,
                                     const qb_env *env, float *projections) {
    return qb__queue_finish_after(p->queue, forward(p, volume, first, end, env, projections));
}

/* Views v0 <= v < v1 of the scan into a block that begins at `block`, zeros where the caller has none. */
static qb_status send_block(qb__slab_projector *p, const float *projections, size_t first, size_t end, size_t block,
                            size_t v1) {
    const size_t from = qb__larger(first, block), to = qb__smaller(end, v1);
    qb_status status;
    QB__TRY(qb__memory_fill(p->queue, p->rays, 0, 0, qb__joseph_block_bytes(&p->problem, v1 - block)));
    QB__TRY(qb__memory_upload(p->queue, p->plain, 0, projections + (from - first) * image_floats(p),
                              (to - from) * image_floats(p) * sizeof(float)));
    QB__TRY(qb__joseph_columns_at(p->plan, p->queue, p->plain, 0, from - block, to - block, p->rays));
    QB__TRY(qb__queue_finish(p->queue));
out:
    return status;
}

static qb_status adjoint(qb__slab_projector *p, const float *projections, size_t first, size_t end, bool accumulate,
                         const qb_env *env, float *volume) {
    const size_t slices = p->problem.grid->n[2], views = p->problem.views;
    const size_t begin = first / QB__JOSEPH_VIEWS * QB__JOSEPH_VIEWS;
    qb_status status = QB_OK;
    for (size_t z0 = 0; z0 < slices; z0 += p->most.slices) {
        const size_t z1 = qb__smaller(z0 + p->most.slices, slices);
        if (accumulate) QB__TRY(send_slab(p, volume, z0, z1));
        for (size_t v0 = begin; v0 < end; v0 += p->most.views) {
            const size_t whole = qb__round_up(end, QB__JOSEPH_VIEWS);
            const size_t v1 = qb__smaller(qb__smaller(v0 + p->most.views, whole), views);
            QB__TRY(qb__check_cancel(env));
            QB__TRY(send_block(p, projections, first, end, v0, v1));
            QB__TRY(qb__joseph_adjoint(p->plan, p->queue, p->rays, v0, v1, p->slab, z0, z1,
                                       accumulate || v0 > begin));
        }
        QB__TRY(qb__joseph_from_lines(p->plan, p->queue, p->slab, z0, z1, 1, p->plain, 0));
        QB__TRY(qb__memory_download(p->queue, p->plain, 0, volume + z0 * slice_floats(p),
                                    (z1 - z0) * slice_floats(p) * sizeof(float)));
        QB__TRY(qb__queue_finish(p->queue));
    }
out:
    return status;
}

qb_status qb__slab_projector_adjoint(qb__slab_projector *p, const float *projections, size_t first, size_t end,
                                     bool accumulate, const qb_env *env, float *volume) {
    return qb__queue_finish_after(p->queue, adjoint(p, projections, first, end, accumulate, env, volume));
}
