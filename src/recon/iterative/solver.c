/* SPDX-License-Identifier: MIT */
#include "recon/iterative/solver.h"

#include <math.h>

#include "base/log.h"
#include "base/status.h"

qb_status qb__solve_note(const qb__linear *a, const qb__solve_options *options, const char *name, const qb__vectors *v,
                         const qb_env *env, double residual, const qb__vector_step *step, qb__solved *solved,
                         bool *last) {
    qb_status status = qb__vectors_status(v);
    double change = step->norm2 > 0 ? sqrt(step->change2 / step->norm2) : 0;
    if (status == QB_OK && a->same) status = a->same(a->self, &change);
    if (status != QB_OK) return status;
    qb__solve_trace *trace = &solved->trace[solved->iterations++];
    *trace = (qb__solve_trace){.residual = residual, .change = change};
    if (!isfinite(residual) || !isfinite(change) || residual > 10 * fmax(1, solved->trace[0].residual))
        return qb__fail(QB_INTERNAL,
                        "%s diverges: after %d iterations the residual is %.3g of the data; do scan "
                        "and geometry belong together? A smaller --relaxation may help",
                        name, solved->iterations, residual);
    qb__progress(env, name, (uint64_t)solved->iterations, (uint64_t)options->iterations);
    *last = true;
    if (change <= options->tolerance && options->tolerance > 0)
        solved->stopped = "tolerance";
    else if (solved->iterations == options->iterations)
        solved->stopped = "iterations";
    else
        *last = false;
    return qb__check_cancel(env);
}

qb_status qb__solve_total(const qb__linear *a, double *sum) { return a->total ? a->total(a->self, sum) : QB_OK; }

qb_status qb__solve_dot_lines(const qb__linear *a, const qb__vectors *v, const void *x, const void *y, double *sum) {
    *sum = qb__vector_dot(v, QB__EQUATIONS, x, y, a->equations);
    return qb__solve_total(a, sum);
}

void qb__solve_begin(qb__solved *solved) {
    solved->iterations = 0;
    solved->gap = solved->lambda = solved->noise = solved->strength = NAN;
    solved->stopped = "residual is zero"; /* used unless something else stops the solver */
}

void qb__solve_mask(const qb__linear *a, const qb__vectors *v, const void *b, void *y) {
    if (a->holes) qb__vector_mask(v, b, y, a->equations);
}
