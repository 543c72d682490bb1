/* SPDX-License-Identifier: MIT */
/* A device as an engine of the projection: the slabs of the volume are added to a block of views, as on the CPU; the
 * sums stay on the device until the block is complete. A volume of one slab is uploaded once. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/tensor/tensor_stack.h"
#include "ops/project_slabs.h"
#include "recon/device_arrays.h"
#include "recon/project/projection.h"

typedef struct on_device {
    const qb__projection *p;
    size_t value_bytes; /* bytes of a pixel in the file */
    qb__joseph_problem problem;
    qb__device_pick pick;
    /* while running */
    qb__projection *reading;  /* the same as p, writable: the engine may take over reading */
    qb__device_arrays arrays; /* arrays used in place */
    const qb__running *run;
    qb__joseph_most most;
    qb__queue *queue;
    qb__joseph_plan *plan;
    qb__memory *slab, *rays, *plain;
} on_device;

static size_t slice_bytes(const on_device *d) { return d->p->grid.n[0] * d->p->grid.n[1] * sizeof(float); }

static qb__joseph_most most_of(const qb__cut *cut) { return (qb__joseph_most){cut->slices, cut->views}; }

static size_t plain_bytes(const on_device *d, const qb__cut *cut) {
    return qb__larger(cut->slices * slice_bytes(d), cut->views * qb__projection_pixels(d->p) * sizeof(float));
}

static size_t device_bytes(const on_device *d, const qb__cut *cut) {
    const qb__joseph_problem *of = &d->problem;
    return qb__joseph_plan_bytes(d->pick.device, of, most_of(cut), d->pick.choice.values) +
           qb__joseph_slab_bytes(of, cut->slices) + qb__joseph_block_bytes(of, cut->views) + plain_bytes(d, cut);
}

static qb__room memory(void *state, const qb__cut *cut) {
    const on_device *d = state;
    qb__room room = {.host = qb__projection_raw_bytes(d->p, cut), .device = device_bytes(d, cut)};
    room.host += qb__device_pick_host_bytes(&d->pick, room.device);
    return room;
}

/* The volume on this device; NULL if it is elsewhere, or if its values must be converted. */
static qb__tensor_device *volume_there(const on_device *d) {
    return qb__projection_plain(d->p) ? qb__device_array_on(qb__tensor_device_of(d->p->source), d->pick.device) : NULL;
}

/* Bytes of the volume that are uploaded: once, or once per block if it does not fit as a whole. */
static double bytes_up(const on_device *d, const qb__cut *cut) {
    return (double)slice_bytes(d) * (double)d->p->grid.n[2] * (cut->slabs > 1 ? (double)cut->blocks : 1);
}

static double pixels_of(const on_device *d) { return (double)d->p->scan.views * (double)qb__projection_pixels(d->p); }

/* Seconds of the only stage. */
static double project_seconds(const on_device *d, const qb__cut *cut) {
    const double up = volume_there(d) ? 0 : bytes_up(d, cut) / d->pick.costs.up,
                 down = 4 * pixels_of(d) / d->pick.costs.down;
    return d->pick.choice.seconds + up + down + 1e-4 * (double)cut->blocks * (double)cut->slabs;
}

/* Seconds of the job, with the rates of files as in projection_cpu.c. */
static double seconds(void *state, const qb__cut *cut) {
    const on_device *d = state;
    const qb__projection *p = d->p;
    const size_t *piece = p->source->chunk;
    const double blocks = (double)cut->blocks, pixels = pixels_of(d), compute = project_seconds(d, cut);
    const double read = bytes_up(d, cut) / 4 * (double)qb_dtype_size(p->source->dtype) /
                        (piece[0] * piece[1] * piece[2] > 1 ? 0.2e9 : 1.5e9);
    const double write = pixels * (double)d->value_bytes / 1e9;
    if (cut->slots < 2) return read + compute + write;
    return read + fmax(compute, write) + write / blocks;
}

/* Half as many views per block each time, down to one. */
static size_t views_after(const void *state, const qb__cut *cut, size_t before) {
    enum { MANY = 64 };
    (void)cut;
    if (before == 0) return qb__smaller(MANY, ((const on_device *)state)->p->scan.views);
    return before / 2;
}

static qb_status decide(const qb__task *task, void *plan, const qb_env *env, qb__offer *offer) {
    qb__projection *p = plan;
    on_device *d;
    QB__OR_RETURN(qb__alloc(1, sizeof *d, &d));
    offer->named = p->options->kernel;
    d->p = d->reading = p;
    d->value_bytes = qb__value_written(task->output);
    d->problem = qb__project_problem(&p->scan.geometry, &p->grid);
    offer->state = d;
    QB__OR_RETURN(qb__project_pick(task->devices, &d->problem, p->options->kernel, env, &d->pick));
    offer->named = p->options->kernel;
    offer->timed = true;
    offer->start = qb__device_pick_start(&d->pick, 4); /* kernels to compile: layout, forward, scale, adjoint */
    offer->space = (qb__cut_space){.slices = p->grid.n[2],
                                   .views = p->scan.views,
                                   .layers = {.thickness = 1},
                                   .most = p->grid.n[2],
                                   .thinner = qb__thinner_half,
                                   .views_after = views_after,
                                   .engine = d,
                                   .views_stream = true,
                                   .cap.device = qb__device_pick_cap(&d->pick, env)};
    return QB_OK;
}

/* ---- arrays in its memory ---- */

