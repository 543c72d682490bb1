/* SPDX-License-Identifier: MIT */
/* Forward projection and adjoint of whole volumes: decisions. */
#include "ops/project.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "base/comm.h"
#include "base/fork.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "geometry/check.h"
#include "geometry/grid.h"
#include "planner/choose.h"

qb__joseph_problem qb__project_problem(const qb_geometry *geometry, const qb_grid *grid) {
    return (qb__joseph_problem){.views = geometry->views,
                                .rows = geometry->rows,
                                .columns = geometry->columns,
                                .planes = grid->n[0] > grid->n[1] ? grid->n[0] : grid->n[1],
                                .geometry = geometry,
                                .grid = grid};
}

static qb_status choose(const qb_geometry *geometry, const qb_grid *grid, const char *id,
                        const qb__joseph_variant **variant) {
    const qb__joseph_problem problem = qb__project_problem(geometry, grid);
    qb__choice choice;
    qb_status status = qb__choose(
        &(qb__question){
            .operation = QB__PROJECT_JOSEPH, .problem = &problem, .slices = 1, .accuracy = QB_ACCURACY_HIGH, .id = id},
        &choice);
    *variant = (const qb__joseph_variant *)choice.variant;
    return status;
}

static qb_status check_overlap(const qb_projector *p) {
    static const size_t from[3] = {0, 0, 0};
    for (size_t i = 0; i < p->geometry.views; i++) {
        qb__view_window window = qb__project_window(p, i, from, p->grid.n);
        if (window.c0 < window.c1) return QB_OK;
    }
    double middle[3];
    qb__matrix_apply(&p->matrices[0], 0.5 * (double)p->grid.n[0] - 0.5, 0.5 * (double)p->grid.n[1] - 0.5,
                     0.5 * (double)p->grid.n[2] - 0.5, middle);
    const double column = middle[0] / middle[2], row = middle[1] / middle[2];
    const bool between =
        column >= 0 && column < (double)p->geometry.columns && row >= 0 && row < (double)p->geometry.rows;
    return qb__fail(QB_BAD_INPUT,
                    "no view sees anything of the volume: in view 0 its middle falls on column "
                    "%.6g, row %.6g of a detector of %zu x %zu%s",
                    column, row, p->geometry.columns, p->geometry.rows,
                    between ? ", between the rays: make it larger than a pixel" : "");
}

static bool wants_device(const qb_env *env) { return qb__device_is_asked(env); }

static qb_status open_device(qb_projector *p, qb__joseph_problem *problem, const char *kernel, const qb_env *env) {
    qb__slab_cut cut;
    qb_status status = qb__device_set_open(env, &p->devices);
    if (status == QB_OK) status = qb__project_pick(&p->devices, problem, kernel, env, &p->pick);
    if (status != QB_OK) return status;
    status = qb__slab_projector_cut(problem, &p->pick, qb__device_pick_cap(&p->pick, env), env, &cut);
    return status == QB_OK ? qb__slab_projector_open(problem, &p->pick, cut.most, env, &p->device) : status;
}

qb_status qb_projector_create(const qb_geometry *geometry, const qb_grid *grid, const char *kernel, const qb_env *env,
                              qb_projector **out) {
    QB__NEED(geometry);
    QB__NEED(grid);
    QB__NEED(out);
    *out = NULL;
    qb_status status = qb__env_check(env);
    if (status != QB_OK) return status;
    if (!wants_device(env) && kernel && qb__kernel_of_device(kernel))
        return qb__fail(QB_BAD_ARGUMENT, "kernel %s runs on devices only: name one", kernel);
    qb_projector *p;
    const bool of_cpu = kernel && !qb__kernel_of_device(kernel);
    status = qb__projector_on_cpu(geometry, grid, false, wants_device(env) && of_cpu ? NULL : kernel, env, &p);
    if (status != QB_OK) return status;
    if (wants_device(env)) {
        qb__joseph_problem problem = qb__project_problem(&p->geometry, &p->grid);
        problem.pool = p->pool;
        p->on_device = true;
        status = open_device(p, &problem, kernel, env);
    }
    if (status == QB_OK)
        *out = p;
    else
        qb_projector_destroy(p);
    return status;
}

