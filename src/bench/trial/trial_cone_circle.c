/* SPDX-License-Identifier: MIT */
/* The problem of a cone beam's trials: a full circle about the grid. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "bench/trial/trial_kind.h"
#include "geometry/grid.h"
#include "geometry/matrix.h"

static qb_status circle(const qb__bp_cone_problem *p, double (*matrix)[12]) {
    const double most = (double)(p->nx > p->nz ? p->nx : p->nz), sod = 2 * most, sdd = 1.5 * sod;
    const double pixel = 1.5 * (double)p->nx / (double)p->columns;
    const qb_grid grid = {.n = {p->nx, p->ny, p->nz}, .voxel = {1, 1, 1}};
    qb_geometry geometry = {0};
    qb__matrix *matrices = NULL;
    double *angles = NULL;
    qb_status status;
    QB__TRY(qb__alloc(p->views, sizeof *angles, &angles));
    QB__TRY(qb__alloc(p->views, sizeof *matrices, &matrices));
    for (size_t v = 0; v < p->views; v++) angles[v] = 2 * M_PI * (double)v / (double)p->views;
    QB__TRY(qb_geometry_cone(p->views, angles, p->rows, p->columns, pixel, pixel, sod, sdd, 0, 0, &geometry));
    QB__TRY(qb__matrices_on_grid(&geometry, &grid, matrices));
    for (size_t v = 0; v < p->views; v++) memcpy(matrix[v], matrices[v].m, sizeof matrix[v]);
out:
    qb_geometry_destroy(&geometry);
    QB__FREE(matrices, angles);
    return status;
}

qb_status qb__cone_trial_make(qb__cone_trial *t, const qb__trial_sizes *sizes) {
    t->base.all = 1;
    t->problem = (qb__bp_cone_problem){.views = sizes->views,
                                       .columns = sizes->columns,
                                       .rows = sizes->rows,
                                       .nx = sizes->nx,
                                       .ny = sizes->ny,
                                       .nz = sizes->nz};
    QB__OR_RETURN(qb__alloc(sizes->views, sizeof *t->matrix, &t->matrix));
    QB__OR_RETURN(qb__alloc(sizes->views, sizeof *t->largest, &t->largest));
    t->problem.matrix = (const double(*)[12])t->matrix;
    t->problem.largest = t->largest;
    for (size_t v = 0; v < sizes->views; v++) t->largest[v] = 1; /* qb__noise */
    return circle(&t->problem, t->matrix);
}

void qb__cone_trial_release(qb__cone_trial *t) { QB__FREE(t->matrix, t->largest); }
