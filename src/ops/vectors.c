/* SPDX-License-Identifier: MIT */
#include "ops/vectors.h"

#include <stdint.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"

enum { BLOCK = 1 << 15, SUMS = QB__VECTOR_SUMS, NONNEG = 1 };

size_t qb__vector_blocks(size_t count) { return (count + BLOCK - 1) / BLOCK; }

qb_status qb__vectors_create(qb__pool *pool, size_t longest, const size_t n[3], qb__vectors *vectors) {
    *vectors = (qb__vectors){.pool = pool};
    if (n) memcpy(vectors->n, n, sizeof vectors->n);
    return qb__alloc(SUMS * qb__vector_blocks(longest), sizeof *vectors->partial, &vectors->partial);
}

void qb__vectors_destroy(qb__vectors *vectors) {
    if (vectors) qb__free(vectors->partial);
}

qb_status qb__vector_make(const qb__vectors *v, qb__vector_kind kind, size_t count, void **vector) {
    if (v->elsewhere) return v->elsewhere->make(v->self, kind, vector);
    return qb__alloc(count, sizeof(float), vector);
}

qb_status qb__vector_make_spilled(const qb__vectors *v, qb__vector_kind kind, size_t count, void **vector) {
    return v->elsewhere ? v->elsewhere->make_spilled(v->self, kind, vector) : qb__vector_make(v, kind, count, vector);
}

void qb__vector_drop(const qb__vectors *v, void *vector) {
    if (v->elsewhere)
        v->elsewhere->drop(v->self, vector);
    else
        qb__free(vector);
}

qb_status qb__vectors_status(const qb__vectors *v) { return v->elsewhere ? v->elsewhere->status(v->self) : QB_OK; }

/* ---- any operation ---- */

typedef struct work {
    const qb__vector_job *job;
    double *partial;
} work;

static void run_block(void *context, size_t block, int worker) {
    (void)worker;
    const work *w = context;
    const size_t first = block * BLOCK, end = first + BLOCK < w->job->count ? first + BLOCK : w->job->count;
    double sums[SUMS] = {0};
    w->job->op->run(w->job, first, end, sums);
    memcpy(w->partial + SUMS * block, sums, sizeof sums);
}

void qb__vector_run(const qb__vectors *v, qb__vector_job job, double *sums) {
    const size_t blocks = qb__vector_blocks(job.count);
    memcpy(job.n, v->n, sizeof job.n);
    for (int i = 0; sums && i < SUMS; i++) sums[i] = 0;
    if (v->elsewhere) {
        v->elsewhere->run(v->self, &job, sums);
        return;
    }
    work w = {&job, v->partial};
    if (blocks == 1) /* waking a thread takes longer */
        run_block(&w, 0, 0);
    else
        qb__pool_for(v->pool, blocks, run_block, &w);
    for (size_t b = 0; sums && b < blocks; b++)
        for (int i = 0; i < SUMS; i++) sums[i] += v->partial[SUMS * b + (size_t)i];
}

/* ---- common operations ---- */

void qb__vector_copy(const qb__vectors *v, const void *from, void *to, size_t count) {
    if (v->elsewhere)
        v->elsewhere->copy(v->self, from, to);
    else if (count)
        memcpy(to, from, count * sizeof(float));
}

qb_status qb__vector_pass(const qb__vectors *v, void *x, size_t count, bool into, qb__vector_piece piece, void *to) {
    if (v->elsewhere) return v->elsewhere->pass(v->self, x, into, piece, to);
    return piece(to, x, count * sizeof(float));
}

static void fill(const qb__vector_job *job, size_t first, size_t end, double *sums) {
    (void)sums;
    float *x = job->v[0];
    for (size_t i = first; i < end; i++) x[i] = (float)job->s[0];
}

void qb__vector_fill(const qb__vectors *v, float value, void *x, size_t count) {
    static const qb__vector_op op = {.run = fill};
    if (v->elsewhere)
        v->elsewhere->fill(v->self, value, x);
    else
        qb__vector_run(v, (qb__vector_job){.op = &op, .count = count, .v = {x}, .s = {value}}, NULL);
}

#define OP(name, loop, count) static const qb__vector_op name##_op = {"vectors.cl", "vector_" #name, count, .run = loop}

static void dot(const qb__vector_job *job, size_t first, size_t end, double *sums) {
    const float *a = job->v[0], *b = job->v[1];
    for (size_t i = first; i < end; i++) sums[0] += (double)a[i] * (double)b[i];
}
OP(dot, dot, 1);

double qb__vector_dot(const qb__vectors *v, qb__vector_kind kind, const void *a, const void *b, size_t count) {
    double sums[SUMS];
    qb__vector_run(v, (qb__vector_job){&dot_op, kind, count, .v = {(void *)a, (void *)b}}, sums);
    return sums[0];
}

static void add(const qb__vector_job *job, size_t first, size_t end, double *sums) {
    (void)sums;
    const float scale = (float)job->s[0], *x = job->v[0];
    float *y = (float *)job->v[1] + job->views.first * job->views.each;
    for (size_t i = first; i < end; i++) y[i] += scale * x[i];
}
OP(add, add, 0);

void qb__vector_add(const qb__vectors *v, qb__vector_kind kind, double scale, const void *x, void *y, size_t count) {
    qb__vector_run(v, (qb__vector_job){&add_op, kind, count, .v = {(void *)x, y}, .s = {scale}}, NULL);
}

