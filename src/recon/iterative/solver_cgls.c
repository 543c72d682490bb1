/* SPDX-License-Identifier: MIT */
/* Conjugate gradients on A'A x = A'b (Hestenes and Stiefel 1952, as CGLS in Bjorck 1996). With `nonneg`, values below
 * zero are set to zero. As directions are then no longer conjugate, the next direction is again the steepest
 * descent. */
#include <math.h>

#include "base/status.h"
#include "recon/iterative/solver_method.h"

static qb_status run_cgls(const qb__linear *a, const qb__solve_options *options, const qb__vectors *v,
                          const qb_env *env, void *b, void *x, qb__solved *solved) {
    const size_t n = a->unknowns, m = a->equations;
    void *gradient = NULL, *direction = NULL, *lines = NULL;
    void *residual = b; /* b - A x, kept up to date */
    double gamma = 0, norm2, along, before2;
    bool last = false, restart = true;
    void *data = NULL; /* copy of b, from which the residual is computed again after values were set to zero */
    qb_status status;
    qb__solve_begin(solved);
    QB__TRY(qb__solve_dot_lines(a, v, b, b, &norm2));
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
        qb__solve_mask(a, v, residual, lines); /* -0 - step * 0 stays -0 */
        QB__TRY(qb__solve_dot_lines(a, v, lines, lines, &along));
        const double step = qb__vector_dot(v, QB__UNKNOWNS, gradient, direction, n) / along;
        QB__TRY(qb__solve_dot_lines(a, v, residual, residual, &before2));
        const qb__vector_step done = qb__vector_advance(v, step, NULL, direction, options->nonneg, x, n);
        restart = done.below2 > 0;
        if (restart) {
            QB__TRY(a->forward(a->self, x, residual));
            qb__solve_mask(a, v, data, residual);
            qb__vector_residual(v, data, NULL, residual, m);
        } else {
            qb__vector_add(v, QB__EQUATIONS, -step, lines, residual, m);
        }
        QB__TRY(qb__solve_note(a, options, "cgls", v, env, sqrt(before2) / sqrt(norm2), &done, solved, &last));
    }
out:
    qb__vector_drop(v, gradient);
    qb__vector_drop(v, direction);
    qb__vector_drop(v, lines);
    qb__vector_drop(v, data);
    return status;
}

const qb__solver qb__solver_cgls = {.loose_ends = true,
                                    .name = "cgls",
                                    .unknowns = 2,
                                    .equations = 2,
                                    .passes_each = 1,
                                    .equations_nonneg = 1,
                                    .run = run_cgls};

const qb_param qb_cgls_params[] = {
    QB__ITERATIVE_ROWS("20"),
    QB_PARAMS_END(qb_iterative_options),
};

QB__SOLVER(cgls)
