/* SPDX-License-Identifier: MIT */
#include "geometry/cone_weights.h"

#include <math.h>

#include "base/memory.h"
#include "base/status.h"
#include "geometry/bend.h"
#include "geometry/circle.h"
#include "geometry/matrix.h"
#include "geometry/panel.h"
#include "geometry/parallel.h"
#include "geometry/vector.h"

/* A fan-beam inversion writes f(x) = 1/2 int dt R D / depth^2 int du' h(u - u') cos g for a flat
 * detector at distance D from the source, u in mm on it, however it is turned about z; cos is the
 * ray's component towards the axis and R the source's distance from it. With w = depth / D_so and
 * columns taken at the depth of the origin (u' = u D_so / D, and h is homogeneous of degree -2)
 * this becomes f(x) = 1/2 int dt (R / D_so) / w^2 int du' h(u - u') cos g. The 1/2 is the share of
 * a ray that a full turn measures twice: see qb__cone_redundancy. */

static const double pi = 3.14159265358979323846;

/* Towards the axis, and to the side where columns of an upright detector grow. */
typedef struct frame {
    double toward[2], aside[2];
} frame;

static frame frame_of(const qb_view *view) {
    double t = qb__view_angle(QB_BEAM_CONE, view), c = cos(t), s = sin(t);
    return (frame){{-s, c}, {c, s}};
}

static double fan_of_place(const qb_view *view, const double place[2]) {
    frame at = frame_of(view);
    double d[2] = {place[0] - view->source[0], place[1] - view->source[1]};
    return atan2(-(d[0] * at.aside[0] + d[1] * at.aside[1]),
                 d[0] * at.toward[0] + d[1] * at.toward[1]);
}

double qb__cone_fan_angle(const qb_view *view, double column, double row) {
    double place[2];
    for (int j = 0; j < 2; j++)
        place[j] = view->detector[j] + column * view->u[j] + row * view->v[j];
    return fan_of_place(view, place);
}

static void fan_between(const qb_geometry *geometry, size_t i, const double first[2], const double last[2], double *low, double *high) {
    double at[3], a, b;
    qb__pixel_place(geometry, i, first[0], first[1], at);
    a = fan_of_place(&geometry->view[i], at);
    qb__pixel_place(geometry, i, last[0], last[1], at);
    b = fan_of_place(&geometry->view[i], at);
    *low = fmax(*low, fmin(a, b));
    *high = fmin(*high, fmax(a, b));
}

/* The fan angles that are seen all along the detector's left and right side; of a detector that stands
 * on its side those are its first and last row. Of a detector that is turned so far that its sides leave
 * little of them, the fan angles of the level line through its middle. */
static void fan_of_view(const qb_geometry *geometry, size_t i, double *low, double *high) {
    const qb_view *view = &geometry->view[i];
    bool on_side = fabs(view->u[2]) * qb__norm(view->v) > fabs(view->v[2]) * qb__norm(view->u);
    double across = (double)(on_side ? geometry->rows : geometry->columns) - 1;
    double along = (double)(on_side ? geometry->columns : geometry->rows) - 1;
    *low = -INFINITY, *high = INFINITY;
    for (int k = 0; k < 3; k++) {
        const double at = 0.5 * k * along;
        fan_between(geometry, i, (double[2]){on_side ? at : 0, on_side ? 0 : at},
                    (double[2]){on_side ? at : across, on_side ? across : at}, low, high);
    }
    const double MOST = 0.8;
    double first[2], last[2], level[2] = {-INFINITY, INFINITY};
    qb__panel_level_line(geometry, i, first, last);
    fan_between(geometry, i, first, last, &level[0], &level[1]);
    if (!(*high - *low < MOST * (level[1] - level[0]))) return;
    *low = level[0], *high = level[1];
}

