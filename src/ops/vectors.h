/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/pool.h"
#include "cpu/icd/icd.h"
#include "cpu/prior/prior.h"

/* Long vectors of float for iterative solvers: in host memory, computed by a pool's threads (a vector is a float *), or
 * on a device (a vector is a handle, ops/vectors_device.h). */

/* A vector holds a volume's voxels (unknowns) or the projections' pixels (equations). */
typedef enum qb__vector_kind { QB__UNKNOWNS, QB__EQUATIONS } qb__vector_kind;

enum { QB__VECTOR_OPERANDS = 7, QB__VECTOR_SCALARS = 3, QB__VECTOR_SUMS = 4, QB__VECTOR_MORE = 18 };

typedef struct qb__vector_job qb__vector_job;

/* A vector operation is one descriptor in the file that uses it: its loop for the CPU, and the name of its kernel for
 * devices (see kernels/vectors/vectors.clh for the form of a kernel). */
typedef struct qb__vector_op {
    const char *source, *kernel;
    int sums; /* number of sums that it returns, at most QB__VECTOR_SUMS */
    /* Process elements first <= i < end of the vectors; add to sums[], which is never NULL. */
    void (*run)(const qb__vector_job *job, size_t first, size_t end, double *sums);
    unsigned writes; /* bit i: it writes to v[i]. Needed only for vectors made by qb__vector_make_spilled() */
} qb__vector_op;

struct qb__vector_job {
    const qb__vector_op *op;
    qb__vector_kind kind;         /* kind of all its vectors */
    size_t count;                 /* elements in each */
    void *v[QB__VECTOR_OPERANDS]; /* the operation's vectors, in its own order; NULL: none */
    double s[QB__VECTOR_SCALARS]; /* float on a device */
    int flags;                    /* defined by the operation */
    float more[QB__VECTOR_MORE];  /* more numbers of the operation */
    /* Equations only: the operation is for these views. v[0] begins with the first of them, the other vectors hold all
     * views. `each`: elements per view. each = 0: all views. */
    struct {
        size_t first, count, each;
    } views;
    size_t n[3]; /* voxels along x, y, z; set by qb__vector_run() */
};

/* Callback that reads or fills a piece of memory. */
typedef qb_status (*qb__vector_piece)(void *self, void *data, size_t bytes);

/* Functions for vectors that are not in host memory. */
typedef struct qb__vectors_elsewhere {
    qb_status (*make)(void *self, qb__vector_kind kind, void **vector); /* a vector of zeros */
    qb_status (*make_spilled)(void *self, qb__vector_kind kind, void **vector);
    void (*drop)(void *self, void *vector);                           /* NULL-safe */
    void (*run)(void *self, const qb__vector_job *job, double *sums); /* sums[] += the operation's sums */
    void (*copy)(void *self, const void *from, void *to);
    qb_status (*pass)(void *self, void *vector, bool into, qb__vector_piece piece, void *to);
    void (*fill)(void *self, float value, void *vector);
    qb_status (*status)(void *self); /* the first failure of all calls so far */
} qb__vectors_elsewhere;

/* Sums are taken block by block, and the blocks in order, in double or equivalent precision, so that the bits depend
 * only on the length, not on the threads. */
typedef struct qb__vectors {
    qb__pool *pool;
    double *partial;                        /* [QB__VECTOR_SUMS * qb__vector_blocks(longest)] */
    size_t n[3];                            /* voxels of the volume along x, y, z */
    const qb__vectors_elsewhere *elsewhere; /* NULL: in host memory */
    void *self;
} qb__vectors;

size_t qb__vector_blocks(size_t count);
/* `n`: voxels along x, y, z; NULL: no operation needs them. */
qb_status qb__vectors_create(qb__pool *pool, size_t longest, const size_t n[3], qb__vectors *vectors);
void qb__vectors_destroy(qb__vectors *vectors); /* NULL-safe */

