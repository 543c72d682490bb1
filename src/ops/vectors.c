/* SPDX-License-Identifier: MIT */
#include "ops/vectors.h"

#include <string.h>

#include "base/memory.h"
#include "base/status.h"

enum { BLOCK = 1 << 15, SUMS = 3 };

size_t qb__vector_blocks(size_t count) { return (count + BLOCK - 1) / BLOCK; }

qb_status qb__vectors_create(qb__pool *pool, size_t longest, qb__vectors *vectors) {
    *vectors = (qb__vectors){.pool = pool};
    return qb__alloc(SUMS * qb__vector_blocks(longest), sizeof *vectors->partial, &vectors->partial);
}

void qb__vectors_destroy(qb__vectors *vectors) {
    if (vectors) qb__free(vectors->partial);
}

/* One operation on a range of elements; what it sums goes to sums[SUMS]. */
typedef struct work work;
struct work {
    qb__vector_what what;
    void (*run)(const work *w, size_t first, size_t end, double *sums);
    size_t count;
    double scale, *partial;
    const float *a, *b, *weight;
    float *out;
    bool nonneg;
};

static void run_block(void *context, size_t block, int worker) {
    (void)worker;
    const work *w = context;
    const size_t first = block * BLOCK, end = first + BLOCK < w->count ? first + BLOCK : w->count;
    double sums[SUMS] = {0};
    w->run(w, first, end, sums);
    for (int i = 0; i < SUMS; i++) w->partial[SUMS * block + (size_t)i] = sums[i];
}

static void run(const qb__vectors *v, work w, double *sums) {
    const size_t blocks = qb__vector_blocks(w.count);
    if (v->elsewhere) {
        const qb__vector_job job = {w.what, w.count, w.scale, w.a, w.b, w.weight, w.out, w.nonneg};
        v->elsewhere->run(v->self, &job, sums);
        return;
    }
    w.partial = v->partial;
    qb__pool_for(v->pool, blocks, run_block, &w);
    for (size_t b = 0; sums && b < blocks; b++)
        for (int i = 0; i < SUMS; i++) sums[i] += v->partial[SUMS * b + (size_t)i];
}

qb_status qb__vector_make(const qb__vectors *v, qb__vector_kind kind, size_t count, void **vector) {
    if (v->elsewhere) return v->elsewhere->make(v->self, kind, vector);
    return qb__alloc(count, sizeof(float), vector);
}

void qb__vector_drop(const qb__vectors *v, void *vector) {
    if (v->elsewhere)
        v->elsewhere->drop(v->self, vector);
    else
        qb__free(vector);
}

qb_status qb__vectors_status(const qb__vectors *v) {
    return v->elsewhere ? v->elsewhere->status(v->self) : QB_OK;
}

void qb__vector_copy(const qb__vectors *v, const void *from, void *to, size_t count) {
    if (v->elsewhere)
        v->elsewhere->run(v->self, &(qb__vector_job){.what = QB__VECTOR_COPY, .count = count, .a = from, .out = to}, NULL);
    else if (count)
        memcpy(to, from, count * sizeof(float));
}

static void dot(const work *w, size_t first, size_t end, double *sums) {
    for (size_t i = first; i < end; i++) sums[0] += (double)w->a[i] * (double)w->b[i];
}

double qb__vector_dot(const qb__vectors *v, const void *a, const void *b, size_t count) {
    double sums[SUMS] = {0};
    run(v, (work){.what = QB__VECTOR_DOT, .run = dot, .count = count, .a = a, .b = b}, sums);
    return sums[0];
}

static void add(const work *w, size_t first, size_t end, double *sums) {
    (void)sums;
    const float scale = (float)w->scale;
    for (size_t i = first; i < end; i++) w->out[i] += scale * w->a[i];
}

void qb__vector_add(const qb__vectors *v, double scale, const void *x, void *y, size_t count) {
    run(v, (work){.what = QB__VECTOR_ADD, .run = add, .count = count, .scale = scale, .a = x, .out = y}, NULL);
}

