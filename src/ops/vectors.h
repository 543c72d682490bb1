/* SPDX-License-Identifier: MIT */
#ifndef QB_OPS_VECTORS_H
#define QB_OPS_VECTORS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/pool.h"

/* What is done to vectors, by name. */
typedef enum qb__vector_what {
    QB__VECTOR_DOT,
    QB__VECTOR_ADD,
    QB__VECTOR_FOLD,
    QB__VECTOR_RESIDUAL,
    QB__VECTOR_INVERT,
    QB__VECTOR_FREE,
    QB__VECTOR_SCALE,
    QB__VECTOR_FILL,
    QB__VECTOR_ADVANCE,
    QB__VECTOR_COPY,
    QB__VECTOR_JOBS
} qb__vector_what;

/* Of what a vector is: the volume's voxels, the projections' pixels. */
typedef enum qb__vector_kind { QB__UNKNOWNS, QB__EQUATIONS } qb__vector_kind;

typedef struct qb__vector_job {
    qb__vector_what what;
    size_t count;
    double scale;
    const void *a, *b, *weight; /* what is read; may be NULL */
    void *out;
    bool nonneg;
} qb__vector_job;

/* Vectors that lie elsewhere, on a device (ops/vectors_device.h). */
typedef struct qb__vectors_elsewhere {
    qb_status (*make)(void *self, qb__vector_kind kind, void **vector); /* of zeros */
    void (*drop)(void *self, void *vector);                             /* NULL-safe */
    void (*run)(void *self, const qb__vector_job *job, double *sums);   /* sums[3] += what it sums */
    qb_status (*status)(void *self); /* of all calls so far: the first failure, again */
} qb__vectors_elsewhere;

/* Long vectors of float, in memory on a pool's threads (a vector is a float *), or elsewhere (its handle). Sums are
 * taken block by block and the blocks in order, in double or its like, so that bits depend on the length alone,
 * never on the threads. */
typedef struct qb__vectors {
    qb__pool *pool;
    double *partial; /* [qb__vector_blocks(longest)] */
    const qb__vectors_elsewhere *elsewhere; /* NULL: in memory */
    void *self;
} qb__vectors;

size_t qb__vector_blocks(size_t count);
qb_status qb__vectors_create(qb__pool *pool, size_t longest, qb__vectors *vectors);
void qb__vectors_destroy(qb__vectors *vectors); /* NULL-safe */

qb_status qb__vector_make(const qb__vectors *v, qb__vector_kind kind, size_t count, void **vector); /* of zeros */
void qb__vector_drop(const qb__vectors *v, void *vector);                                           /* NULL-safe */
/* Whether all has gone well; elsewhere a failure shows here. */
qb_status qb__vectors_status(const qb__vectors *v);
void qb__vector_copy(const qb__vectors *v, const void *from, void *to, size_t count);
double qb__vector_dot(const qb__vectors *v, const void *a, const void *b, size_t count);
/* y += scale x. */
void qb__vector_add(const qb__vectors *v, double scale, const void *x, void *y, size_t count);
/* y = x + scale y. */
void qb__vector_fold(const qb__vectors *v, const void *x, double scale, void *y, size_t count);
/* y = weight (a - y), weight NULL: 1. The sum of squares of a - y. */
double qb__vector_residual(const qb__vectors *v, const void *a, const void *weight, void *y,
                           size_t count);
/* x = 1 / x where it is more than least, else 0. */
void qb__vector_invert(const qb__vectors *v, double least, void *x, size_t count);
/* g = 0 where x, at its bound of zero, would be pushed below it. */
void qb__vector_free(const qb__vectors *v, const void *x, void *g, size_t count);
void qb__vector_scale(const qb__vectors *v, double scale, void *x, size_t count);
void qb__vector_fill(const qb__vectors *v, float value, void *x, size_t count);
/* x += step weight y (weight NULL: 1), not below zero if `nonneg`. Sums of squares of what x changed
 * by, and of x, and of how far below zero it would have been. */
typedef struct qb__vector_step {
    double change2, norm2, below2;
} qb__vector_step;
qb__vector_step qb__vector_advance(const qb__vectors *v, double step, const void *weight,
                                   const void *y, bool nonneg, void *x, size_t count);

#endif
