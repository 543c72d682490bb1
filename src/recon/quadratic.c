/* SPDX-License-Identifier: MIT */
/* Coordinate descent on any sparse quadratic: section 6 of Wang et al. (PPoPP 2017). */
#include "quickbeam/descent.h"

#include <math.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/status.h"

enum { PASSES = 100 };

typedef struct descending {
    const qb_quadratic *q;
    double *error;     /* [rows] y - A x */
    double *x, *curve; /* [columns] */
    size_t *order;
} descending;

/* ---- what comes in ---- */

static qb_status check_matrix(const qb_columns *a) {
    if (!a->first || a->first[0] != 0)
        return qb__fail(QB_BAD_ARGUMENT, "the first column begins at entry 0: matrix.first says otherwise");
    for (size_t j = 0; j < a->columns; j++) {
        if (a->first[j + 1] > a->first[j] && (!a->row || !a->value))
            return qb__fail(QB_BAD_ARGUMENT, "column %zu has entries: matrix.%s is NULL", j, a->row ? "value" : "row");
        if (a->first[j + 1] < a->first[j])
            return qb__fail(QB_BAD_ARGUMENT, "column %zu ends at entry %zu, before it begins at %zu", j,
                            a->first[j + 1], a->first[j]);
        for (size_t k = a->first[j]; k < a->first[j + 1]; k++) {
            if (a->row[k] >= a->rows)
                return qb__fail(QB_BAD_ARGUMENT, "entry %zu, of column %zu, is in row %u of %zu", k, j,
                                (unsigned)a->row[k], a->rows);
            if (k > a->first[j] && a->row[k] <= a->row[k - 1])
                return qb__fail(
                    QB_BAD_ARGUMENT,
                    "entry %zu, of column %zu, is in row %u, behind row %u: rows of a column rise, none comes twice", k,
                    j, (unsigned)a->row[k], (unsigned)a->row[k - 1]);
            if (!isfinite(a->value[k]))
                return qb__fail(QB_BAD_INPUT, "entry %zu, of column %zu, is %g", k, j, (double)a->value[k]);
        }
    }
    return QB_OK;
}

static qb_status check_numbers(const float *numbers, size_t count, const char *what, bool below_zero) {
    for (size_t i = 0; numbers && i < count; i++)
        if (!isfinite(numbers[i]) || (numbers[i] < 0 && !below_zero))
            return qb__fail(QB_BAD_INPUT, "%s[%zu] is %g: %s", what, i, (double)numbers[i],
                            below_zero ? "give numbers" : "give numbers from 0 up");
    return QB_OK;
}

static qb_status check(const qb_quadratic *q, const float *x) {
    qb_status status;
    QB__TRY(check_matrix(&q->matrix));
    QB__TRY(check_numbers(q->y, q->matrix.rows, "y", true));
    QB__TRY(check_numbers(q->weights, q->matrix.rows, "weights", false));
    QB__TRY(check_numbers(q->toward, q->matrix.columns, "toward", true));
    QB__TRY(check_numbers(x, q->matrix.columns, "x", true));
    if (!(q->pull >= 0) || !isfinite(q->pull))
        status = qb__fail(QB_BAD_ARGUMENT, "pull is %g: give a number from 0 up", q->pull);
    else if (!(q->stop >= 0))
        status = qb__fail(QB_BAD_ARGUMENT, "stop is %g: give a share from 0 up", q->stop);
    else if (q->passes < 0)
        status = qb__fail(QB_BAD_ARGUMENT, "passes is %d: give how many at most, or 0 for %d", q->passes, PASSES);
out:
    return status;
}

static double weight_of(const qb_quadratic *q, size_t row) { return q->weights ? (double)q->weights[row] : 1; }
static double toward_of(const qb_quadratic *q, size_t j) { return q->toward ? (double)q->toward[j] : 0; }

/* ---- descent ---- */

static void begin(descending *d, const float *x) {
    const qb_columns *a = &d->q->matrix;
    for (size_t i = 0; i < a->rows; i++) d->error[i] = (double)d->q->y[i];
    for (size_t j = 0; j < a->columns; j++) {
        d->order[j] = j;
        d->x[j] = d->q->positive ? fmax((double)x[j], 0) : (double)x[j];
        d->curve[j] = 0;
        for (size_t k = a->first[j]; k < a->first[j + 1]; k++) {
            const double value = (double)a->value[k];
            d->error[a->row[k]] -= value * d->x[j];
            d->curve[j] += value * value * weight_of(d->q, a->row[k]);
        }
    }
}

