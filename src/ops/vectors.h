/* SPDX-License-Identifier: MIT */
#ifndef QB_OPS_VECTORS_H
#define QB_OPS_VECTORS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/pool.h"

/* Long vectors of float for iterative solvers: in memory, computed by a pool's threads (a vector is a float *), or on a
 * device (a vector is a handle, ops/vectors_device.h). */

/* A vector is a volume's voxels or the projections' pixels. */
typedef enum qb__vector_kind { QB__UNKNOWNS, QB__EQUATIONS } qb__vector_kind;

enum { QB__VECTOR_OPERANDS = 7, QB__VECTOR_SCALARS = 3, QB__VECTOR_SUMS = 4, QB__VECTOR_MORE = 18 };

typedef struct qb__vector_job qb__vector_job;

/* An operation on vectors is one descriptor, in the file that uses it: its loop for the CPU and the name of its kernel for
 * devices (kernels/vectors/vectors.clh says what a kernel looks like). */
typedef struct qb__vector_op {
    const char *source, *kernel;
    int sums; /* how many numbers it sums up, at most QB__VECTOR_SUMS */
    /* Elements first <= i < end of the vectors; adds to sums[]. NULL sums are never passed. */
    void (*run)(const qb__vector_job *job, size_t first, size_t end, double *sums);
    unsigned writes; /* bit i: it writes to v[i]. Only vectors made by qb__vector_make_spilled() need it */
} qb__vector_op;

struct qb__vector_job {
    const qb__vector_op *op;
    qb__vector_kind kind;         /* kind of all its vectors */
    size_t count;                 /* elements in each */
    void *v[QB__VECTOR_OPERANDS]; /* those that the operation reads and writes, in its own order; NULL: none */
    double s[QB__VECTOR_SCALARS]; /* floats on a device */
    int flags;                    /* the operation's own */
    float more[QB__VECTOR_MORE];  /* more numbers of the operation's own */
    /* Of equations: the operation is for these views only. v[0] begins with the first of them, the others hold all views. `each`:
     * elements of a view. each = 0: all views. */
    struct {
        size_t first, count, each;
    } views;
    size_t n[3]; /* voxels along x, y, z; set by qb__vector_run() */
};

/* Takes bytes that it is given, or fills them. */
typedef qb_status (*qb__vector_piece)(void *self, void *data, size_t bytes);

/* Where vectors live that are not in memory. */
typedef struct qb__vectors_elsewhere {
    qb_status (*make)(void *self, qb__vector_kind kind, void **vector); /* a vector of zeros */
    qb_status (*make_spilled)(void *self, qb__vector_kind kind, void **vector);
    void (*drop)(void *self, void *vector);                           /* NULL-safe */
    void (*run)(void *self, const qb__vector_job *job, double *sums); /* sums[] += what it sums */
    void (*copy)(void *self, const void *from, void *to);
    qb_status (*pass)(void *self, void *vector, bool into, qb__vector_piece piece, void *to);
    void (*fill)(void *self, float value, void *vector);
    qb_status (*status)(void *self); /* the first failure of all calls so far */
} qb__vectors_elsewhere;

/* Sums are taken block by block and the blocks in order, in double or its like, so that bits depend on the length alone,
 * never on the threads. */
typedef struct qb__vectors {
    qb__pool *pool;
    double *partial;                        /* [QB__VECTOR_SUMS * qb__vector_blocks(longest)] */
    size_t n[3];                            /* voxels of the volume along x, y, z */
    const qb__vectors_elsewhere *elsewhere; /* NULL: in memory */
    void *self;
} qb__vectors;

size_t qb__vector_blocks(size_t count);
/* `n`: voxels along x, y, z; NULL: no operation needs them. */
qb_status qb__vectors_create(qb__pool *pool, size_t longest, const size_t n[3], qb__vectors *vectors);
void qb__vectors_destroy(qb__vectors *vectors); /* NULL-safe */

qb_status qb__vector_make(const qb__vectors *v, qb__vector_kind kind, size_t count, void **vector); /* of zeros */
/* A vector for qb__vector_run() and qb__vector_copy() alone, of any values: where a device has little room, it lies in the host's
 * memory and passes through. At most two in an operation, of which those of unknowns are read without their neighbours. */
qb_status qb__vector_make_spilled(const qb__vectors *v, qb__vector_kind kind, size_t count, void **vector);
void qb__vector_drop(const qb__vectors *v, void *vector); /* NULL-safe */
/* A failure on a device shows here, and nothing is computed after it. */
qb_status qb__vectors_status(const qb__vectors *v);
/* Run an operation. Sets sums[QB__VECTOR_SUMS] unless it is NULL. */
void qb__vector_run(const qb__vectors *v, qb__vector_job job, double *sums);

/* ---- the common ones ---- */

void qb__vector_copy(const qb__vectors *v, const void *from, void *to, size_t count);
void qb__vector_fill(const qb__vectors *v, float value, void *x, size_t count);
/* All bytes of a vector, in its own order, are given to `piece`, or come from it (`into`). */
qb_status qb__vector_pass(const qb__vectors *v, void *x, size_t count, bool into, qb__vector_piece piece, void *to);
double qb__vector_dot(const qb__vectors *v, qb__vector_kind kind, const void *a, const void *b, size_t count);
/* y += scale x. */
void qb__vector_add(const qb__vectors *v, qb__vector_kind kind, double scale, const void *x, void *y, size_t count);
/* y = x + scale y. */
void qb__vector_fold(const qb__vectors *v, qb__vector_kind kind, const void *x, double scale, void *y, size_t count);
/* y = weight (a - y), weight NULL: 1, of equations. The sum of squares of a - y. */
double qb__vector_residual(const qb__vectors *v, const void *a, const void *weight, void *y, size_t count);
/* x = 1 / x where it is more than least, else 0. */
void qb__vector_invert(const qb__vectors *v, qb__vector_kind kind, double least, void *x, size_t count);
/* Of equations: y = 0 where b is -0. */
void qb__vector_mask(const qb__vectors *v, const void *b, void *y, size_t count);
/* Of unknowns: g = 0 where x, at its bound of zero, would be pushed below it. */
void qb__vector_free(const qb__vectors *v, const void *x, void *g, size_t count);
void qb__vector_scale(const qb__vectors *v, qb__vector_kind kind, double scale, void *x, size_t count);
/* Of unknowns: x += step weight y (weight NULL: 1), not below zero if `nonneg`. Sums of squares of what x changed
 * by, and of x, and of how far below zero it would have been. */
typedef struct qb__vector_step {
    double change2, norm2, below2;
} qb__vector_step;
qb__vector_step qb__vector_advance(const qb__vectors *v, double step, const void *weight, const void *y, bool nonneg,
                                   void *x, size_t count);

#endif
