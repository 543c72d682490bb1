/* SPDX-License-Identifier: MIT */
#include "recon/iterative/solver.h"

#include <math.h>

#include "base/log.h"
#include "base/status.h"

/* Where an iteration stands: note it, and say whether it was the last. */
static qb_status note(const qb__linear *a, const qb__solve_options *options, const char *name, const qb__vectors *v,
                      const qb_env *env, double residual, const qb__vector_step *step, qb__solved *solved, bool *last) {
    qb_status status = qb__vectors_status(v);
    double change = step->norm2 > 0 ? sqrt(step->change2 / step->norm2) : 0;
    if (status == QB_OK && a->same) status = a->same(a->self, &change);
    if (status != QB_OK) return status;
    qb__solve_trace *trace = &solved->trace[solved->iterations++];
    *trace = (qb__solve_trace){residual, change};
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

/* Over the equations of all who share them. */
static qb_status total(const qb__linear *a, double *sum) { return a->total ? a->total(a->self, sum) : QB_OK; }

static qb_status dot_lines(const qb__linear *a, const qb__vectors *v, const void *x, const void *y, double *sum) {
    *sum = qb__vector_dot(v, QB__EQUATIONS, x, y, a->equations);
    return total(a, sum);
}

static void begin(qb__solved *solved) {
    solved->iterations = 0;
    solved->stopped = "residual is zero"; /* unless something else stops it */
}

/* y = 0 where b says that nothing was measured. */
static void mask(const qb__linear *a, const qb__vectors *v, const void *b, void *y) {
    if (a->holes) qb__vector_mask(v, b, y, a->equations);
}

/* ---- SIRT ---- */

typedef struct sirt {
    void *rows, *columns; /* one over the sums */
    void *lines, *update;
} sirt;

/* Rays that touch nothing, and voxels that no ray meets, weigh nothing; nor do those that but graze one another, by
 * less than a thousandth of a ray through a voxel's middle. Divided by its sum, a touch of any size weighs as much as a
 * whole crossing: a voxel would get all that the ray next to it has, and a ray past the volume would pull at the one voxel
 * on its rim, for what may be no more than how it was rounded (some 1e-7 of a crossing a ray, and on each kernel another).
 * It is measured against one crossing and not against the mean or the largest sum: these grow with views and planes,
 * as a touch does not, and the mean falls where rays see little of the volume. */
static qb_status sum_up(const qb__linear *a, const qb__vectors *v, const void *b, sirt *s) {
    const double least = 1e-3 * a->crossing;
    qb_status status;
    qb__vector_fill(v, 1, s->update, a->unknowns);
    qb__vector_fill(v, 1, s->lines, a->equations);
    mask(a, v, b, s->lines);
    QB__TRY(a->forward(a->self, s->update, s->rows));
    QB__TRY(a->adjoint(a->self, s->lines, s->columns));
    mask(a, v, b, s->rows);
    qb__vector_invert(v, QB__EQUATIONS, least, s->rows, a->equations);
    qb__vector_invert(v, QB__UNKNOWNS, least, s->columns, a->unknowns);
out:
    return status;
}

static qb_status run_sirt(const qb__linear *a, const qb__solve_options *options,
                          const qb__vectors *v, const qb_env *env, void *b, void *x,
                          qb__solved *solved) {
    sirt s = {0};
    bool last = false;
    qb_status status;
    double norm2, residual2;
    begin(solved);
    QB__TRY(dot_lines(a, v, b, b, &norm2));
    QB__TRY(qb__vector_make(v, QB__EQUATIONS, a->equations, &s.rows));
    QB__TRY(qb__vector_make(v, QB__EQUATIONS, a->equations, &s.lines));
    QB__TRY(qb__vector_make(v, QB__UNKNOWNS, a->unknowns, &s.columns));
    QB__TRY(qb__vector_make(v, QB__UNKNOWNS, a->unknowns, &s.update));
    QB__TRY(qb__vectors_status(v));
    if (!(norm2 > 0)) goto out;
    QB__TRY(sum_up(a, v, b, &s));
    while (!last) {
        QB__TRY(a->forward(a->self, x, s.lines));
        mask(a, v, b, s.lines);
        residual2 = qb__vector_residual(v, b, s.rows, s.lines, a->equations);
        QB__TRY(total(a, &residual2));
        QB__TRY(a->adjoint(a->self, s.lines, s.update));
        const qb__vector_step step = qb__vector_advance(v, options->relaxation, s.columns, s.update,
                                                        options->nonneg, x, a->unknowns);
        QB__TRY(note(a, options, "sirt", v, env, sqrt(residual2) / sqrt(norm2), &step, solved, &last));
    }
out:
    qb__vector_drop(v, s.rows);
    qb__vector_drop(v, s.lines);
    qb__vector_drop(v, s.columns);
    qb__vector_drop(v, s.update);
    return status;
}

const qb__solver qb__solver_sirt = {"sirt", 2, 2, run_sirt};

/* ---- CGLS ---- */

static qb_status run_cgls(const qb__linear *a, const qb__solve_options *options,
                          const qb__vectors *v, const qb_env *env, void *b, void *x,
                          qb__solved *solved) {
    const size_t n = a->unknowns, m = a->equations;
    void *gradient = NULL, *direction = NULL, *lines = NULL;
    void *residual = b; /* b - A x, kept up to date */
    double gamma = 0, norm2, along, before2;
    bool last = false, restart = true;
    void *data = NULL; /* b itself, where clamping makes the residual anew */
    qb_status status;
    begin(solved);
    QB__TRY(dot_lines(a, v, b, b, &norm2));
    QB__TRY(qb__vector_make(v, QB__UNKNOWNS, n, &gradient));
    QB__TRY(qb__vector_make(v, QB__UNKNOWNS, n, &direction));
    QB__TRY(qb__vector_make(v, QB__EQUATIONS, m, &lines));
    if (options->nonneg) {
        QB__TRY(qb__vector_make(v, QB__EQUATIONS, m, &data));
        qb__vector_copy(v, b, data, m);
    }
    QB__TRY(qb__vectors_status(v));
    while (!last && norm2 > 0) {
        QB__TRY(a->adjoint(a->self, residual, gradient));
        if (options->nonneg) qb__vector_free(v, x, gradient, n);
        const double next = qb__vector_dot(v, QB__UNKNOWNS, gradient, gradient, n);
        QB__TRY(qb__vectors_status(v));
        if (!(next > 0)) break;
        qb__vector_fold(v, QB__UNKNOWNS, gradient, restart ? 0 : next / gamma, direction, n);
        gamma = next;
        QB__TRY(a->forward(a->self, direction, lines));
        mask(a, v, residual, lines); /* -0 - step * 0 stays -0 */
        QB__TRY(dot_lines(a, v, lines, lines, &along));
        const double step = qb__vector_dot(v, QB__UNKNOWNS, gradient, direction, n) / along;
        QB__TRY(dot_lines(a, v, residual, residual, &before2));
        const qb__vector_step done =
            qb__vector_advance(v, step, NULL, direction, options->nonneg, x, n);
        restart = done.below2 > 0;
        if (restart) {
            QB__TRY(a->forward(a->self, x, residual));
            mask(a, v, data, residual);
            qb__vector_residual(v, data, NULL, residual, m);
        } else {
            qb__vector_add(v, QB__EQUATIONS, -step, lines, residual, m);
        }
        QB__TRY(note(a, options, "cgls", v, env, sqrt(before2) / sqrt(norm2), &done, solved, &last));
    }
out:
    qb__vector_drop(v, gradient);
    qb__vector_drop(v, direction);
    qb__vector_drop(v, lines);
    qb__vector_drop(v, data);
    return status;
}

const qb__solver qb__solver_cgls = {"cgls", 2, 2, run_cgls};
