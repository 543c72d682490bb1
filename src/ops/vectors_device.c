/* SPDX-License-Identifier: MIT */
#include "ops/vectors_device.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "kernels/macros.h"

enum { ITEMS = 256, SUMS = QB__VECTOR_SUMS, MOST_PROGRAMS = 4, MOST_KERNELS = 24 };

size_t qb__device_vector_bytes(const qb__joseph_problem *p, qb__vector_kind kind) {
    return kind == QB__UNKNOWNS ? qb__joseph_slab_bytes(p, p->grid->n[2]) : qb__joseph_block_bytes(p, p->views);
}

/* Elements per work group: few for single slices, so that the whole device has work. */
static size_t block_of(const qb__joseph_problem *p) { return p->flat ? 2048 : 32768; }

static size_t most_groups(const qb__joseph_problem *p) {
    const size_t a = qb__device_vector_bytes(p, QB__UNKNOWNS), b = qb__device_vector_bytes(p, QB__EQUATIONS);
    return qb__ceil_div(qb__larger(a, b) / sizeof(float), block_of(p));
}

size_t qb__device_vectors_grain(const qb__joseph_problem *p) { return block_of(p); }

size_t qb__device_vectors_bytes(const qb__joseph_problem *p) { return most_groups(p) * SUMS * 2 * sizeof(float); }

/* The first failure is kept. */
static void fail(qb__device_vectors *own, qb_status status) {
    if (own->status != QB_OK || status == QB_OK) return;
    own->status = status;
    snprintf(own->why, sizeof own->why, "%s", qb_detail());
}

static qb_status status_of(void *self) {
    const qb__device_vectors *own = self;
    return own->status == QB_OK ? QB_OK : qb__fail(own->status, "%s", own->why);
}

static qb_status take(qb__device_vectors *own, qb__vector_kind kind, bool spilled) {
    const int most = (int)(sizeof own->made / sizeof *own->made);
    if (own->count == most) return qb__fail(QB_INTERNAL, "more than %d vectors", most);
    size_t bytes = qb__device_vector_bytes(&own->problem, kind);
    if (kind == QB__EQUATIONS && own->block_views && !spilled)
        bytes = qb__joseph_block_bytes(&own->problem, own->block_views);
    own->made[own->count].memory = NULL;
    own->made[own->count].host = NULL;
    QB__OR_RETURN(spilled ? qb__host_create(own->device, bytes, &own->made[own->count].host)
                          : qb__memory_create(own->device, bytes, &own->made[own->count].memory));
    own->made[own->count].kind = kind;
    own->made[own->count++].idle = true;
    return QB_OK;
}

static int find_idle(const qb__device_vectors *own, qb__vector_kind kind, bool spilled) {
    int i = 0;
    while (i < own->count && !(own->made[i].idle && own->made[i].kind == kind && !own->made[i].memory == spilled)) i++;
    return i;
}

static qb_status make(void *self, qb__vector_kind kind, void **vector) {
    qb__device_vectors *own = self;
    const int at = find_idle(own, kind, false);
    qb_status status = at == own->count ? take(own, kind, false) : QB_OK;
    *vector = NULL;
    if (status == QB_OK)
        status = qb__memory_fill(own->queue, own->made[at].memory, 0, 0, qb__memory_bytes(own->made[at].memory));
    if (status != QB_OK) return status;
    own->made[at].idle = false;
    *vector = own->made[at].memory;
    return QB_OK;
}

static qb_status make_spilled(void *self, qb__vector_kind kind, void **vector) {
    qb__device_vectors *own = self;
    if (!own->spill.piece) return make(self, kind, vector);
    const int at = find_idle(own, kind, true);
    const qb_status status = at == own->count ? take(own, kind, true) : QB_OK;
    *vector = NULL;
    if (status != QB_OK) return status;
    own->made[at].idle = false;
    *vector = own->made[at].host;
    return QB_OK;
}

qb_status qb__device_vectors_spread(qb__device_vectors *own, size_t block_views, size_t piece) {
    own->block_views = block_views;
    return qb__spill_create(own->device, piece, &own->spill);
}

/* Index of a spilled vector, or -1. */
static int spilled_of(const qb__device_vectors *own, const void *vector) {
    for (int i = 0; vector && own->spill.piece && i < own->count; i++)
        if (own->made[i].host == vector) return i;
    return -1;
}

