/* SPDX-License-Identifier: MIT */
/* Simultaneous iterative reconstruction (Gilbert 1972; in this form Gregor and Benson 2008): x += relaxation C A' R (b
 * - A x). R and C are the reciprocals of the sums of A's rows and columns. */
#include <math.h>

#include "base/status.h"
#include "recon/iterative/solver_method.h"

typedef struct sirt {
    void *rows, *columns; /* reciprocals of the sums of rows and columns */
    void *lines, *update;
} sirt;

/* Rays that cross no voxel and voxels that no ray crosses have weight 0. Row and column sums below a thousandth of one
 * crossing through a voxel's middle also count as 0. Otherwise, since each is divided by its sum, a ray that only
 * grazes one voxel would weigh as much as a whole crossing: the voxel would get the whole value of that ray. Such a
 * graze may be only rounding (about 1e-7 of a crossing per ray, different in each kernel). The limit is relative to one
 * crossing, not to the mean or the largest sum: these grow with the number of views and planes, but a graze does not,
 * and the mean is low if rays see little of the volume. */
static qb_status sum_up(const qb__linear *a, const qb__vectors *v, const void *b, sirt *s) {
    const double least = 1e-3 * a->crossing;
    qb__vector_fill(v, 1, s->update, a->unknowns);
    qb__vector_fill(v, 1, s->lines, a->equations);
    qb__solve_mask(a, v, b, s->lines);
    QB__OR_RETURN(a->forward(a->self, s->update, s->rows));
    QB__OR_RETURN(a->adjoint(a->self, s->lines, s->columns));
    qb__solve_mask(a, v, b, s->rows);
    qb__vector_invert(v, QB__EQUATIONS, least, s->rows, a->equations);
    qb__vector_invert(v, QB__UNKNOWNS, least, s->columns, a->unknowns);
    return QB_OK;
}

static qb_status run_sirt(const qb__linear *a, const qb__solve_options *options, const qb__vectors *v,
                          const qb_env *env, void *b, void *x, qb__solved *solved) {
    sirt s = {0};
    bool last = false;
    qb_status status;
    double norm2, residual2;
    qb__solve_begin(solved);
    QB__TRY(qb__solve_dot_lines(a, v, b, b, &norm2));
    QB__TRY(qb__vector_make(v, QB__EQUATIONS, a->equations, &s.rows));
    QB__TRY(qb__vector_make(v, QB__EQUATIONS, a->equations, &s.lines));
    QB__TRY(qb__vector_make(v, QB__UNKNOWNS, a->unknowns, &s.columns));
    QB__TRY(qb__vector_make(v, QB__UNKNOWNS, a->unknowns, &s.update));
    QB__TRY(qb__vectors_status(v));
    if (!(norm2 > 0)) goto out;
    QB__TRY(sum_up(a, v, b, &s));
    while (!last) {
        QB__TRY(a->forward(a->self, x, s.lines));
        qb__solve_mask(a, v, b, s.lines);
        residual2 = qb__vector_residual(v, b, s.rows, s.lines, a->equations);
        QB__TRY(qb__solve_total(a, &residual2));
        QB__TRY(a->adjoint(a->self, s.lines, s.update));
        const qb__vector_step step =
            qb__vector_advance(v, options->relaxation, s.columns, s.update, options->nonneg, x, a->unknowns);
        QB__TRY(qb__solve_note(a, options, "sirt", v, env, sqrt(residual2) / sqrt(norm2), &step, solved, &last));
    }
out:
    qb__vector_drop(v, s.rows);
    qb__vector_drop(v, s.lines);
    qb__vector_drop(v, s.columns);
    qb__vector_drop(v, s.update);
    return status;
}

const qb__solver qb__solver_sirt = {.loose_ends = true,
                                    .name = "sirt",
                                    .unknowns = 2,
                                    .equations = 2,
                                    .passes_before = 1,
                                    .passes_each = 1,
                                    .run = run_sirt};

const qb_param qb_sirt_params[] = {
    QB__ITERATIVE_ROWS("100"),
    QB__ITERATIVE_ROW(relaxation, QB_PARAM_DOUBLE, "X", "1", NULL, 1e-6, 1.9,
                      "how much of each update is taken; near 2 it swings for long"),
    QB_PARAMS_END(qb_iterative_options),
};

QB__SOLVER(sirt)
