/* SPDX-License-Identifier: MIT */
#include "geometry/matrix.h"

#include <string.h>

#include "base/status.h"
#include "geometry/vector.h"

/* A ray from S through X meets the detector's plane where S + (X - S) / l = D + a u + b v. With f = D - S this is X - S
 * = l f + l a u + l b v, three equations for l a, l b and l. Cramer's rule gives l a = (X - S) . (v x f) / det,   l b =
 * (X - S) . (f x u) / det,   l = (X - S) . (u x v) / det with det = f . (u x v). l is the depth in units of the
 * detector's depth; division of all three by the origin's l gives w. For a parallel beam f is the ray's direction d,
 * and S any point, such as D. */
static bool dual_basis(const double u[3], const double v[3], const double f[3], double rows[3][3]) {
    qb__cross(v, f, rows[0]);
    qb__cross(f, u, rows[1]);
    qb__cross(u, v, rows[2]);
    double det = qb__dot(f, rows[2]);
    if (!(fabs(det) > 1e-12 * qb__norm(u) * qb__norm(v) * qb__norm(f))) return false;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) rows[i][j] /= det;
    return true;
}

static qb_status parallel_matrix(const qb_view *view, qb__matrix *matrix) {
    double rows[3][3];
    if (!dual_basis(view->u, view->v, view->source, rows))
        return qb__fail(QB_BAD_INPUT, "the rays lie in the detector's plane");
    for (int i = 0; i < 2; i++) {
        memcpy(matrix->m[i], rows[i], sizeof rows[i]);
        matrix->m[i][3] = -qb__dot(rows[i], view->detector);
    }
    memcpy(matrix->m[2], (const double[4]){0, 0, 0, 1}, sizeof matrix->m[2]);
    return QB_OK;
}

qb_status qb__matrix_of_view(qb_beam beam, const qb_view *view, qb__matrix *matrix) {
    if (beam == QB_BEAM_PARALLEL) return parallel_matrix(view, matrix);
    double f[3], rows[3][3];
    for (int i = 0; i < 3; i++) f[i] = view->detector[i] - view->source[i];
    if (!dual_basis(view->u, view->v, f, rows))
        return qb__fail(QB_BAD_INPUT, "the source lies in the detector's plane");
    double origin = -qb__dot(rows[2], view->source);
    if (!(origin > 1e-9))
        return qb__fail(QB_BAD_INPUT,
                        "the rotation axis is not in front of the source (%.6g of the way to the "
                        "detector)",
                        origin);
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) matrix->m[i][j] = rows[i][j] / origin;
        matrix->m[i][3] = -qb__dot(rows[i], view->source) / origin;
    }
    return QB_OK;
}

void qb__matrix_on_grid(const qb__matrix *world, const qb_grid *grid, qb__matrix *matrix) {
    qb__matrix out;
    for (int i = 0; i < 3; i++) {
        out.m[i][3] = world->m[i][3];
        for (int j = 0; j < 3; j++) {
            double first = grid->offset[j] - 0.5 * ((double)grid->n[j] - 1) * grid->voxel[j];
            out.m[i][j] = world->m[i][j] * grid->voxel[j];
            out.m[i][3] += world->m[i][j] * first;
        }
    }
    *matrix = out;
}

/* The inverse of the above: dual_basis gives A^-1 = (u | v | f) / c for the left 3x3 block A of c times the matrix, and
 * -A^-1 times its last column is the source. |u| determines |c|; its sign is chosen so that the origin is in front of
 * the source. */
static qb_status decompose_cone(const double m[3][4], double pixel_u, qb_view *view) {
    const double a[3][3] = {{m[0][0], m[0][1], m[0][2]}, {m[1][0], m[1][1], m[1][2]}, {m[2][0], m[2][1], m[2][2]}};
    double inverse[3][3]; /* columns of the inverse, stored as rows */
    qb__cross(a[1], a[2], inverse[0]);
    qb__cross(a[2], a[0], inverse[1]);
    qb__cross(a[0], a[1], inverse[2]);
    double det = qb__dot(a[0], inverse[0]);
    if (!(fabs(det) > 1e-12 * qb__norm(a[0]) * qb__norm(a[1]) * qb__norm(a[2])))
        return qb__fail(QB_BAD_INPUT, "the matrix is singular (determinant %.3g)", det);
    if (m[2][3] == 0) return qb__fail(QB_BAD_INPUT, "the source is as far as the origin (w = 0)");
    double c = copysign(pixel_u * fabs(det) / qb__norm(inverse[0]), m[2][3]) / det;
    for (int j = 0; j < 3; j++) {
        double source = 0;
        for (int i = 0; i < 3; i++) source -= inverse[i][j] / det * m[i][3];
        view->source[j] = source;
        view->u[j] = c * inverse[0][j];
        view->v[j] = c * inverse[1][j];
        view->detector[j] = source + c * inverse[2][j];
    }
    return QB_OK;
}

/* Columns a.x + a3 and rows b.x + b3 without depth: the rays run along a x b. The detector is put perpendicular to
 * them, through the origin; u, v solve a.u = b.v = 1, a.v = b.u = 0. */
static qb_status decompose_parallel(const double m[3][4], qb_view *view) {
    double a[3], b[3], n[3], scale = m[2][3];
    for (int j = 0; j < 3; j++) a[j] = m[0][j] / scale, b[j] = m[1][j] / scale;
    qb__cross(a, b, n);
    double area = qb__dot(n, n);
    if (!(area > 1e-24 * qb__dot(a, a) * qb__dot(b, b)))
        return qb__fail(QB_BAD_INPUT, "the matrix is singular: columns and rows run the same way");
    qb__cross(b, n, view->u);
    qb__cross(n, a, view->v);
    for (int j = 0; j < 3; j++) {
        view->u[j] /= area;
        view->v[j] /= area;
        view->source[j] = -n[j] / sqrt(area);
        view->detector[j] = -(m[0][3] * view->u[j] + m[1][3] * view->v[j]) / scale;
    }
    return QB_OK;
}

static qb_status check_pitch(const char *which, double found, double given) {
    if (given > 0 && !(fabs(found / given - 1) <= 0.01))
        return qb__fail(QB_BAD_INPUT, "the matrix makes %s %.6g mm apart, %.6g were given", which, found, given);
    return QB_OK;
}

qb_status qb__matrix_decompose(const qb__matrix *matrix, double pixel_u, double pixel_v, qb_beam *beam, qb_view *view) {
    const double(*m)[4] = matrix->m;
    for (int i = 0; i < 12; i++)
        if (!isfinite(m[i / 4][i % 4]))
            return qb__fail(QB_BAD_INPUT, "element %d,%d of the matrix is not finite", i / 4, i % 4);
    qb_status status;
    if (m[2][0] == 0 && m[2][1] == 0 && m[2][2] == 0 && m[2][3] != 0) {
        *beam = QB_BEAM_PARALLEL;
        status = decompose_parallel(m, view);
        if (status == QB_OK) status = check_pitch("columns", qb__norm(view->u), pixel_u);
    } else {
        *beam = QB_BEAM_CONE;
        if (!(pixel_u > 0)) return qb__fail(QB_BAD_ARGUMENT, "matrices need the pixel size in mm (--pixel-size)");
        status = decompose_cone(m, pixel_u, view);
    }
    return status == QB_OK ? check_pitch("rows", qb__norm(view->v), pixel_v) : status;
}