static qb_status find_fan(const qb_geometry *geometry, qb__cone_weights *weights) {
    weights->gamma_low = -INFINITY, weights->gamma_high = INFINITY;
    for (size_t i = 0; i < geometry->views; i++) {
        double low, high;
        fan_of_view(geometry, i, &low, &high);
        if (!(low < 0 && high > 0))
            return qb__fail(QB_BAD_INPUT,
                            "view %zu: the detector, from %.6g to %.6g degrees, does not see the "
                            "rotation axis",
                            i, -high * 180 / pi, -low * 180 / pi);
        weights->gamma_low = fmax(weights->gamma_low, low);
        weights->gamma_high = fmin(weights->gamma_high, high);
    }
    /* Within 5 % of the width the few rays that have no opposite are at the rim of the field. */
    double width = weights->gamma_high - weights->gamma_low;
    weights->offset = fabs(weights->gamma_high + weights->gamma_low) > 0.05 * width;
    return QB_OK;
}

static bool is_upright(const qb_geometry *geometry) {
    for (size_t i = 0; i < geometry->views; i++) {
        const double *v = geometry->view[i].v;
        if (hypot(v[0], v[1]) * (double)geometry->rows > 1e-6 * qb__norm(geometry->view[i].u))
            return false;
    }
    return true;
}

static double turn(double angle) {
    double rest = fmod(angle, 2 * pi);
    return rest < 0 ? rest + 2 * pi : rest;
}

/* Halved, the angles of a full turn are those of a half turn: what weights parallel views, modulo
 * 180 degrees, also weights these. The views next to a range that was not measured come out at
 * twice the median step, which is the cap; beyond such a border a view stands for half a step only.
 */
static qb_status weight_angles(const qb_geometry *geometry, qb__cone_weights *weights) {
    qb__angle_report report;
    double *half = weights->beta;
    for (size_t i = 0; i < geometry->views; i++)
        half[i] = 0.5 * qb__view_angle(QB_BEAM_CONE, &geometry->view[i]);
    qb_status status = qb__angle_weights(geometry->views, half, weights->view, &report);
    if (status != QB_OK) return status;
    double radians = 2 * pi / 180;
    weights->gap = report.gap * radians;
    weights->gap_from = turn(report.gap_from * radians);
    weights->repeated = report.repeated;
    double missing = report.missing * radians;
    weights->step = missing > 0 ? weights->gap - missing : 2 * pi / (double)geometry->views;
    weights->span = 2 * pi - missing;
    double begin = report.gap_to * radians - 0.5 * weights->step, edge = 1e-5;
    for (size_t i = 0; i < geometry->views; i++) {
        double beta = turn(2 * half[i] - begin);
        bool border = fabs(beta - 0.5 * weights->step) < edge ||
                      fabs(beta - weights->span + 0.5 * weights->step) < edge;
        weights->view[i] *= missing > 0 && border ? 1 : 2;
        weights->beta[i] = beta;
    }
    return QB_OK;
}

/* 180 degrees and the fan; less of the fan if less is to be reconstructed. An offset detector needs
 * the whole turn. */
static void judge_coverage(const qb_geometry *geometry, double field, qb__cone_weights *weights) {
    double narrow = fmin(-weights->gamma_low, weights->gamma_high);
    double wide = fmax(-weights->gamma_low, weights->gamma_high);
    double radius = INFINITY;
    for (size_t i = 0; i < geometry->views; i++)
        radius = fmin(radius, hypot(geometry->view[i].source[0], geometry->view[i].source[1]));
    double fan = field > 0 ? asin(fmin(field / radius, 1)) : wide;
    bool one_sided = weights->offset && fan > narrow * (1 + 1e-9);
    weights->needed = one_sided ? 2 * pi : pi + 2 * fmin(fan, narrow);
    weights->missing = fmax(0, weights->needed - weights->span);
    bool whole = weights->span > 2 * pi - 1e-9;
    weights->kind = !whole            ? QB_REDUNDANCY_PARKER
                    : weights->offset ? QB_REDUNDANCY_WANG
                                      : QB_REDUNDANCY_NONE;
}

