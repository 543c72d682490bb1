/* SPDX-License-Identifier: MIT */
#include "recon/iterative/solver.h"

#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"

/* Where an iteration stands: note it, and say whether it was the last. */
static qb_status note(const qb__solve_options *options, const char *name, const qb_env *env,
                      double residual, const qb__vector_step *step, qb__solved *solved, bool *last) {
    const double change = step->norm2 > 0 ? sqrt(step->change2 / step->norm2) : 0;
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

static void begin(qb__solved *solved) {
    solved->iterations = 0;
    solved->stopped = "residual is zero"; /* unless something else stops it */
}

/* ---- SIRT ---- */

typedef struct sirt {
    float *rows, *columns; /* one over the sums */
    float *lines, *update;
} sirt;

/* Rays that touch nothing, and voxels that no ray meets, weigh nothing. */
static qb_status sum_up(const qb__linear *a, const qb__vectors *v, sirt *s) {
    const double tiny = 1e-6;
    qb_status status;
    qb__vector_fill(v, 1, s->update, a->unknowns);
    qb__vector_fill(v, 1, s->lines, a->equations);
    QB__TRY(a->forward(a->self, s->update, s->rows));
    QB__TRY(a->adjoint(a->self, s->lines, s->columns));
    const double row = qb__vector_dot(v, s->rows, s->lines, a->equations) / (double)a->equations;
    const double column =
        qb__vector_dot(v, s->columns, s->update, a->unknowns) / (double)a->unknowns;
    qb__vector_invert(v, tiny * row, s->rows, a->equations);
    qb__vector_invert(v, tiny * column, s->columns, a->unknowns);
out:
    return status;
}

static qb_status run_sirt(const qb__linear *a, const qb__solve_options *options,
                          const qb__vectors *v, const qb_env *env, float *b, float *x,
                          qb__solved *solved) {
    sirt s = {0};
    bool last = false;
    qb_status status;
    begin(solved);
    const double norm = sqrt(qb__vector_dot(v, b, b, a->equations));
    QB__TRY(qb__alloc(a->equations, sizeof(float), &s.rows));
    QB__TRY(qb__alloc(a->equations, sizeof(float), &s.lines));
    QB__TRY(qb__alloc(a->unknowns, sizeof(float), &s.columns));
    QB__TRY(qb__alloc(a->unknowns, sizeof(float), &s.update));
    if (!(norm > 0)) goto out;
    QB__TRY(sum_up(a, v, &s));
    while (!last) {
        QB__TRY(a->forward(a->self, x, s.lines));
        const double residual = sqrt(qb__vector_residual(v, b, s.rows, s.lines, a->equations));
        QB__TRY(a->adjoint(a->self, s.lines, s.update));
        const qb__vector_step step = qb__vector_advance(v, options->relaxation, s.columns, s.update,
                                                        options->nonneg, x, a->unknowns);
        QB__TRY(note(options, "sirt", env, residual / norm, &step, solved, &last));
    }
out:
    qb__free(s.rows);
    qb__free(s.lines);
    qb__free(s.columns);
    qb__free(s.update);
    return status;
}

const qb__solver qb__solver_sirt = {"sirt", 2, 2, run_sirt};

/* ---- CGLS ---- */

static qb_status run_cgls(const qb__linear *a, const qb__solve_options *options,
                          const qb__vectors *v, const qb_env *env, float *b, float *x,
                          qb__solved *solved) {
    const size_t n = a->unknowns, m = a->equations;
    float *gradient = NULL, *direction = NULL, *lines = NULL;
    float *residual = b; /* b - A x, kept up to date */
    const double norm = sqrt(qb__vector_dot(v, b, b, m));
    double gamma = 0;
    bool last = false, restart = true;
    float *data = NULL; /* b itself, where clamping makes the residual anew */
    qb_status status;
    begin(solved);
    QB__TRY(qb__alloc(n, sizeof(float), &gradient));
    QB__TRY(qb__alloc(n, sizeof(float), &direction));
    QB__TRY(qb__alloc(m, sizeof(float), &lines));
    if (options->nonneg) {
        QB__TRY(qb__alloc(m, sizeof(float), &data));
        memcpy(data, b, m * sizeof *data);
    }
    while (!last && norm > 0) {
        QB__TRY(a->adjoint(a->self, residual, gradient));
        if (options->nonneg) qb__vector_free(v, x, gradient, n);
        const double next = qb__vector_dot(v, gradient, gradient, n);
        if (!(next > 0)) break;
        qb__vector_fold(v, gradient, restart ? 0 : next / gamma, direction, n);
        gamma = next;
        QB__TRY(a->forward(a->self, direction, lines));
        const double along = qb__vector_dot(v, lines, lines, m);
        const double step = qb__vector_dot(v, gradient, direction, n) / along;
        const double before = sqrt(qb__vector_dot(v, residual, residual, m));
        const qb__vector_step done =
            qb__vector_advance(v, step, NULL, direction, options->nonneg, x, n);
        restart = done.below2 > 0;
        if (restart) {
            QB__TRY(a->forward(a->self, x, residual));
            qb__vector_residual(v, data, NULL, residual, m);
        } else {
            qb__vector_add(v, -step, lines, residual, m);
        }
        QB__TRY(note(options, "cgls", env, before / norm, &done, solved, &last));
    }
out:
    qb__free(gradient);
    qb__free(direction);
    qb__free(lines);
    qb__free(data);
    return status;
}

const qb__solver qb__solver_cgls = {"cgls", 2, 2, run_cgls};
