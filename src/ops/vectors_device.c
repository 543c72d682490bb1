/* SPDX-License-Identifier: MIT */
#include "ops/vectors_device.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"

enum { BLOCK = 32768, ITEMS = 256, SUMS = 3, NONNEG = 1, WEIGHTED = 2 };

size_t qb__device_vector_bytes(const qb__joseph_problem *p, qb__vector_kind kind) {
    return kind == QB__UNKNOWNS ? qb__joseph_slab_bytes(p, p->grid->n[2]) : qb__joseph_block_bytes(p, p->views);
}

static size_t most_groups(const qb__joseph_problem *p) {
    const size_t a = qb__device_vector_bytes(p, QB__UNKNOWNS), b = qb__device_vector_bytes(p, QB__EQUATIONS);
    return qb__ceil_div(qb__larger(a, b) / sizeof(float), BLOCK);
}

size_t qb__device_vectors_bytes(const qb__joseph_problem *p) {
    return most_groups(p) * SUMS * 2 * sizeof(float);
}

/* The first failure stays. */
static void fail(qb__device_vectors *own, qb_status status) {
    if (own->status != QB_OK || status == QB_OK) return;
    own->status = status;
    snprintf(own->why, sizeof own->why, "%s", qb_detail());
}

static qb_status status_of(void *self) {
    const qb__device_vectors *own = self;
    return own->status == QB_OK ? QB_OK : qb__fail(own->status, "%s", own->why);
}

static qb_status take(qb__device_vectors *own, qb__vector_kind kind) {
    const int most = (int)(sizeof own->made / sizeof *own->made);
    if (own->count == most) return qb__fail(QB_INTERNAL, "more than %d vectors", most);
    const size_t bytes = qb__device_vector_bytes(&own->problem, kind);
    const qb_status status = qb__memory_create(own->device, bytes, &own->made[own->count].memory);
    if (status != QB_OK) return status;
    own->made[own->count].kind = kind;
    own->made[own->count++].idle = true;
    return QB_OK;
}

static int find_idle(const qb__device_vectors *own, qb__vector_kind kind) {
    int i = 0;
    while (i < own->count && !(own->made[i].idle && own->made[i].kind == kind)) i++;
    return i;
}

static qb_status make(void *self, qb__vector_kind kind, void **vector) {
    qb__device_vectors *own = self;
    const int at = find_idle(own, kind);
    qb_status status = at == own->count ? take(own, kind) : QB_OK;
    *vector = NULL;
    if (status == QB_OK) status = qb__memory_fill(own->queue, own->made[at].memory, 0, 0, qb__memory_bytes(own->made[at].memory));
    if (status != QB_OK) return status;
    own->made[at].idle = false;
    *vector = own->made[at].memory;
    return QB_OK;
}

qb_status qb__device_vectors_reserve(qb__device_vectors *own, qb__vector_kind kind, size_t count) {
    qb_status status = QB_OK;
    while (status == QB_OK && count-- > 0) status = take(own, kind);
    return status;
}

static void drop(void *self, void *vector) {
    qb__device_vectors *own = self;
    for (int i = 0; vector && i < own->count; i++)
        if (own->made[i].memory == vector) own->made[i].idle = true;
}

static qb_status fill(qb__device_vectors *own, float value, qb__memory *out) {
    const qb__joseph_problem *p = &own->problem;
    qb__joseph_shape shape;
    qb__vector_kind kind = QB__EQUATIONS;
    for (int i = 0; i < own->count; i++)
        if (own->made[i].memory == out) kind = own->made[i].kind;
    qb__joseph_shape_of(p, kind == QB__UNKNOWNS, &shape);
    const uint64_t count = qb__memory_bytes(out) / sizeof(float);
    const qb__arg args[] = {QB__MEMORY(out),       QB__VALUE(count),        QB__VALUE(value),
                            QB__VALUE(shape.line), QB__VALUE(shape.front),  QB__VALUE(shape.used),
                            QB__VALUE(shape.across), QB__VALUE(shape.down), QB__VALUE(shape.edge)};
    return qb__kernel_launch(own->kernel[QB__VECTOR_FILL], own->queue,
                             (const size_t[3]){qb__ceil_div(count, BLOCK), 1, 1},
                             (const size_t[3]){ITEMS, 1, 1}, args, sizeof args / sizeof *args);
}