qb_status qb__device_vectors_reserve(qb__device_vectors *own, qb__vector_kind kind, size_t count) {
    qb_status status = QB_OK;
    while (status == QB_OK && count-- > 0) status = take(own, kind, false);
    return status;
}

static void drop(void *self, void *vector) {
    qb__device_vectors *own = self;
    for (int i = 0; vector && i < own->count; i++)
        if (own->made[i].memory == vector || own->made[i].host == vector) own->made[i].idle = true;
}

/* ---- kernels, compiled at their first use ---- */

static qb_status find_program(qb__device_vectors *own, const char *source, qb__program **program) {
    int i = 0;
    while (i < MOST_PROGRAMS && own->programs[i].source && strcmp(own->programs[i].source, source) != 0) i++;
    if (i == MOST_PROGRAMS) return qb__fail(QB_INTERNAL, "more than %d sources of vector operations", MOST_PROGRAMS);
    qb_status status = QB_OK;
    qb__macros macros = {.count = 0};
    qb__macros_add(&macros, "BLOCK", (long long)block_of(&own->problem));
    if (!own->programs[i].source)
        status = qb__program_build(own->device, source, macros.list, &own->programs[i].program);
    if (status == QB_OK) own->programs[i].source = source;
    *program = own->programs[i].program;
    return status;
}

static qb_status find_kernel(qb__device_vectors *own, const qb__vector_op *op, qb__kernel **kernel) {
    int i = 0;
    while (i < MOST_KERNELS && own->kernels[i].op && own->kernels[i].op != op) i++;
    if (i == MOST_KERNELS) return qb__fail(QB_INTERNAL, "more than %d vector operations", MOST_KERNELS);
    qb__program *program = NULL;
    qb_status status = QB_OK;
    if (!own->kernels[i].op) {
        status = find_program(own, op->source, &program);
        if (status == QB_OK) status = qb__kernel_get(program, op->kernel, &own->kernels[i].kernel);
        if (status == QB_OK) own->kernels[i].op = op;
    }
    *kernel = own->kernels[i].kernel;
    return status;
}

/* ---- operations ---- */

/* Elements of a view. */
static uint64_t view_of(const qb__device_vectors *own) {
    return qb__joseph_block_bytes(&own->problem, 1) / sizeof(float);
}

/* Elements from `from` on, before `end`. */
typedef struct run_of {
    uint64_t from, end, base;
    int32_t spilled;
} run_of;

static qb_status launch(qb__device_vectors *own, const qb__vector_job *job, int flags, const run_of *some) {
    const uint64_t count = some->end, from = some->from, base = some->base;
    const size_t groups = qb__ceil_div(count - from, block_of(&own->problem));
    const int32_t spilled = some->spilled;
    qb__joseph_shape shape;
    qb__kernel *kernel = NULL;
    QB__OR_RETURN(find_kernel(own, job->op, &kernel));
    qb__joseph_shape_of(&own->problem, job->kind == QB__UNKNOWNS, &shape);
    const float s[QB__VECTOR_SCALARS] = {(float)job->s[0], (float)job->s[1], (float)job->s[2]};
    const int32_t flag = flags;
    const uint64_t shift = job->views.first * view_of(own);
    struct {
        float v[QB__VECTOR_MORE];
    } more;
    memcpy(more.v, job->more, sizeof more.v);
    qb__memory *v[QB__VECTOR_OPERANDS];
    for (int i = 0; i < QB__VECTOR_OPERANDS; i++) v[i] = job->v[i] ? job->v[i] : own->partial;
    const qb__arg args[] = {QB__MEMORIES(v[0], v[1], v[2], v[3], v[4], v[5], v[6]),
                            QB__VALUES(count, s[0], s[1], s[2], flag, shape.line, shape.front, shape.used, shape.across,
                                       shape.down, shape.edge),
                            QB__MEMORY(own->partial), QB__VALUES(shift, from, base, spilled, more)};
    return qb__kernel_launch(kernel, own->queue, (const size_t[3]){groups, 1, 1}, (const size_t[3]){ITEMS, 1, 1}, args,
                             sizeof args / sizeof *args);
}

