/* SPDX-License-Identifier: MIT */
#include "bench/rabbitct_check.h"

#include <string.h>

#include "base/memory.h"
#include "base/pool.h"
#include "base/status.h"
#include "kernels/bp_cone/bp_cone_device.h"
#include "planner/choose.h"

enum { GROUP = QB__RABBITCT_GROUP, SLOTS = 2, PARTS = 16 };

struct qb__rabbitct_device {
    qb__device *device;
    qb__bp_cone_problem problem; /* problem with the views of one group */
    double matrix[GROUP][12];    /* matrices of the incoming group */
    const qb__bp_cone_device_variant *variant;
    qb__bp_cone_plan *plan;
    qb__queue *up, *work;
    float *images[SLOTS];    /* [GROUP][rows][columns], page-locked: one slot is filled while the other is added */
    qb__memory *rows[SLOTS]; /* the images of the slots on the device */
    qb__memory *packed, *out;
    size_t pixels, bytes; /* size of an image */
    size_t slot, waiting; /* views of the slot that are uploaded but not added */
    bool more;            /* `out` holds sums */
    const float *given;   /* volume with all sums already; NULL = none */
    qb__pool *pool;
    const float *from; /* source of copy_task */
    float *to;
};

static qb_status choose(qb__rabbitct_device *d, const qb__rabbitct_setup *setup, qb__choice *choice) {
    const qb_status status = qb__choose(&(qb__question){.operation = QB__BP_CONE,
                                                        .device = qb__device_info_of(d->device),
                                                        .problem = &d->problem,
                                                        .slices = 1,
                                                        .accuracy = setup->accuracy,
                                                        .id = setup->kernel,
                                                        .family = "bp_cone_matrix."},
                                        choice);
    if (status == QB_OK) d->variant = qb__bp_cone_on_device(choice->variant);
    return status;
}

static qb_status allocate(qb__rabbitct_device *d, const int *values) {
    const qb__bp_cone_most most = {GROUP, d->problem.rows};
    const size_t n = d->problem.nx, packed = d->variant->packed_bytes(&d->problem, most, values);
    QB__OR_RETURN(d->variant->plan(d->device, &d->problem, most, values, &d->plan));
    QB__OR_RETURN(qb__queue_create(d->device, &d->up));
    QB__OR_RETURN(qb__queue_create(d->device, &d->work));
    for (int s = 0; s < SLOTS; s++) {
        void *host = NULL;
        QB__OR_RETURN(qb__host_create(d->device, GROUP * d->bytes, &host));
        d->images[s] = host;
        QB__OR_RETURN(qb__memory_create(d->device, GROUP * d->bytes, &d->rows[s]));
    }
    QB__OR_RETURN(qb__memory_create(d->device, packed, &d->packed));
    return qb__memory_create(d->device, n * n * n * sizeof(float), &d->out);
}

/* Valid matrices (w = 1) while the plan is made; qb__rabbitct_device_add puts the real ones in. */
static void lay_down_matrices(qb__rabbitct_device *d) {
    for (int v = 0; v < GROUP; v++) d->matrix[v][11] = 1;
    d->problem.matrix = (const double(*)[12])d->matrix;
}

qb_status qb__rabbitct_device_create(const qb__rabbitct_setup *setup, qb__rabbitct_device **device) {
    const size_t n = setup->size;
    qb__rabbitct_device *d;
    qb__choice choice;
    *device = NULL;
    qb_status status = qb__alloc(1, sizeof *d, &d);
    if (status != QB_OK) return status;
    *d = (qb__rabbitct_device){
        .problem = {.views = GROUP, .columns = setup->columns, .rows = setup->rows, .nx = n, .ny = n, .nz = n},
        .pixels = setup->columns * setup->rows,
        .bytes = setup->columns * setup->rows * sizeof(float)};
    lay_down_matrices(d);
    QB__TRY(qb__device_open(setup->device, &d->device));
    QB__TRY(choose(d, setup, &choice));
    QB__TRY(d->variant->set_matrices
                ? QB_OK
                : qb__fail(QB_UNSUPPORTED, "kernel %s needs all matrices before the first view", choice.variant->id));
    QB__TRY(qb__pool_create(setup->threads, &d->pool));
    status = allocate(d, choice.values);
    if (status == QB_NO_MEMORY)
        status =
            qb__fail(QB_NO_MEMORY,
                     "%s: %zu^3 voxels and two groups of %d images do not fit its memory, or the host's page-locked: "
                     "take a smaller cube, or the CPU",
                     setup->device, n, GROUP);
    if (status == QB_OK) *device = d;
out:
    if (status != QB_OK) qb__rabbitct_device_destroy(d);
    return status;
}