/* a vector of zeros */
qb_status qb__vector_make(const qb__vectors *v, qb__vector_kind kind, size_t count, void **vector);
/* A vector with undefined values, only for qb__vector_run() and qb__vector_copy(). If a device has little memory, it
 * lies in host memory and is streamed. At most two per operation; of unknowns only without neighbours. */
qb_status qb__vector_make_spilled(const qb__vectors *v, qb__vector_kind kind, size_t count, void **vector);
void qb__vector_drop(const qb__vectors *v, void *vector); /* NULL-safe */
/* The status of all work so far: after a failure on a device nothing more is computed. */
qb_status qb__vectors_status(const qb__vectors *v);
/* Run an operation. Sets sums[QB__VECTOR_SUMS] unless it is NULL. */
void qb__vector_run(const qb__vectors *v, qb__vector_job job, double *sums);

/* ---- common operations ---- */

void qb__vector_copy(const qb__vectors *v, const void *from, void *to, size_t count);
void qb__vector_fill(const qb__vectors *v, float value, void *x, size_t count);
/* All bytes of a vector, in its own layout, are passed to `piece`, or filled by it (`into`). */
qb_status qb__vector_pass(const qb__vectors *v, void *x, size_t count, bool into, qb__vector_piece piece, void *to);
double qb__vector_dot(const qb__vectors *v, qb__vector_kind kind, const void *a, const void *b, size_t count);
/* y += scale x. */
void qb__vector_add(const qb__vectors *v, qb__vector_kind kind, double scale, const void *x, void *y, size_t count);
/* Equations: views first <= v < first + count of y += x, which holds only these views. each: elements of a view. */
void qb__vector_add_views(const qb__vectors *v, const void *x, size_t first, size_t count, size_t each, void *y);
/* y = x + scale y. */
void qb__vector_fold(const qb__vectors *v, qb__vector_kind kind, const void *x, double scale, void *y, size_t count);
/* Equations: y = weight (a - y); weight NULL: 1. Sum: squares of a - y. */
double qb__vector_residual(const qb__vectors *v, const void *a, const void *weight, void *y, size_t count);
/* x = 1 / x if x > least, else 0. */
void qb__vector_invert(const qb__vectors *v, qb__vector_kind kind, double least, void *x, size_t count);
/* Equations: y = 0 where b is -0. */
void qb__vector_mask(const qb__vectors *v, const void *b, void *y, size_t count);
/* Unknowns: g = 0 where x is at its bound of zero and would become negative. */
void qb__vector_free(const qb__vectors *v, const void *x, void *g, size_t count);
void qb__vector_scale(const qb__vectors *v, qb__vector_kind kind, double scale, void *x, size_t count);
/* Unknowns: x += step weight y (weight NULL: 1), limited to x >= 0 if `nonneg`. Sums: squares of the change of x, of x,
 * and of the negative part that was cut off. */
typedef struct qb__vector_step {
    double change2, norm2, below2;
} qb__vector_step;
qb__vector_step qb__vector_advance(const qb__vectors *v, double step, const void *weight, const void *y, bool nonneg,
                                   void *x, size_t count);

/* A descent step of the cost of cpu/prior/prior.h, on vectors. */
typedef struct qb__prior_step_of {
    void *x, *slope, *curve, *toward; /* vectors of unknowns, see qb__prior_volume */
    double data;                      /* the slope of the data term is this times `slope` */
    size_t first, end; /* only slices first <= z < end step, in all others slope becomes 0; end = 0: all slices */
    bool nonneg, only_slopes, cost;
} qb__prior_step_of;

qb__prior_numbers qb__prior_numbers_of(const qb__icd_prior *prior, double pull);
/* Returns the cost of prior and proximal term at x if `cost` is set. */
double qb__vector_prior(const qb__vectors *v, const qb__prior_numbers *numbers, const qb__prior_step_of *step,
                        size_t count);