/* The operands that are spilled to host memory; returns their number. */
static int find_spilled(const qb__device_vectors *own, const qb__vector_job *job, float **host, int *operand) {
    int count = 0;
    for (int i = 0; i < QB__VECTOR_OPERANDS; i++) {
        if (spilled_of(own, job->v[i]) < 0) continue;
        if (count < QB__SPILL_OPERANDS) host[count] = job->v[i], operand[count] = i;
        count++;
    }
    return count;
}

/* Piece by piece. */
static qb_status stream(qb__device_vectors *own, const qb__vector_job *job, int flags, uint64_t count,
                        float *const *host, const int *operand) {
    const size_t piece = own->spill.piece;
    const uint64_t shift = job->views.first * view_of(own);
    qb__vector_job part = *job;
    for (size_t number = 0; number * piece < count; number++) {
        const uint64_t from = number * piece;
        const size_t floats = (size_t)(count - from < piece ? count - from : piece);
        float *up[QB__SPILL_OPERANDS] = {NULL}, *down[QB__SPILL_OPERANDS] = {NULL};
        run_of some = {.from = from, .end = from + floats, .base = from + shift};
        for (int i = 0; i < QB__SPILL_OPERANDS && host[i]; i++) {
            up[i] = host[i] + from + shift;
            if (job->op->writes >> operand[i] & 1) down[i] = up[i];
            part.v[operand[i]] = own->spill.slot[number % QB__SPILL_SLOTS].operand[i];
            some.spilled |= 1 << operand[i];
        }
        QB__OR_RETURN(qb__spill_send(&own->spill, own->queue, number, up, floats));
        QB__OR_RETURN(launch(own, &part, flags, &some));
        QB__OR_RETURN(qb__spill_take(&own->spill, own->queue, number, down, floats));
    }
    return QB_OK;
}

static size_t floats_of(const qb__device_vectors *own, const qb__vector_job *job) {
    if (job->views.each) return job->views.count * view_of(own);
    return spilled_of(own, job->v[0]) < 0 ? qb__memory_bytes(job->v[0]) / sizeof(float)
                                          : qb__device_vector_bytes(&own->problem, job->kind) / sizeof(float);
}

static qb_status compute(qb__device_vectors *own, const qb__vector_job *job, double *sums) {
    enum { WEIGHTED = 2 }; /* vectors.clh: the second vector is present */
    const uint64_t count = floats_of(own, job);
    const int flags = job->flags | (job->v[1] ? WEIGHTED : 0);
    const size_t groups = qb__ceil_div(count, block_of(&own->problem));
    float *host[QB__SPILL_OPERANDS] = {NULL};
    int operand[QB__SPILL_OPERANDS];
    const int spilled = find_spilled(own, job, host, operand);
    if (spilled > QB__SPILL_OPERANDS)
        return qb__fail(QB_INTERNAL, "%d vectors of %s are spilled", spilled, job->op->kernel);
    if (spilled)
        QB__OR_RETURN(stream(own, job, flags, count, host, operand));
    else
        QB__OR_RETURN(launch(own, job, flags, &(run_of){.end = count}));
    if (!sums || job->op->sums == 0) return QB_OK;
    QB__OR_RETURN(qb__memory_download(own->queue, own->partial, 0, own->sums, groups * SUMS * 2 * sizeof(float)));
    QB__OR_RETURN(qb__queue_finish(own->queue));
    for (size_t g = 0; g < groups; g++)
        for (int i = 0; i < job->op->sums; i++) {
            const float *pair = own->sums + 2 * (SUMS * g + (size_t)i);
            sums[i] += (double)pair[0] + (double)pair[1];
        }
    return QB_OK;
}

static void run(void *self, const qb__vector_job *job, double *sums) {
    qb__device_vectors *own = self;
    if (own->status == QB_OK) fail(own, compute(own, job, sums));
}

static qb_status copy_spilled(qb__device_vectors *own, const void *from, void *to) {
    const int at = spilled_of(own, from), there = spilled_of(own, to);
    const size_t bytes = qb__device_vector_bytes(&own->problem, own->made[at < 0 ? there : at].kind);
    qb_status status = qb__spill_await(&own->spill, NULL);
    if (status == QB_OK) status = qb__queue_finish(own->queue);
    if (status != QB_OK) return status;
    if (at >= 0 && there >= 0)
        memcpy(to, from, bytes);
    else if (at >= 0)
        status = qb__memory_upload(own->queue, to, 0, from, bytes);
    else
        status = qb__memory_download(own->queue, from, 0, to, bytes);
    return qb__queue_finish_after(own->queue, status);
}