void qb__rabbitct_device_destroy(qb__rabbitct_device *d) {
    if (!d) return;
    qb__queue_destroy(d->up);
    qb__queue_destroy(d->work);
    if (d->plan) d->variant->destroy(d->plan);
    for (int s = 0; s < SLOTS; s++) {
        qb__host_destroy(d->device, d->images[s]);
        qb__memory_destroy(d->rows[s]);
    }
    QB__MEMORY_DESTROY(d->packed, d->out);
    qb__pool_destroy(d->pool);
    qb__device_close(d->device);
    qb__free(d);
}

/* Upload the waiting views, finished when `up` is done; then add the previous group, whose slot is filled next,
 * finished when `work` is done. */
static qb_status add_waiting(qb__rabbitct_device *d) {
    const qb__bp_cone_window window = {0, d->problem.rows};
    if (d->waiting == 0) return QB_OK;
    QB__OR_RETURN(qb__queue_finish(d->up));
    QB__OR_RETURN(qb__queue_finish(d->work));
    QB__OR_RETURN(d->variant->set_matrices(d->plan, d->work, d->waiting, (const double(*)[12])d->matrix));
    QB__OR_RETURN(d->variant->pack(d->plan, d->work, d->rows[d->slot], 0, d->pixels, d->problem.columns, 0, d->waiting,
                                   window, d->packed));
    QB__OR_RETURN(
        d->variant->run(d->plan, d->work, d->packed, 0, d->waiting, window, 0, d->problem.nz, d->out, 0, d->more));
    d->more = true;
    d->slot = (d->slot + 1) % SLOTS;
    d->waiting = 0;
    return QB_OK;
}

static void copy_task(void *context, size_t part, int worker) {
    const qb__rabbitct_device *d = context;
    const size_t from = d->pixels * part / PARTS, end = d->pixels * (part + 1) / PARTS;
    (void)worker;
    memcpy(d->to + from, d->from + from, (end - from) * sizeof(float));
}

qb_status qb__rabbitct_device_add(qb__rabbitct_device *d, const double matrix[12], const float *image) {
    memcpy(d->matrix[d->waiting], matrix, sizeof d->matrix[0]);
    d->from = image, d->to = d->images[d->slot] + d->waiting * d->pixels;
    qb__pool_for(d->pool, PARTS, copy_task, d);
    d->given = NULL;
    QB__OR_RETURN(qb__memory_upload(d->up, d->rows[d->slot], d->waiting * d->bytes, d->to, d->bytes));
    return ++d->waiting == GROUP ? add_waiting(d) : QB_OK;
}

qb_status qb__rabbitct_device_flush(qb__rabbitct_device *d, float *volume) {
    if (d->given == volume) return QB_OK;
    qb_status status = add_waiting(d);
    if (status == QB_OK && d->more) status = qb__memory_download(d->work, d->out, 0, volume, qb__memory_bytes(d->out));
    status = qb__queue_finish_after(d->work, status);
    if (status == QB_OK) d->given = volume;
    return status;
}

qb_status qb__rabbitct_device_begin(qb__rabbitct_device *d) {
    const qb_status status = qb__queue_finish_after(d->work, qb__queue_finish(d->up));
    d->waiting = 0;
    d->more = false;
    d->given = NULL;
    return status;
}

const qb__variant *qb__rabbitct_device_kernel(const qb__rabbitct_device *d) { return &d->variant->head; }

const char *qb__rabbitct_device_name(const qb__rabbitct_device *d) { return qb__device_info_of(d->device)->name; }

int qb__rabbitct_device_threads(const qb__rabbitct_device *d) { return qb__pool_threads(d->pool); }