/* The column, on or beside the detector, on which a fan angle falls. */
static double column_at(const qb_view *view, double gamma) {
    frame at = frame_of(view);
    double radius = hypot(view->source[0], view->source[1]), p[3], x[2];
    for (int j = 0; j < 2; j++)
        x[j] = view->source[j] + radius * (cos(gamma) * at.toward[j] - sin(gamma) * at.aside[j]);
    qb__matrix matrix;
    if (qb__matrix_of_view(QB_BEAM_CONE, view, &matrix) != QB_OK) return 0;
    qb__matrix_apply(&matrix, x[0], x[1], view->source[2], p);
    return p[0] / p[2];
}

/* Weighted rows end smoothly at 0 on the short side, but once filtered they go on beyond it, and
 * the field, as wide there as on the long side, needs that part. */
static qb_status widen_rows(const qb_geometry *geometry, qb__cone_weights *weights) {
    if (weights->kind != QB_REDUNDANCY_WANG) return QB_OK;
    double most = 8 * (double)geometry->columns, wide = fmax(-weights->gamma_low, weights->gamma_high), low = 0, high = 0;
    for (size_t i = 0; i < geometry->views; i++) {
        double a = column_at(&geometry->view[i], wide), b = column_at(&geometry->view[i], -wide);
        low = fmin(low, fmin(a, b));
        high = fmax(high, fmax(a, b) - ((double)geometry->columns - 1));
        /* Twice the detector is what an offset takes; a fan of nearly 180 degrees takes any number. */
        if (!(low >= -most && high <= most))
            return qb__fail(QB_BAD_INPUT,
                            "view %zu: to cover a fan of %.4g degrees to both sides, rows would go on "
                            "from column %.4g to %.4g beside the detector's %zu",
                            i, wide * 180 / pi, low, high + (double)geometry->columns - 1,
                            geometry->columns);
    }
    weights->before = (size_t)ceil(-low - 1e-6);
    weights->after = (size_t)ceil(high - 1e-6);
    return QB_OK;
}

static void scale_views(const qb_geometry *geometry, qb__cone_weights *weights) {
    double sum = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < geometry->views; i++) {
            const qb_view *view = &geometry->view[i];
            double n[3], f[3];
            qb__cross(view->u, view->v, n);
            for (int j = 0; j < 3; j++) f[j] = view->detector[j] - view->source[j];
            double origin = -qb__dot(view->source, n) / qb__norm(n),
                   plane = qb__dot(f, n) / qb__norm(n);
            double pitch = qb__norm(view->u) * origin / plane;
            if (pass == 0) {
                sum += pitch;
            } else {
                double radius = hypot(view->source[0], view->source[1]);
                weights->view[i] *= radius / fabs(origin) * weights->pitch / pitch;
            }
        }
        weights->pitch = sum / (double)geometry->views;
    }
}

qb_status qb__cone_weights_upright(const qb_geometry *geometry, const qb_geometry *measured,
                                   double field, qb__cone_weights *weights) {
    *weights = (qb__cone_weights){.upright = is_upright(geometry)};
    if (geometry->beam != QB_BEAM_CONE)
        return qb__fail(QB_UNSUPPORTED, "cone-beam weights for a parallel beam");
    qb_status status;
    QB__TRY(qb__alloc(geometry->views, sizeof *weights->view, &weights->view));
    QB__TRY(qb__alloc(geometry->views, sizeof *weights->beta, &weights->beta));
    QB__TRY(find_fan(measured, weights));
    QB__TRY(weight_angles(geometry, weights));
    judge_coverage(geometry, field, weights);
    QB__TRY(widen_rows(geometry, weights));
    scale_views(geometry, weights);
    return QB_OK;
out:
    qb__cone_weights_destroy(weights);
    return status;
}

qb_status qb__cone_weights_create(const qb_geometry *geometry, double field,
                                  qb__cone_weights *weights) {
    return qb__cone_weights_upright(geometry, geometry, field, weights);
}

void qb__cone_weights_destroy(qb__cone_weights *weights) {
    if (!weights) return;
    qb__free(weights->view);
    qb__free(weights->beta);
    *weights = (qb__cone_weights){0};
}

static double squared_sine(double quarters) {
    double s = sin(0.25 * pi * quarters);
    return s * s;
}