/* Returns |x' - x|. */
static double update(descending *d, size_t j) {
    const qb_quadratic *q = d->q;
    const qb_columns *a = &q->matrix;
    const double curve = d->curve[j] + q->pull;
    double slope = q->pull * (toward_of(q, j) - d->x[j]);
    if (!(curve > 0)) return 0;
    for (size_t k = a->first[j]; k < a->first[j + 1]; k++)
        slope += (double)a->value[k] * weight_of(q, a->row[k]) * d->error[a->row[k]];
    double next = d->x[j] + slope / curve;
    if (q->positive) next = fmax(next, 0);
    const double step = next - d->x[j];
    d->x[j] = next;
    for (size_t k = a->first[j]; step != 0 && k < a->first[j + 1]; k++)
        d->error[a->row[k]] -= (double)a->value[k] * step;
    return fabs(step);
}

static double pass(descending *d, int number) {
    const size_t columns = d->q->matrix.columns;
    qb__random random = qb__random_stream(d->q->seed, (uint64_t)number);
    double change = 0, size = 0;
    for (size_t i = columns; i > 1; i--) {
        const size_t other = qb__random_bits(&random) % i, kept = d->order[i - 1];
        d->order[i - 1] = d->order[other];
        d->order[other] = kept;
    }
    for (size_t i = 0; i < columns; i++) change += update(d, d->order[i]);
    for (size_t j = 0; j < columns; j++) size += fabs(d->x[j]);
    return size > 0 ? change / size : 0;
}

static double cost_of(const descending *d) {
    double cost = 0;
    for (size_t i = 0; i < d->q->matrix.rows; i++) cost += 0.5 * weight_of(d->q, i) * d->error[i] * d->error[i];
    for (size_t j = 0; j < d->q->matrix.columns; j++) {
        const double far = d->x[j] - toward_of(d->q, j);
        cost += 0.5 * d->q->pull * far * far;
    }
    return cost;
}

/* What comes out is single precision: below this it rounds to a float that is finite. */
static const double beyond = 0x1.ffffffp127;

static qb_status check_result(const descending *d, const qb_descent *came) {
    if (!isfinite(came->cost))
        return qb__fail(QB_INTERNAL,
                        "the descent diverges: after %d passes the cost is %g; numbers of the matrix are too far apart",
                        came->passes, came->cost);
    for (size_t j = 0; j < d->q->matrix.columns; j++)
        if (!(fabs(d->x[j]) < beyond))
            return qb__fail(QB_BAD_INPUT,
                            "x[%zu] comes to %g, beyond single precision: give y and the matrix in other units", j,
                            d->x[j]);
    return QB_OK;
}

qb_status qb_quadratic_descend(const qb_quadratic *quadratic, float *x, qb_descent *descent, const qb_env *env) {
    QB__NEED(quadratic);
    QB__NEED(x);
    QB__NEED(quadratic->y);
    const size_t columns = quadratic->matrix.columns;
    const int most = quadratic->passes > 0 ? quadratic->passes : PASSES;
    descending d = {.q = quadratic};
    qb_descent came = {0};
    qb_status status;
    QB__TRY(check(quadratic, x));
    QB__TRY(qb__alloc(quadratic->matrix.rows, sizeof *d.error, &d.error));
    QB__TRY(qb__alloc(columns, sizeof *d.x, &d.x));
    QB__TRY(qb__alloc(columns, sizeof *d.curve, &d.curve));
    QB__TRY(qb__alloc(columns, sizeof *d.order, &d.order));
    begin(&d, x);
    for (bool more = true; more && came.passes < most; came.passes++) {
        QB__TRY(qb__check_cancel(env));
        came.change = pass(&d, came.passes);
        more = came.change > quadratic->stop || (quadratic->stop == 0 && came.change > 0);
    }
    came.cost = cost_of(&d);
    QB__TRY(check_result(&d, &came));
    for (size_t j = 0; j < columns; j++) x[j] = (float)d.x[j];
    if (descent) *descent = came;
out:
    QB__FREE(d.error, d.x, d.curve, d.order);
    return status;
}