static void fold(const work *w, size_t first, size_t end, double *sums) {
    (void)sums;
    const float scale = (float)w->scale;
    for (size_t i = first; i < end; i++) w->out[i] = w->a[i] + scale * w->out[i];
}

void qb__vector_fold(const qb__vectors *v, const void *x, double scale, void *y, size_t count) {
    run(v, (work){.what = QB__VECTOR_FOLD, .run = fold, .count = count, .scale = scale, .a = x, .out = y}, NULL);
}

static void residual(const work *w, size_t first, size_t end, double *sums) {
    for (size_t i = first; i < end; i++) {
        const float r = w->a[i] - w->out[i];
        sums[0] += (double)r * (double)r;
        w->out[i] = w->weight ? w->weight[i] * r : r;
    }
}

double qb__vector_residual(const qb__vectors *v, const void *a, const void *weight, void *y,
                           size_t count) {
    double sums[SUMS] = {0};
    run(v, (work){.what = QB__VECTOR_RESIDUAL, .run = residual, .count = count, .a = a, .weight = weight, .out = y}, sums);
    return sums[0];
}

static void invert(const work *w, size_t first, size_t end, double *sums) {
    (void)sums;
    for (size_t i = first; i < end; i++)
        w->out[i] = (double)w->out[i] > w->scale ? 1 / w->out[i] : 0.0f;
}

void qb__vector_invert(const qb__vectors *v, double least, void *x, size_t count) {
    run(v, (work){.what = QB__VECTOR_INVERT, .run = invert, .count = count, .scale = least, .out = x}, NULL);
}

static void release(const work *w, size_t first, size_t end, double *sums) {
    (void)sums;
    for (size_t i = first; i < end; i++)
        if (w->a[i] <= 0 && w->out[i] < 0) w->out[i] = 0;
}

void qb__vector_free(const qb__vectors *v, const void *x, void *g, size_t count) {
    run(v, (work){.what = QB__VECTOR_FREE, .run = release, .count = count, .a = x, .out = g}, NULL);
}

static void scale_by(const work *w, size_t first, size_t end, double *sums) {
    (void)sums;
    const float scale = (float)w->scale;
    for (size_t i = first; i < end; i++) w->out[i] *= scale;
}

void qb__vector_scale(const qb__vectors *v, double scale, void *x, size_t count) {
    run(v, (work){.what = QB__VECTOR_SCALE, .run = scale_by, .count = count, .scale = scale, .out = x}, NULL);
}

static void fill(const work *w, size_t first, size_t end, double *sums) {
    (void)sums;
    for (size_t i = first; i < end; i++) w->out[i] = (float)w->scale;
}

void qb__vector_fill(const qb__vectors *v, float value, void *x, size_t count) {
    run(v, (work){.what = QB__VECTOR_FILL, .run = fill, .count = count, .scale = value, .out = x}, NULL);
}

static void advance(const work *w, size_t first, size_t end, double *sums) {
    for (size_t i = first; i < end; i++) {
        const float by = w->weight ? w->weight[i] * w->a[i] : w->a[i], old = w->out[i];
        float x = old + (float)w->scale * by;
        if (w->nonneg && x < 0) {
            sums[2] += (double)x * (double)x;
            x = 0;
        }
        w->out[i] = x;
        sums[0] += (double)(x - old) * (double)(x - old);
        sums[1] += (double)x * (double)x;
    }
}

qb__vector_step qb__vector_advance(const qb__vectors *v, double step, const void *weight,
                                   const void *y, bool nonneg, void *x, size_t count) {
    double sums[SUMS] = {0};
    run(v,
        (work){.what = QB__VECTOR_ADVANCE, .run = advance,
               .count = count,
               .scale = step,
               .a = y,
               .weight = weight,
               .out = x,
               .nonneg = nonneg},
        sums);
    return (qb__vector_step){sums[0], sums[1], sums[2]};
}