/* Parker (1982) with the half fan widened to what was measured, 180 degrees + 2 delta: the opposite
 * of (beta, gamma) is (beta + 180 degrees + 2 gamma, -gamma), and their weights are sin^2 and
 * cos^2. With less than 180 degrees + fan the rays that were measured once keep the weight 1, also where delta is
 * negative: no weight jumps, so that none hangs on the last bit of an angle. */
static double parker(double beta, double gamma, double span) {
    double delta = 0.5 * (span - pi);
    if (beta < 0 || beta > span) return 0;
    if (beta < 2 * (delta - gamma)) return squared_sine(beta / (delta - gamma));
    if (beta > pi - 2 * gamma) return squared_sine((span - beta) / (delta + gamma));
    return 1;
}

/* Wang (2002): from 0 where the short side ends to 1 where the rays are measured once. */
static double wang(double gamma, double low, double high) {
    double overlap = fmin(-low, high), side = high > -low ? 1 : -1;
    double x = side * gamma / overlap;
    if (x <= -1) return 0;
    if (x >= 1) return 1;
    return 0.5 * (1 + sin(0.5 * pi * x));
}

double qb__cone_redundancy(const qb__cone_weights *weights, size_t view, double gamma) {
    switch (weights->kind) {
    case QB_REDUNDANCY_PARKER: return parker(weights->beta[view], gamma, weights->span);
    case QB_REDUNDANCY_WANG: return wang(gamma, weights->gamma_low, weights->gamma_high);
    case QB_REDUNDANCY_NONE: break;
    }
    return 0.5;
}

static void redundancy_row(const qb_geometry *geometry, const qb__cone_weights *weights, size_t i,
                           size_t row, float *out) {
    const qb_view *view = &geometry->view[i];
    for (size_t column = 0; column < geometry->columns; column++) {
        double gamma = weights->kind == QB_REDUNDANCY_NONE
                           ? 0
                           : qb__cone_fan_angle(view, (double)column, (double)row);
        out[column] = (float)qb__cone_redundancy(weights, i, gamma);
    }
}

/* The rows of a detector that leans lie at their own distances from the source, while w and the view's
 * weight know one only, along its normal; 1 for an upright one. */
static double row_distance(const qb_view *view, const double first[3]) {
    double n[3], f[3], level = hypot(view->u[0], view->u[1]);
    qb__cross(view->u, view->v, n);
    for (int j = 0; j < 3; j++) f[j] = view->detector[j] - view->source[j];
    double row = fabs(first[0] * view->u[1] - first[1] * view->u[0]) / level;
    return fabs(qb__dot(f, n)) / qb__norm(n) / row;
}

/* out = cosine * share, for one row. */
static void cosine_row(const qb_geometry *geometry, const qb_view *view, size_t row, bool upright,
                       const float *share, float *out) {
    frame at = frame_of(view);
    double first[3];
    for (int j = 0; j < 3; j++)
        first[j] = view->detector[j] + (double)row * view->v[j] - view->source[j];
    double scale = upright ? 1 : row_distance(view, first);
    for (size_t column = 0; column < geometry->columns; column++) {
        double x = first[0] + (double)column * view->u[0],
               y = first[1] + (double)column * view->u[1];
        double z = first[2] + (double)column * view->u[2];
        double toward = x * at.toward[0] + y * at.toward[1];
        out[column] = (float)(share[column] * scale * toward / sqrt(x * x + y * y + z * z));
    }
}

/* The first row's shares serve all rows of an upright detector, so it is finished last. */
void qb__cone_pixel_weights(const qb_geometry *geometry, const qb__cone_weights *weights,
                            size_t view, size_t row0, size_t row1, float *out) {
    if (row0 < row1) redundancy_row(geometry, weights, view, row0, out);
    for (size_t row = row1; row-- > row0;) {
        float *line = out + (row - row0) * geometry->columns;
        if (!weights->upright && row > row0) redundancy_row(geometry, weights, view, row, line);
        cosine_row(geometry, &geometry->view[view], row, weights->upright,
                   weights->upright ? out : line, line);
    }
}
