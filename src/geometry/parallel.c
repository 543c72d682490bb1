/* SPDX-License-Identifier: MIT */
#include "geometry/parallel.h"

#include "base/memory.h"
#include "base/status.h"
#include "geometry/vector.h"

/* A point p is seen at column h and row k if p + a d = detector + h u + k v for some a. The inner product with n = v x
 * d, which is perpendicular to v and d, gives
 *     h = (p - detector) . n / (u . n). */
static bool column_of(const qb_view *view, double n[3], double *at_origin) {
    qb__cross(view->v, view->source, n);
    double scale = qb__dot(view->u, n);
    double size = qb__norm(view->u) * qb__norm(view->v) * qb__norm(view->source);
    if (!(fabs(scale) > 1e-9 * size)) return false;
    for (int i = 0; i < 3; i++) n[i] /= scale;
    *at_origin = -qb__dot(view->detector, n);
    return true;
}

qb_status qb__parallel_rows(const qb_geometry *geometry, const qb_grid *grid, double *ax, double *ay, double *h0) {
    if (geometry->beam != QB_BEAM_PARALLEL)
        return qb__fail(QB_UNSUPPORTED, "a cone beam where a parallel one is needed");
    for (size_t i = 0; i < geometry->views; i++) {
        double n[3], at_origin;
        if (!column_of(&geometry->view[i], n, &at_origin))
            return qb__fail(QB_UNSUPPORTED, "view %zu: the rays lie in the detector's plane", i);
        double reach = 0.5 * (double)grid->n[2] * grid->voxel[2] + fabs(grid->offset[2]);
        if (fabs(n[2]) * reach > 1e-6)
            return qb__fail(QB_UNSUPPORTED, "view %zu: the axis is tilted against the rows", i);
        ax[i] = n[0] * grid->voxel[0];
        ay[i] = n[1] * grid->voxel[1];
        h0[i] = at_origin + n[0] * grid->offset[0] + n[1] * grid->offset[1] - 0.5 * ((double)grid->n[0] - 1) * ax[i] -
                0.5 * ((double)grid->n[1] - 1) * ay[i];
    }
    return QB_OK;
}
void qb__parallel_set_rows(qb_geometry *geometry, double pixel_v) {
    for (size_t i = 0; i < geometry->views; i++) {
        qb_view *view = &geometry->view[i];
        view->v[2] = pixel_v;
        view->detector[2] = -0.5 * ((double)geometry->rows - 1) * pixel_v;
    }
}

qb_status qb__half_turn(qb__bp_parallel_problem *problem, double **coefficients) {
    size_t views = problem->views, columns = problem->columns;
    const qb_grid grid = {.n = {problem->nx, problem->ny, 1}, .voxel = {1, 1, 1}};
    double *angles = NULL, *rows = NULL;
    qb_geometry geometry = {0};
    qb_status status;
    QB__TRY(qb__alloc(3 * views, sizeof *rows, &rows));
    QB__TRY(qb__alloc(views, sizeof *angles, &angles));
    for (size_t v = 0; v < views; v++) angles[v] = M_PI * (double)v / (double)views;
    QB__TRY(qb_geometry_parallel(views, angles, 1, columns, 1.0, ((double)columns - 1) / 2, &geometry));
    problem->ax = rows;
    problem->ay = rows + views;
    problem->h0 = rows + 2 * views;
    status = qb__parallel_rows(&geometry, &grid, rows, rows + views, rows + 2 * views);
out:
    *coefficients = rows;
    qb_geometry_destroy(&geometry);
    qb__free(angles);
    return status;
}