qb_status qb__projector_on_cpu(const qb_geometry *geometry, const qb_grid *grid, bool part, const char *kernel,
                               const qb_env *env, qb_projector **out) {
    *out = NULL;
    if (kernel && qb__kernel_of_device(kernel)) kernel = NULL;
    qb_projector *p;
    qb_status status = qb__alloc(1, sizeof *p, &p);
    if (status != QB_OK) return status;
    pthread_mutex_init(&p->at_work, NULL);
    p->forks = qb__forks();
    p->grid = *grid;
    QB__TRY(choose(geometry, grid, kernel, &p->variant));
    QB__TRY(qb__grid_check(grid));
    QB__TRY(qb__geometry_copy(geometry, &p->geometry));
    QB__TRY(qb__alloc(geometry->views, sizeof *p->matrices, &p->matrices));
    QB__TRY(qb__matrices_on_grid(&p->geometry, grid, p->matrices));
    if (!part) QB__TRY(check_overlap(p));
    qb__joseph_cut(grid->n, p->side, p->bricks);
    QB__TRY(qb__flat_rays_of(&p->geometry, grid, &p->flat));
    p->stride = (geometry->rows + 15) / 16 * 16;
    QB__TRY(qb__pool_create(env ? env->threads : 0, &p->pool));
    /* Scratch of a thread: fans, a brick, and scratch of the kernel. */
    size_t threads = (size_t)qb__pool_threads(p->pool), unused;
    p->scratch_bytes = qb__joseph_floats(p->side, &unused) * sizeof(float) + qb__project_fan_bytes(geometry->columns) +
                       p->variant->scratch_bytes(geometry->rows);
    if (p->flat)
        p->scratch_bytes =
            qb__flat_scratch_bytes(&(qb__flat_work){.variant = p->variant, .geometry = &p->geometry, .grid = grid});
    QB__TRY(qb__alloc(threads, sizeof *p->scratch, &p->scratch));
    for (size_t i = 0; i < threads; i++) QB__TRY(qb__alloc(p->scratch_bytes, 1, &p->scratch[i]));
    *out = p;
out:
    if (status != QB_OK) qb_projector_destroy(p);
    return status;
}

void qb_projector_destroy(qb_projector *p) {
    if (!p) return;
    if (p->on_device) {
        qb__slab_projector_close(&p->device);
        qb__device_set_close(&p->devices);
    }
    for (int i = 0; p->scratch && i < qb__pool_threads(p->pool); i++) qb__free(p->scratch[i]);
    qb__free(p->scratch);
    qb__pool_destroy(p->pool);
    QB__FREE(p->layer, p->flat, p->matrices, p->geometry.view);
    pthread_mutex_destroy(&p->at_work);
    qb__free(p);
}

const char *qb_projector_kernel(const qb_projector *projector) {
    if (!projector) return NULL;
    return projector->on_device ? projector->pick.choice.variant->id : projector->variant->head.id;
}

/* Number of views whose sums are held at a time. */
static size_t block(const qb_projector *p, size_t views) {
    enum { FEWEST = 16, BYTES = 256 << 20 };
    size_t fit = BYTES / (qb__project_view_floats(p) * sizeof(float));
    size_t most = fit > FEWEST ? fit : FEWEST;
    return views < most ? views : most;
}

static qb_status check(const qb_projector *p, size_t first, size_t end, const qb_env *env) {
    if (first < end && end <= p->geometry.views) return qb__env_check(env);
    return qb__fail(QB_BAD_ARGUMENT, "views %zu to %zu of a geometry that has %zu", first, end, p->geometry.views);
}

qb_status qb__project_enter(qb_projector *p, size_t first, size_t end, const qb_env *env) {
    enum { NANOSECONDS = 1000000000, ASKED = NANOSECONDS / 50 };
    qb_status status = check(p, first, end, env);
    if (status != QB_OK) return status;
    int call = qb__call_begin(); /* until qb__project_leave */
    if (call < 0) return qb__call_refused();
    if (p->forks != qb__forks())
        status = qb__fail(
            QB_BAD_ARGUMENT,
            "this projector was made before fork(), and its threads stayed in the other process: make one here");
    while (status == QB_OK) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += ASKED;
        if (until.tv_nsec >= NANOSECONDS) until.tv_sec++, until.tv_nsec -= NANOSECONDS;
        if (pthread_mutex_timedlock(&p->at_work, &until) == 0) return QB_OK;
        status = qb__check_cancel(env);
    }
    qb__call_end(&call);
    return status;
}

qb_status qb__project_leave(qb_projector *p, qb_status status) {
    int call = 0;
    pthread_mutex_unlock(&p->at_work);
    qb__call_end(&call);
    return status;
}

static size_t voxels_of(const qb_projector *p) { return p->grid.n[0] * p->grid.n[1] * p->grid.n[2]; }

/* Members of a batch are computed together if one block has all views; else one by one. */
static qb__members batch_of(const qb_projector *p, size_t members, size_t views, size_t block) {
    return (qb__members){.members = views > block ? 1 : qb__project_members_at_once(p, members, views),
                         .volume = voxels_of(p),
                         .sums = block * qb__project_view_floats(p),
                         .images = views * p->geometry.rows * p->geometry.columns};
}

