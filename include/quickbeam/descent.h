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

/* Coordinate descent on a sparse quadratic, as in qb mbir but for any matrix. Minimises over x
 *
 *   1/2 sum_i w_i (y_i - (A x)_i)^2  +  pull / 2 sum_j (x_j - toward_j)^2
 *
 * with or without x >= 0. With `pull` and `toward` this is the proximal map of the first term, for plug and play. */

/* A sparse matrix A by columns: column j has the entries value[k] in the rows row[k], for first[j] <= k < first[j + 1].
 * The arrays belong to the caller. */
typedef struct qb_columns {
    size_t rows, columns;
    const size_t *first; /* [columns + 1], ascending from 0 */
    const uint32_t *row; /* [first[columns]] less than `rows`, ascending within a column */
    const float *value;
} qb_columns;

typedef struct qb_quadratic {
    qb_columns matrix;
    const float *y;       /* [rows] */
    const float *weights; /* [rows] >= 0; NULL = 1 */
    const float *toward;  /* [columns]; NULL = 0 */
    double pull;          /* pull toward the given values, >= 0 */
    bool positive;        /* no x below zero */
    int passes;           /* maximum number of passes over all columns; 0 = 100 */
    double stop;          /* stop if sum |change of x| < stop * sum |x| in a pass; 0 = never */
    uint64_t seed;        /* seed of the order of columns, which is drawn anew each pass */
} qb_quadratic;

/* Result of a descent. */
typedef struct qb_descent {
    int passes;
    double cost, change; /* final cost; relative change in the last pass */
} qb_descent;

/* x[columns]: start value and result; unchanged after a failure. An element whose rows have no weight stays unless
 * `pull` is positive. The error is kept in double precision and the order follows from the seed, so the bits are the
 * same everywhere. `descent` and `env` may be NULL. QB_BAD_ARGUMENT for an inconsistent matrix; QB_BAD_INPUT for values
 * that are not finite, negative weights, and an x beyond single precision; QB_CANCELLED between passes;
 * QB_NO_MEMORY. */
QB_API qb_status qb_quadratic_descend(const qb_quadratic *quadratic, float *x, qb_descent *descent, const qb_env *env);

#ifdef __cplusplus
}
#endif
#endif
