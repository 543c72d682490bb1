/* SPDX-License-Identifier: MIT */
#include "geometry/rtk.h"

#include <stdbool.h>

#include "base/status.h"
#include "geometry/matrix.h"
#include "geometry/vector.h"

static const double degree = 3.14159265358979323846 / 180;

/* R = Rz(-in-plane) Rx(-out-of-plane) Ry(-gantry) maps RTK's world to the frame of its gantry, where the source is at
 * (source_x, source_y, sid) and the detector is the plane z = sid - sdd. So the rows of R are the directions of
 * columns, of rows, and from the detector to the source. */
static void rotation(const qb__rtk *rtk, double r[3][3]) {
    double x = -rtk->out_of_plane * degree, y = -rtk->gantry * degree, z = -rtk->in_plane * degree;
    double cx = cos(x), sx = sin(x), cy = cos(y), sy = sin(y), cz = cos(z), sz = sin(z);
    double xy[3][3] = {{cy, 0, sy}, {sx * sy, cx, -sx * cy}, {-cx * sy, sx, cx * cy}};
    for (int j = 0; j < 3; j++) {
        r[0][j] = cz * xy[0][j] - sz * xy[1][j];
        r[1][j] = sz * xy[0][j] + cz * xy[1][j];
        r[2][j] = xy[2][j];
    }
}

static void to_ours(const double rtk[3], double ours[3]) {
    ours[0] = rtk[0];
    ours[1] = -rtk[2];
    ours[2] = rtk[1];
}

/* out = a r0 + b r1 + c r2, in our world. */
static void place(const double r[3][3], double a, double b, double c, double out[3]) {
    double sum[3];
    for (int j = 0; j < 3; j++) sum[j] = a * r[0][j] + b * r[1][j] + c * r[2][j];
    to_ours(sum, out);
}

static double first_pixel(double offset, double pixel, size_t n) { return offset - 0.5 * ((double)n - 1) * pixel; }

void qb__rtk_view(const qb__rtk *rtk, const qb_detector *detector, qb_view *view) {
    double r[3][3];
    rotation(rtk, r);
    double u0 = first_pixel(detector->offset_u, detector->pixel_u, detector->columns);
    double v0 = first_pixel(detector->offset_v, detector->pixel_v, detector->rows);
    double depth = rtk->sdd == 0 ? -rtk->sid : rtk->sid - rtk->sdd;
    if (rtk->sdd == 0)
        place(r, 0, 0, -1, view->source);
    else
        place(r, rtk->source_x, rtk->source_y, rtk->sid, view->source);
    place(r, rtk->projection_x + u0, rtk->projection_y + v0, depth, view->detector);
    place(r, detector->pixel_u, 0, 0, view->u);
    place(r, 0, detector->pixel_v, 0, view->v);
}

static void to_rtk(const double ours[3], double rtk[3]) {
    rtk[0] = ours[0];
    rtk[1] = ours[2];
    rtk[2] = -ours[1];
}

/* The angles of a rotation with these rows: R[2][1] = sin x, R[2][0] = -cos x sin y, R[0][1] = -sin z cos x. If cos x =
 * 0, y and z rotate about the same axis, and z is set to 0. */
static void angles_of(const double r[3][3], qb__rtk *rtk) {
    double x = asin(fmax(-1, fmin(1, r[2][1]))), y, z = 0;
    if (hypot(r[2][0], r[2][2]) > 1e-9) {
        x = atan2(r[2][1], hypot(r[2][0], r[2][2]));
        y = atan2(-r[2][0], r[2][2]);
        z = atan2(-r[0][1], r[1][1]);
    } else {
        y = atan2(r[0][2], r[0][0]);
    }
    rtk->out_of_plane = -x / degree;
    rtk->gantry = -y / degree;
    rtk->in_plane = -z / degree;
}

static qb_status check_axes(const qb_geometry *geometry, const qb_view *view, const double r[3][3]) {
    double skew = qb__dot(r[0], r[1]);
    if (fabs(skew) > 1e-6)
        return qb__fail(QB_UNSUPPORTED, "rows and columns are %.6g degrees off a right angle", asin(skew) / degree);
    if (geometry->beam != QB_BEAM_PARALLEL) return QB_OK;
    double ray[3];
    to_rtk(view->source, ray);
    double along = -qb__dot(ray, r[2]) / qb__norm(ray);
    if (along < 1 - 1e-12)
        return qb__fail(QB_UNSUPPORTED, "the rays meet the detector %.6g degrees off a right angle",
                        acos(along) / degree);
    return QB_OK;
}

