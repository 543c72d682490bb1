/* SPDX-License-Identifier: MIT */
/* Trials of projection and its adjoint on devices. All data are on the device, and both run one after the other,
 * because a tuned kernel serves both. */
#include <math.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/status.h"
#include "bench/project_check.h"
#include "bench/trial/trial_kind.h"
#include "kernels/project_joseph/project_joseph_device.h"

typedef struct joseph_trial {
    qb__trial base; /* base.packed: rays; base.out: images or a volume in their usual layout */
    qb__joseph_problem problem;
    qb_geometry geometry;
    qb_grid grid;
    float *volume; /* noise */
    qb__trial_part part;
    /* used during an attempt */
    qb__joseph_plan *plan;
    qb__memory *from, *back; /* volumes, in the kernel's layout of lines */
} joseph_trial;

static size_t voxels(const joseph_trial *t) { return t->grid.n[0] * t->grid.n[1] * t->grid.n[2]; }
static size_t pixels(const joseph_trial *t) { return t->problem.views * t->problem.rows * t->problem.columns; }

/* ---- the problem ---- */

static qb_status make(qb__trial *trial, const qb__trial_sizes *s) {
    joseph_trial *t = (joseph_trial *)trial;
    trial->all = 1;
    t->grid = (qb_grid){.n = {s->nx, s->ny, s->nz}, .voxel = {1, 1, 1}};
    t->problem = (qb__joseph_problem){.views = s->views,
                                      .rows = s->rows,
                                      .columns = s->columns,
                                      .planes = qb__larger(s->nx, s->ny),
                                      .geometry = &t->geometry,
                                      .grid = &t->grid};
    QB__OR_RETURN(qb__project_circle(s, &t->geometry));
    QB__OR_RETURN(qb__alloc(voxels(t), sizeof *t->volume, &t->volume));
    qb__noise(t->volume, voxels(t), 20262);
    return qb__memory_create(trial->device, qb__larger(voxels(t), pixels(t)) * sizeof(float), &trial->out);
}

static void release(qb__trial *trial) {
    joseph_trial *t = (joseph_trial *)trial;
    qb_geometry_destroy(&t->geometry);
    qb__free(t->volume);
}

void qb__joseph_trial_part(qb__trial *trial, qb__trial_part part) { ((joseph_trial *)trial)->part = part; }

/* ---- one attempt ---- */

static qb_status open_attempt(qb__trial *trial, qb__trial_result *result) {
    joseph_trial *t = (joseph_trial *)trial;
    qb__joseph_lay_out(&t->problem, trial->values);
    const size_t nz = t->grid.n[2], lines = qb__joseph_slab_bytes(&t->problem, nz);
    result->block = t->problem.views;
    result->packed_bytes = qb__joseph_block_bytes(&t->problem, t->problem.views);
    QB__OR_RETURN(qb__joseph_plan_create(trial->device, &t->problem, (qb__joseph_most){nz, t->problem.views},
                                         trial->values, &t->plan));
    QB__OR_RETURN(qb__memory_create(trial->device, lines, &t->from));
    QB__OR_RETURN(qb__memory_create(trial->device, lines, &t->back));
    QB__OR_RETURN(qb__memory_fill(trial->queue, t->from, 0, 0, lines));
    return qb__memory_fill(trial->queue, t->back, 0, 0, lines);
}

static void close_attempt(qb__trial *trial) {
    joseph_trial *t = (joseph_trial *)trial;
    qb__queue_finish(trial->queue);
    qb__joseph_plan_destroy(t->plan);
    QB__MEMORY_DESTROY(t->from, t->back);
    t->plan = NULL;
    t->from = t->back = NULL;
}

static qb_status forward(joseph_trial *t) {
    return qb__joseph_forward(t->plan, t->base.queue, t->from, 0, t->grid.n[2], 0, t->problem.views, t->base.packed);
}

/* Converts the volume to lines. Rays are set to zero, because a pass may not write all of them. */
static qb_status pack(qb__trial *trial) {
    joseph_trial *t = (joseph_trial *)trial;
    qb_status status;
    QB__TRY(qb__memory_fill(trial->queue, trial->packed, 0, 0, qb__memory_bytes(trial->packed)));
    QB__TRY(qb__memory_upload(trial->queue, trial->out, 0, t->volume, voxels(t) * sizeof *t->volume));
    QB__TRY(qb__joseph_to_lines(t->plan, trial->queue, trial->out, 0, t->grid.n[2], 0, t->grid.n[2], t->from));
    if (t->part == QB__TRIAL_ADJOINT) status = forward(t); /* the adjoint needs rays as input */
out:
    return status;
}

static qb_status pass(qb__trial *trial) {
    joseph_trial *t = (joseph_trial *)trial;
    qb_status status = QB_OK;
    if (t->part != QB__TRIAL_ADJOINT) status = forward(t);
    if (status == QB_OK && t->part != QB__TRIAL_FORWARD)
        status = qb__joseph_adjoint(t->plan, trial->queue, trial->packed, 0, t->problem.views, t->back, 0, t->grid.n[2],
                                    false);
    return status;
}

/* ---- errors ---- */

/* The error of the rays relative to the oracle, and the difference of both directions: <A x, A x> = <A'A x, x>. */
static qb_status error_of(qb__trial *trial, double *rel_l2) {
    joseph_trial *t = (joseph_trial *)trial;
    const size_t nz = t->grid.n[2];
    float *values;
    qb_status status = qb__alloc(qb__larger(voxels(t), pixels(t)), sizeof *values, &values);
    if (status != QB_OK) return status;
    QB__TRY(qb__joseph_images(t->plan, trial->queue, trial->packed, t->problem.views, trial->out, 0));
    QB__TRY(qb__memory_download(trial->queue, trial->out, 0, values, pixels(t) * sizeof *values));
    QB__TRY(qb__queue_finish(trial->queue));
    *rel_l2 = qb__project_error(&t->geometry, &t->grid, t->volume, values);
    if (t->part == QB__TRIAL_FORWARD) goto out;
    const double square = qb__project_dot(values, values, pixels(t));
    QB__TRY(qb__joseph_from_lines(t->plan, trial->queue, t->back, 0, nz, 1, trial->out, 0));
    QB__TRY(qb__memory_download(trial->queue, trial->out, 0, values, voxels(t) * sizeof *values));
    QB__TRY(qb__queue_finish(trial->queue));
    const double apart = fabs(qb__project_dot(values, t->volume, voxels(t)) - square) / square;
    if (!(apart <= *rel_l2)) *rel_l2 = apart; /* also if it is NaN */
out:
    qb__free(values);
    return status;
}

/* Updates as the planner counts them: samples of rays, for one direction or the mean of both. */
static double updates(const qb__trial *trial) {
    const joseph_trial *t = (const joseph_trial *)trial;
    const double one = qb__operation_of(QB__PROJECT_JOSEPH)->updates(&t->problem);
    return t->part == QB__TRIAL_BOTH ? 2 * one : one;
}

const qb__trial_kind qb__trial_joseph = {.operation = QB__PROJECT_JOSEPH,
                                         .on_device = true,
                                         .bytes = sizeof(joseph_trial),
                                         .problem = offsetof(joseph_trial, problem),
                                         .make = make,
                                         .release = release,
                                         .open = open_attempt,
                                         .close = close_attempt,
                                         .pack = pack,
                                         .pass = pass,
                                         .error = error_of,
                                         .updates = updates};