static void copy(void *self, const void *from, void *to) {
    qb__device_vectors *own = self;
    if (own->status != QB_OK) return;
    if (spilled_of(own, from) >= 0 || spilled_of(own, to) >= 0)
        fail(own, copy_spilled(own, from, to));
    else
        fail(own, qb__memory_copy(own->queue, to, 0, from, 0, qb__memory_bytes(from)));
}

static void fill(void *self, float value, void *vector) {
    static const qb__vector_op op = {"vectors.cl", "vector_fill", 0, .run = NULL};
    qb__device_vectors *own = self;
    qb__vector_job job = {.op = &op, .kind = QB__EQUATIONS, .v = {vector}, .s = {value}};
    for (int i = 0; i < own->count; i++)
        if (own->made[i].memory == vector) job.kind = own->made[i].kind;
    run(self, &job, NULL);
}

static qb_status pass_resident(qb__device_vectors *own, qb__memory *memory, bool into, qb__vector_piece piece,
                               void *to) {
    enum { MOST = 1 << 24 };
    const size_t bytes = qb__memory_bytes(memory), room = bytes < MOST ? bytes : MOST;
    char *part;
    qb_status status = qb__alloc(room, 1, &part);
    for (size_t at = 0, some; status == QB_OK && at < bytes; at += some) {
        some = bytes - at < room ? bytes - at : room;
        if (into) QB__TRY(piece(to, part, some));
        status = into ? qb__memory_upload(own->queue, memory, at, part, some)
                      : qb__memory_download(own->queue, memory, at, part, some);
        status = qb__queue_finish_after(own->queue, status);
        if (status == QB_OK && !into) status = piece(to, part, some);
    }
out:
    qb__free(part);
    return status;
}

static qb_status pass(void *self, void *vector, bool into, qb__vector_piece piece, void *to) {
    qb__device_vectors *own = self;
    const int at = spilled_of(own, vector);
    if (own->status != QB_OK) return status_of(own);
    if (at < 0) return pass_resident(own, vector, into, piece, to);
    const qb_status status = qb__spill_await(&own->spill, NULL);
    return status == QB_OK ? piece(to, vector, qb__device_vector_bytes(&own->problem, own->made[at].kind)) : status;
}

static const qb__vectors_elsewhere hooks = {make, make_spilled, drop, run, copy, pass, fill, status_of};

qb_status qb__device_vectors_create(qb__device *device, qb__queue *queue, const qb__joseph_problem *problem,
                                    qb__device_vectors *own, qb__vectors *vectors) {
    qb__program *program;
    *own = (qb__device_vectors){.device = device, .queue = queue, .problem = *problem};
    own->groups = most_groups(problem);
    QB__OR_RETURN(find_program(own, "vectors.cl", &program));
    QB__OR_RETURN(qb__memory_create(device, qb__device_vectors_bytes(problem), &own->partial));
    /* Most operations use one of the three sums; all are downloaded. */
    QB__OR_RETURN(qb__memory_fill(queue, own->partial, 0, 0, qb__device_vectors_bytes(problem)));
    QB__OR_RETURN(qb__alloc(own->groups * SUMS * 2, sizeof *own->sums, &own->sums));
    *vectors = (qb__vectors){.elsewhere = &hooks, .self = own};
    memcpy(vectors->n, problem->grid->n, sizeof vectors->n);
    return QB_OK;
}

void qb__device_vectors_destroy(qb__device_vectors *own) {
    if (own->count > 0) qb__queue_finish(own->queue);
    qb__spill_destroy(&own->spill);
    while (own->count > 0) {
        own->count--;
        qb__memory_destroy(own->made[own->count].memory);
        qb__host_destroy(own->device, own->made[own->count].host);
    }
    qb__memory_destroy(own->partial);
    for (int i = 0; i < MOST_PROGRAMS; i++) qb__program_release(own->programs[i].program);
    qb__free(own->sums);
    *own = (qb__device_vectors){0};
}