static qb_status compute(qb__device_vectors *own, const qb__vector_job *job, double *sums) {
    qb__memory *out = job->out;
    const qb__memory *a = job->a ? job->a : out, *b = job->b ? job->b : a;
    const qb__memory *weight = job->weight ? job->weight : a;
    const uint64_t count = qb__memory_bytes(a) / sizeof(float);
    const float scale = (float)job->scale;
    const int32_t flags = (job->nonneg ? NONNEG : 0) | (job->weight ? WEIGHTED : 0);
    const size_t groups = qb__ceil_div(count, BLOCK);
    qb_status status;
    if (job->what == QB__VECTOR_FILL) return fill(own, scale, out);
    if (job->what == QB__VECTOR_COPY)
        return qb__memory_copy(own->queue, out, 0, a, 0, qb__memory_bytes(a));
    const qb__arg args[] = {QB__MEMORY(a),     QB__MEMORY(b),    QB__MEMORY(weight), QB__MEMORY(out ? out : own->partial),
                            QB__VALUE(count), QB__VALUE(scale), QB__VALUE(flags),   QB__MEMORY(own->partial)};
    QB__TRY(qb__kernel_launch(own->kernel[job->what], own->queue, (const size_t[3]){groups, 1, 1},
                              (const size_t[3]){ITEMS, 1, 1}, args, sizeof args / sizeof *args));
    if (!sums) goto out;
    QB__TRY(qb__memory_download(own->queue, own->partial, 0, own->sums, groups * SUMS * 2 * sizeof(float)));
    QB__TRY(qb__queue_finish(own->queue));
    const int many = job->what == QB__VECTOR_ADVANCE ? SUMS : 1;
    for (size_t g = 0; g < groups; g++)
        for (int i = 0; i < many; i++) {
            const float *pair = own->sums + 2 * (SUMS * g + (size_t)i);
            sums[i] += (double)pair[0] + (double)pair[1];
        }
out:
    return status;
}

static void run(void *self, const qb__vector_job *job, double *sums) {
    qb__device_vectors *own = self;
    if (own->status == QB_OK) fail(own, compute(own, job, sums));
}

static const qb__vectors_elsewhere hooks = {make, drop, run, status_of};

qb_status qb__device_vectors_create(qb__device *device, qb__queue *queue, const qb__joseph_problem *problem,
                                    qb__device_vectors *own, qb__vectors *vectors) {
    static const char *const names[QB__VECTOR_JOBS] = {
        [QB__VECTOR_DOT] = "vector_dot",         [QB__VECTOR_ADD] = "vector_add",
        [QB__VECTOR_FOLD] = "vector_fold",       [QB__VECTOR_RESIDUAL] = "vector_residual",
        [QB__VECTOR_INVERT] = "vector_invert",   [QB__VECTOR_FREE] = "vector_free",
        [QB__VECTOR_SCALE] = "vector_scale",     [QB__VECTOR_FILL] = "vector_fill",
        [QB__VECTOR_ADVANCE] = "vector_advance",
    };
    qb_status status;
    *own = (qb__device_vectors){.device = device, .queue = queue, .problem = *problem};
    own->groups = most_groups(problem);
    QB__TRY(qb__program_build(device, "vectors.cl", NULL, &own->program));
    for (int i = 0; i < QB__VECTOR_JOBS; i++)
        if (names[i]) QB__TRY(qb__kernel_get(own->program, names[i], &own->kernel[i]));
    QB__TRY(qb__memory_create(device, qb__device_vectors_bytes(problem), &own->partial));
    /* Most jobs leave one sum of three, and all come down. */
    QB__TRY(qb__memory_fill(queue, own->partial, 0, 0, qb__device_vectors_bytes(problem)));
    QB__TRY(qb__alloc(own->groups * SUMS * 2, sizeof *own->sums, &own->sums));
    *vectors = (qb__vectors){.elsewhere = &hooks, .self = own};
out:
    return status;
}

void qb__device_vectors_destroy(qb__device_vectors *own) {
    if (own->count > 0) qb__queue_finish(own->queue);
    while (own->count > 0) qb__memory_destroy(own->made[--own->count].memory);
    qb__memory_destroy(own->partial);
    qb__program_release(own->program);
    qb__free(own->sums);
    *own = (qb__device_vectors){0};
}
