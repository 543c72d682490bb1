/* SPDX-License-Identifier: MIT */
#ifndef QUICKBEAM_DESCENT_H
#define QUICKBEAM_DESCENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "quickbeam/env.h"
#include "quickbeam/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Any sparse quadratic by coordinate descent, as qb mbir's without rays: the x that makes
 *
 *   1/2 sum_i w_i (y_i - (A x)_i)^2  +  pull / 2 sum_j (x_j - toward_j)^2
 *
 * least, or least among those that are not below zero. With `pull` and `toward` it is the proximal map of
 * the first term, for methods that alternate between data and a prior of their own (plug and play). */

/* A by columns: entries first[j] <= k < first[j + 1] of `row` and `value` are column j's. */
typedef struct qb_columns {
    size_t rows, columns;
    const size_t *first; /* [columns + 1], rising from 0 */
    const uint32_t *row; /* [first[columns]] below `rows`, rising within a column */
    const float *value;
} qb_columns;

typedef struct qb_quadratic {
    qb_columns matrix;
    const float *y;       /* [rows] */
    const float *weights; /* [rows] from 0 up; NULL = 1 */
    const float *toward;  /* [columns]; NULL = 0 */
    double pull;          /* pull toward the given values, >= 0 */
    bool positive;        /* no x below zero */
    int passes;           /* over all columns, at most; 0 = 100 */
    double stop;          /* once a pass changes x by less than this share of it, sums of magnitudes; 0 = never */
    uint64_t seed;        /* seed of the order of columns, which is drawn anew each pass */
} qb_quadratic;

/* What came of it. */
typedef struct qb_descent {
    int passes;
    double cost, change; /* final cost; change in the last pass, as a share */
} qb_descent;

/* x[columns] is where it begins and what comes out; after a failure it is what it was. A column that no
 * weight sees stays unless something pulls. The error is kept in double precision, the order follows from
 * the seed: the same bits everywhere. `descent` and `env` may be NULL. QB_BAD_ARGUMENT for a matrix that
 * contradicts itself, QB_BAD_INPUT for numbers that are none, weights below zero and an x beyond single precision, QB_CANCELLED between
 * passes, QB_NO_MEMORY. */
QB_API qb_status qb_quadratic_descend(const qb_quadratic *quadratic, float *x, qb_descent *descent, const qb_env *env);

#ifdef __cplusplus
}
#endif
#endif