/* Copy the slices of a slab to d->plain, without gaps. */
static qb_status take(const on_device *d, const qb__projection_piece *k) {
    const qb__tensor *t = qb__tensor_of(d->arrays.from);
    const size_t *n = d->p->grid.n;
    const qb__tensor_block block = {(ptrdiff_t)k->z0 * t->stride[0],
                                    {k->z1 - k->z0, n[1], n[0]},
                                    {t->stride[0], t->stride[1], t->stride[2]},
                                    {(ptrdiff_t)(n[0] * n[1]), (ptrdiff_t)n[0], 1}};
    return qb__tensor_device_take(d->arrays.from, d->queue, &block, d->plain, 0);
}

/* Copy a block's views to their destination. */
static qb_status put(const on_device *d, const qb__projection_piece *k, void *out) {
    const size_t views = k->view1 - k->view0, image[] = {d->p->scan.columns, d->p->scan.rows};
    if (d->arrays.to) return qb__device_arrays_put(&d->arrays, d->queue, d->plain, 0, k->view0, views, image);
    return qb__memory_download(d->queue, d->plain, 0, out, views * qb__projection_pixels(d->p) * sizeof(float));
}

/* ---- the stage ---- */

static qb_status project(on_device *d, const qb__projection_piece *k, const void *in, void *out) {
    const bool whole = d->most.slices >= d->p->grid.n[2];
    qb_status status = QB_OK;
    if (!whole || k->view0 == 0) {
        QB__TRY(d->arrays.from ? take(d, k)
                               : qb__memory_upload(d->queue, d->plain, 0, in, (k->z1 - k->z0) * slice_bytes(d)));
        QB__TRY(qb__joseph_to_lines(d->plan, d->queue, d->plain, 0, d->p->cut.thickness, k->z0, k->z1, d->slab));
    }
    QB__TRY(qb__joseph_forward(d->plan, d->queue, d->slab, k->z0, k->z1, k->view0, k->view1, d->rays));
    if (!k->last) goto out;
    const size_t views = k->view1 - k->view0;
    QB__TRY(qb__joseph_images(d->plan, d->queue, d->rays, views, d->plain, 0));
    QB__TRY(put(d, k, out));
out:
    return status;
}

static qb_status project_run(void *self, size_t chunk, size_t task, int worker, const void *in, void *out) {
    (void)task, (void)worker;
    on_device *d = self;
    const qb__projection_piece k = qb__projection_piece_of(d->p, chunk);
    return qb__queue_finish_after(d->queue, project(d, &k, in, out));
}

static int stages(void *state, const qb__cut *cut, qb__slot_maker *source, qb__stage *stages) {
    on_device *d = state;
    stages[0] = qb__projection_stage(d->p, cut);
    stages[0].self = state;
    stages[0].all_seconds = project_seconds(d, cut);
    stages[0].run = project_run;
    if (d->arrays.from) *source = qb__token_slots;
    if (d->arrays.to) stages[0].maker = qb__token_slots, stages[0].slot_bytes = 1;
    return 1;
}

/* ---- life ---- */

static qb_status open_device(void *state, const qb__cut *cut, const qb__running *run) {
    on_device *d = state;
    const qb__joseph_problem *of = &d->problem;
    const size_t slab = qb__joseph_slab_bytes(of, cut->slices), rays = qb__joseph_block_bytes(of, cut->views);
    qb__device *device = d->pick.device;
    d->run = run;
    d->most = most_of(cut);
    QB__OR_RETURN(qb__queue_create(device, &d->queue));
    QB__OR_RETURN(qb__joseph_plan_create(device, of, d->most, d->pick.choice.values, &d->plan));
    QB__OR_RETURN(qb__memory_create(device, slab, &d->slab));
    QB__OR_RETURN(qb__memory_create(device, rays, &d->rays));
    QB__OR_RETURN(qb__memory_create(device, plain_bytes(d, cut), &d->plain));
    QB__OR_RETURN(qb__memory_fill(d->queue, d->slab, 0, 0, slab));
    QB__OR_RETURN(qb__memory_fill(d->queue, d->rays, 0, 0, rays));
    QB__OR_RETURN(qb__queue_finish(d->queue));
    QB__OR_RETURN(qb__device_arrays_attach(&d->arrays, volume_there(d), device, d->queue, d->queue, run));
    qb__projection_delegate_reading(d->reading, d->arrays.from != NULL);
    return QB_OK;
}

static void close_device(void *state) {
    on_device *d = state;
    qb__projection_delegate_reading(d->reading, false);
    qb__device_arrays_detach(&d->arrays, d->run);
    if (d->queue) qb__queue_finish(d->queue);
    qb__joseph_plan_destroy(d->plan);
    QB__MEMORY_DESTROY(d->slab, d->rays, d->plain);
    qb__queue_destroy(d->queue);
    d->queue = NULL;
    d->plan = NULL;
    d->slab = d->rays = d->plain = NULL;
}

static void facts(void *state, const qb__cut *cut, qb__job_facts *facts) {
    const on_device *d = state;
    qb__facts_of_pick(facts, &d->pick, "even one slice needs", "a smaller volume, or --device cpu");
    qb__fact_number(facts, NULL, "volume_reads", cut->slabs == 1 ? 1.0 : (double)cut->blocks);
}

const qb__engine qb__projection_device = {
    .on_device = true,
    .decide = decide,
    .memory = memory,
    .seconds = seconds,
    .stages = stages,
    .open = open_device,
    .close = close_device,
    .facts = facts,
    .destroy = qb__free,
};