qb_status qb__rtk_from_view(const qb_geometry *geometry, size_t i, qb__rtk *rtk) {
    const qb_view *view = &geometry->view[i];
    double r[3][3], source[3], middle[3], center[3];
    double h = 0.5 * ((double)geometry->columns - 1), k = 0.5 * ((double)geometry->rows - 1);
    to_rtk(view->u, r[0]);
    to_rtk(view->v, r[1]);
    double nu = qb__norm(r[0]), nv = qb__norm(r[1]);
    for (int j = 0; j < 3; j++) {
        r[0][j] /= nu;
        r[1][j] /= nv;
        center[j] = view->detector[j] + h * view->u[j] + k * view->v[j];
    }
    qb__cross(r[0], r[1], r[2]);
    qb_status status = check_axes(geometry, view, r);
    if (status != QB_OK) return qb__fail_in(status, "view %zu", i);
    to_rtk(view->source, source);
    to_rtk(center, middle);
    *rtk = (qb__rtk){.projection_x = qb__dot(r[0], middle), .projection_y = qb__dot(r[1], middle)};
    angles_of(r, rtk);
    rtk->sid = 1000; /* RTK wants a value, though parallel rays have none */
    if (geometry->beam == QB_BEAM_PARALLEL) return QB_OK;
    rtk->source_x = qb__dot(r[0], source);
    rtk->source_y = qb__dot(r[1], source);
    rtk->sid = qb__dot(r[2], source);
    rtk->sdd = rtk->sid - qb__dot(r[2], middle);
    if (!(rtk->sdd > 0))
        return qb__fail(QB_UNSUPPORTED, "view %zu: the detector is mirrored (distance %.6g mm)", i, rtk->sdd);
    return QB_OK;
}

void qb__rtk_matrix(const qb__rtk *rtk, double m[3][4]) {
    bool parallel = rtk->sdd == 0;
    double r[3][3], f = parallel ? 1 : -rtk->sdd;
    double source[3] = {rtk->source_x, rtk->source_y, rtk->sid};
    double shift[3] = {rtk->source_x - rtk->projection_x, rtk->source_y - rtk->projection_y, 1};
    rotation(rtk, r);
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 4; j++) {
            double own = j < 3 ? r[i][j] : -source[i], depth = j < 3 ? r[2][j] : -source[2];
            if (parallel) depth = j < 3 ? 0 : 1;
            m[i][j] = (i < 2 ? f * own : 0) + shift[i] * depth;
        }
    }
}

static void footprint(const double m[3][4], const double at[3], double out[2]) {
    double p[3];
    for (int i = 0; i < 3; i++) p[i] = m[i][0] * at[0] + m[i][1] * at[1] + m[i][2] * at[2] + m[i][3];
    out[0] = p[0] / p[2], out[1] = p[1] / p[2];
}

double qb__rtk_departure(const qb__rtk *rtk, const double matrix[3][4], const qb_detector *detector) {
    const double shrink = rtk->sdd > 0 ? rtk->sid / rtk->sdd : 1;
    double own[3][4], most = 0;
    double r = 0.5 * (double)detector->columns * detector->pixel_u * shrink,
           h = 0.5 * (double)detector->rows * detector->pixel_v * shrink;
    if (rtk->sdd > 0) r = fmin(r, 0.4 * rtk->sid), h = fmin(h, rtk->sid); /* keep it in front of the source */
    qb__rtk_matrix(rtk, own);
    for (int corner = 0; corner < 8; corner++) {
        const double at[3] = {corner & 1 ? r : -r, corner & 2 ? h : -h, corner & 4 ? r : -r};
        double here[2], there[2];
        footprint(own, at, here);
        footprint(matrix, at, there);
        const double away = hypot((here[0] - there[0]) / detector->pixel_u, (here[1] - there[1]) / detector->pixel_v);
        if (!(away <= most)) most = isnan(away) ? INFINITY : away;
    }
    return most;
}

/* Columns in RTK's order, rows in mm: column = (p - p0) / pixel, and row in the same way. */
qb_status qb__rtk_view_of_matrix(const double m[3][4], const qb_detector *detector, qb_beam *beam, qb_view *view) {
    double first[2] = {first_pixel(detector->offset_u, detector->pixel_u, detector->columns),
                       first_pixel(detector->offset_v, detector->pixel_v, detector->rows)};
    double pixel[2] = {detector->pixel_u, detector->pixel_v};
    qb__matrix ours;
    for (int i = 0; i < 3; i++) {
        double row[4];
        for (int j = 0; j < 4; j++) row[j] = i < 2 ? (m[i][j] - first[i] * m[2][j]) / pixel[i] : m[2][j];
        ours.m[i][0] = row[0];
        ours.m[i][1] = -row[2];
        ours.m[i][2] = row[1];
        ours.m[i][3] = row[3];
    }
    return qb__matrix_decompose(&ours, pixel[0], pixel[1], beam, view);
}