static qb_status forward(qb_projector *p, size_t members, const float *volume, size_t first, size_t end,
                         const qb_env *env, float *projections) {
    const size_t views = block(p, end - first), image = p->geometry.rows * p->geometry.columns;
    qb__members batch = batch_of(p, members, end - first, views);
    float *sums = NULL;
    qb_status status;
    QB__TRY(qb__alloc(batch.members, batch.sums * sizeof *sums, &sums));
    for (size_t m = 0; m < members; m += batch.members) {
        batch.members = qb__smaller(batch.members, members - m);
        for (size_t view = first; view < end; view += views) {
            const size_t last = end - view < views ? end : view + views;
            memset(sums, 0, batch.members * batch.sums * sizeof *sums);
            QB__TRY(
                qb__project_add_batch(p, &batch, volume + m * batch.volume, 0, p->grid.n[2], view, last, sums, env));
            qb__project_finish_batch(p, &batch, view, last, sums,
                                     projections + m * batch.images + (view - first) * image);
        }
    }
out:
    qb__free(sums);
    return status;
}

static qb_status adjoint(qb_projector *p, size_t members, const float *projections, size_t first, size_t end,
                         bool accumulate, const qb_env *env, float *volume) {
    const size_t views = block(p, end - first), image = p->geometry.rows * p->geometry.columns;
    qb__members batch = batch_of(p, members, end - first, views);
    float *values = NULL;
    qb_status status;
    QB__TRY(qb__alloc(batch.members, batch.sums * sizeof *values, &values));
    if (!accumulate) memset(volume, 0, members * batch.volume * sizeof *volume);
    for (size_t m = 0; m < members; m += batch.members) {
        batch.members = qb__smaller(batch.members, members - m);
        for (size_t view = first; view < end; view += views) {
            const size_t last = end - view < views ? end : view + views;
            qb__project_spread_batch(p, &batch, view, last, projections + m * batch.images + (view - first) * image,
                                     values);
            QB__TRY(qb__project_back_batch(p, &batch, values, view, last, 0, qb__project_bricks(p),
                                           volume + m * batch.volume, env));
        }
    }
out:
    qb__free(values);
    return status;
}

/* Non-finite values of a volume appear in its projections; check whichever of the two is smaller. */
static qb_status check_finite(const qb_projector *p, const char *what, size_t members, size_t views, qb_status status) {
    const size_t odd = p->on_device ? p->device.odd : atomic_load(&p->odd);
    if (status != QB_OK || !odd) return status;
    return qb__fail(QB_BAD_ARGUMENT,
                    "%s: NaN or infinite values, in %zu of %zu views' line integrals: replace them first, as by 0",
                    what, odd, members * views);
}

qb_status qb__project_forward(qb_projector *p, size_t members, const qb__images *volume, size_t first, size_t end,
                              const qb_env *env, const qb__images *projections) {
    atomic_store(&p->odd, 0);
    const qb_status status = p->on_device
                                 ? qb__slab_projector_forward(&p->device, members, volume, first, end, env, projections)
                                 : forward(p, members, volume->from, first, end, env, projections->to);
    return check_finite(p, "the volume", members, end - first, status);
}

qb_status qb__project_adjoint(qb_projector *p, size_t members, const qb__images *projections, size_t first, size_t end,
                              bool accumulate, const qb_env *env, const qb__images *volume) {
    atomic_store(&p->odd, 0);
    const qb_status status =
        p->on_device ? qb__slab_projector_adjoint(&p->device, members, projections, first, end, accumulate, env, volume)
                     : adjoint(p, members, projections->from, first, end, accumulate, env, volume->to);
    return check_finite(p, "the projections", members, end - first, status);
}

qb_status qb_projector_forward(qb_projector *p, const float *volume, size_t first, size_t end, const qb_env *env,
                               float *projections) {
    QB__NEED(p);
    QB__NEED(volume);
    QB__NEED(projections);
    QB__OR_RETURN(qb__project_enter(p, first, end, env));
    return qb__project_leave(
        p, qb__project_forward(p, 1, &(qb__images){.from = volume}, first, end, env, &(qb__images){.to = projections}));
}

qb_status qb_projector_adjoint(qb_projector *p, const float *projections, size_t first, size_t end, bool accumulate,
                               const qb_env *env, float *volume) {
    QB__NEED(p);
    QB__NEED(projections);
    QB__NEED(volume);
    QB__OR_RETURN(qb__project_enter(p, first, end, env));
    return qb__project_leave(p, qb__project_adjoint(p, 1, &(qb__images){.from = projections}, first, end, accumulate,
                                                    env, &(qb__images){.from = volume, .to = volume}));
}