void qb__vector_add_views(const qb__vectors *v, const void *x, size_t first, size_t count, size_t each, void *y) {
    qb__vector_run(v,
                   (qb__vector_job){&add_op, QB__EQUATIONS, count * each, .v = {(void *)x, y}, .s = {1},
                                    .views = {first, count, each}},
                   NULL);
}

static void fold(const qb__vector_job *job, size_t first, size_t end, double *sums) {
    (void)sums;
    const float scale = (float)job->s[0], *x = job->v[0];
    float *y = job->v[1];
    for (size_t i = first; i < end; i++) y[i] = x[i] + scale * y[i];
}
OP(fold, fold, 0);

void qb__vector_fold(const qb__vectors *v, qb__vector_kind kind, const void *x, double scale, void *y, size_t count) {
    qb__vector_run(v, (qb__vector_job){&fold_op, kind, count, .v = {(void *)x, y}, .s = {scale}}, NULL);
}

static void residual(const qb__vector_job *job, size_t first, size_t end, double *sums) {
    const float *a = job->v[0], *weight = job->v[1];
    float *y = job->v[2];
    for (size_t i = first; i < end; i++) {
        const float r = a[i] - y[i];
        sums[0] += (double)r * (double)r;
        y[i] = weight ? weight[i] * r : r;
    }
}
OP(residual, residual, 1);

double qb__vector_residual(const qb__vectors *v, const void *a, const void *weight, void *y, size_t count) {
    double sums[SUMS];
    qb__vector_run(v, (qb__vector_job){&residual_op, QB__EQUATIONS, count, .v = {(void *)a, (void *)weight, y}}, sums);
    return sums[0];
}

static void invert(const qb__vector_job *job, size_t first, size_t end, double *sums) {
    (void)sums;
    float *x = job->v[0];
    for (size_t i = first; i < end; i++) x[i] = (double)x[i] > job->s[0] ? 1 / x[i] : 0.0f;
}
OP(invert, invert, 0);

void qb__vector_invert(const qb__vectors *v, qb__vector_kind kind, double least, void *x, size_t count) {
    qb__vector_run(v, (qb__vector_job){&invert_op, kind, count, .v = {x}, .s = {least}}, NULL);
}

/* A negative zero marks a value that was not measured; comparisons cannot see the sign. */
static void mask(const qb__vector_job *job, size_t first, size_t end, double *sums) {
    (void)sums;
    const float *b = job->v[0];
    float *y = job->v[1];
    for (size_t i = first; i < end; i++) {
        uint32_t bits;
        memcpy(&bits, &b[i], sizeof bits);
        if (bits == 0x80000000u) y[i] = 0;
    }
}
OP(mask, mask, 0);

void qb__vector_mask(const qb__vectors *v, const void *b, void *y, size_t count) {
    qb__vector_run(v, (qb__vector_job){&mask_op, QB__EQUATIONS, count, .v = {(void *)b, y}}, NULL);
}

static void release(const qb__vector_job *job, size_t first, size_t end, double *sums) {
    (void)sums;
    const float *x = job->v[0];
    float *g = job->v[1];
    for (size_t i = first; i < end; i++)
        if (x[i] <= 0 && g[i] < 0) g[i] = 0;
}
OP(free, release, 0);

void qb__vector_free(const qb__vectors *v, const void *x, void *g, size_t count) {
    qb__vector_run(v, (qb__vector_job){&free_op, QB__UNKNOWNS, count, .v = {(void *)x, g}}, NULL);
}

static void scale_by(const qb__vector_job *job, size_t first, size_t end, double *sums) {
    (void)sums;
    const float scale = (float)job->s[0];
    float *x = job->v[0];
    for (size_t i = first; i < end; i++) x[i] *= scale;
}
OP(scale, scale_by, 0);

void qb__vector_scale(const qb__vectors *v, qb__vector_kind kind, double scale, void *x, size_t count) {
    qb__vector_run(v, (qb__vector_job){&scale_op, kind, count, .v = {x}, .s = {scale}}, NULL);
}

static void advance(const qb__vector_job *job, size_t first, size_t end, double *sums) {
    const float *y = job->v[0], *weight = job->v[1], step = (float)job->s[0];
    float *out = job->v[2];
    for (size_t i = first; i < end; i++) {
        const float by = weight ? weight[i] * y[i] : y[i], old = out[i];
        float x = old + step * by;
        if (job->flags & NONNEG && x < 0) {
            sums[2] += (double)x * (double)x;
            x = 0;
        }
        out[i] = x;
        sums[0] += (double)(x - old) * (double)(x - old);
        sums[1] += (double)x * (double)x;
    }
}
OP(advance, advance, 3);

qb__vector_step qb__vector_advance(const qb__vectors *v, double step, const void *weight, const void *y, bool nonneg,
                                   void *x, size_t count) {
    double sums[SUMS];
    const qb__vector_job job = {&advance_op, QB__UNKNOWNS,
                                count,       .v = {(void *)y, (void *)weight, x},
                                .s = {step}, .flags = nonneg ? NONNEG : 0};
    qb__vector_run(v, job, sums);
    return (qb__vector_step){sums[0], sums[1], sums[2]};
}
