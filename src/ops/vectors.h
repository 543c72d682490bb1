/* SPDX-License-Identifier: MIT */
#ifndef QB_OPS_VECTORS_H
#define QB_OPS_VECTORS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/pool.h"

/* Long vectors of float on a pool's threads. Sums are taken in double, block by block and the blocks
 * in order, so that bits depend on the length alone, never on the threads. */
typedef struct qb__vectors {
    qb__pool *pool;
    double *partial; /* [qb__vector_blocks(longest)] */
} qb__vectors;

size_t qb__vector_blocks(size_t count);
qb_status qb__vectors_create(qb__pool *pool, size_t longest, qb__vectors *vectors);
void qb__vectors_destroy(qb__vectors *vectors); /* NULL-safe */

double qb__vector_dot(const qb__vectors *v, const float *a, const float *b, size_t count);
/* y += scale x. */
void qb__vector_add(const qb__vectors *v, double scale, const float *x, float *y, size_t count);
/* y = x + scale y. */
void qb__vector_fold(const qb__vectors *v, const float *x, double scale, float *y, size_t count);
/* y = weight (a - y), weight NULL: 1. The sum of squares of a - y. */
double qb__vector_residual(const qb__vectors *v, const float *a, const float *weight, float *y,
                           size_t count);
/* x = 1 / x where it is more than least, else 0. */
void qb__vector_invert(const qb__vectors *v, double least, float *x, size_t count);
/* g = 0 where x, at its bound of zero, would be pushed below it. */
void qb__vector_free(const qb__vectors *v, const float *x, float *g, size_t count);
void qb__vector_scale(const qb__vectors *v, double scale, float *x, size_t count);
void qb__vector_fill(const qb__vectors *v, float value, float *x, size_t count);
/* x += step weight y (weight NULL: 1), not below zero if `nonneg`. Sums of squares of what x changed
 * by, and of x, and of how far below zero it would have been. */
typedef struct qb__vector_step {
    double change2, norm2, below2;
} qb__vector_step;
qb__vector_step qb__vector_advance(const qb__vectors *v, double step, const float *weight,
                                   const float *y, bool nonneg, float *x, size_t count);

#endif
