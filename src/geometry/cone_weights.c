/* SPDX-License-Identifier: MIT */
#include "geometry/cone_weights.h"

#include "base/memory.h"
#include "base/status.h"
#include "geometry/curve.h"
#include "geometry/circle.h"
#include "geometry/matrix.h"
#include "geometry/roll.h"
#include "geometry/vector.h"

/* A fan-beam inversion is f(x) = 1/2 int dt R D / depth^2 int du' h(u - u') cos g, for a flat detector at distance D
 * from the source, with u in mm on it, for any rotation about z; cos is the ray's component towards the axis and R the
 * source's distance from it. With w = depth / D_so and columns measured at the depth of the origin (u' = u D_so / D,
 * and h is homogeneous of degree -2) this becomes f(x) = 1/2 int dt (R / D_so) / w^2 int du' h(u - u') cos g. The
 * factor 1/2 is the share of a ray that a full turn measures twice: see qb__cone_redundancy. */

static const double pi = 3.14159265358979323846;

/* Unit vectors towards the axis, and to the side where the columns of an untilted detector increase. */
typedef struct frame {
    double toward[2], lateral[2];
} frame;

static frame frame_of(const qb_view *view) {
    double t = qb__view_angle(QB_BEAM_CONE, view), c = cos(t), s = sin(t);
    return (frame){{-s, c}, {c, s}};
}

static double fan_of_place(const qb_view *view, const double place[2]) {
    frame at = frame_of(view);
    double d[2] = {place[0] - view->source[0], place[1] - view->source[1]};
    return atan2(-(d[0] * at.lateral[0] + d[1] * at.lateral[1]), d[0] * at.toward[0] + d[1] * at.toward[1]);
}

double qb__cone_fan_angle(const qb_view *view, double column, double row) {
    double place[2];
    for (int j = 0; j < 2; j++) place[j] = view->detector[j] + column * view->u[j] + row * view->v[j];
    return fan_of_place(view, place);
}

static void fan_between(const qb_geometry *geometry, size_t i, const double first[2], const double last[2], double *low,
                        double *high) {
    double at[3], a, b;
    qb__pixel_position(geometry, i, first[0], first[1], at);
    a = fan_of_place(&geometry->view[i], at);
    qb__pixel_position(geometry, i, last[0], last[1], at);
    b = fan_of_place(&geometry->view[i], at);
    *low = fmax(*low, fmin(a, b));
    *high = fmin(*high, fmax(a, b));
}

/* The fan angles that are seen along all of the detector's left and right side. If the detector is rotated by 90
 * degrees, these sides are its first and last row. If it is rotated so far that its sides leave little, the fan angles
 * of the horizontal line through its centre are used. */
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
                            "rotation axis: sirt, cgls and tv take any geometry",
                            i, -high * 180 / pi, -low * 180 / pi);
        weights->gamma_low = fmax(weights->gamma_low, low);
        weights->gamma_high = fmin(weights->gamma_high, high);
    }
    /* Within 5 % of the width, the few rays without an opposite are at the edge of the field of view. */
    double width = weights->gamma_high - weights->gamma_low;
    weights->offset = fabs(weights->gamma_high + weights->gamma_low) > 0.05 * width;
    return QB_OK;
}

static bool is_vertical(const qb_geometry *geometry) {
    for (size_t i = 0; i < geometry->views; i++) {
        const double *v = geometry->view[i].v;
        if (hypot(v[0], v[1]) * (double)geometry->rows > 1e-6 * qb__norm(geometry->view[i].u)) return false;
    }
    return true;
}

/* ---- angles ---- */

static double wider(const qb__cone_weights *weights) { return fmax(-weights->gamma_low, weights->gamma_high); }
static double narrower(const qb__cone_weights *weights) { return fmin(-weights->gamma_low, weights->gamma_high); }

/* Fan angles that the volume needs, for a volume of radius `field`; 0: the whole field of view. */
static double fan_of_field(const qb_geometry *geometry, double field, const qb__cone_weights *weights) {
    double radius = INFINITY;
    if (!(field > 0)) return wider(weights);
    for (size_t i = 0; i < geometry->views; i++)
        radius = fmin(radius, hypot(geometry->view[i].source[0], geometry->view[i].source[1]));
    return asin(fmin(field / radius, 1));
}

/* Set the fan angles at the widest gap. */
static void find_begin(qb__cone_weights *w) {
    const qb__turn *t = &w->turn;
    const qb__turn_gap *widest = qb__turn_widest(t);
    const size_t at = widest ? widest->before : t->largest;
    w->gap = t->step[at];
    w->gap_from = qb__turn_wrap(t->angle[at], 2 * pi);
    w->repeated = t->views - t->directions;
    w->gaps = t->gaps;
    w->step = 2 * pi / (double)t->views;
    w->span = 2 * pi;
    for (size_t i = 0; i < t->gaps; i++) w->span -= qb__turn_missing(&t->gap[i]);
    if (widest) w->step = widest->usual;
}

/* If Parker's weights end at a gap, the views at its border count for half of a usual step there. */
static void weigh_short_scan(qb_angle_weights rule, qb__cone_weights *w) {
    const qb__turn *t = &w->turn;
    for (size_t i = 0; i < t->views; i++) {
        const size_t d = t->direction[i];
        const bool border = d == 0 || d == t->directions - 1;
        const double all = (t->weight[d] + (border && !t->gap[0].open ? 0.5 * w->step : 0)) / (double)t->same[d];
        w->view[i] = rule == QB_WEIGHTS_EVEN     ? w->span / (double)t->views
                     : rule == QB_WEIGHTS_CAPPED ? fmin(all, w->view[i])
                                                 : all;
    }
}

static qb_status weigh_views(qb_angle_weights rule, qb__cone_weights *w) {
    const qb__turn *t = &w->turn;
    const double begin = t->angle[0] - 0.5 * w->step;
    const qb_status status = qb__turn_weigh(t, rule, w->view, NULL);
    for (size_t i = 0; i < t->views; i++) w->beta[i] = qb__turn_wrap(t->angle[t->direction[i]] - begin, 2 * pi);
    if (w->kind == QB_REDUNDANCY_PARKER) weigh_short_scan(rule, w);
    return status;
}

/* ---- coverage ---- */

/* Find rays within the fan that neither a view nor its opposite measured: their share, and their widest range. Rays
 * that only the long side sees have no opposite. */
static void find_holes(double fan, qb__cone_weights *w) {
    enum { RAYS = 33 };
    double all = 0, missing = 0;
    for (size_t i = 0; i < w->turn.gaps; i++) missing += qb__turn_missing(&w->turn.gap[i]);
    w->missing = 0;
    for (int k = 0; k < RAYS; k++) {
        const double gamma = fan * (2.0 * k / (RAYS - 1) - 1);
        double largest = qb__turn_missing(&w->turn.gap[0]), from = w->turn.gap[0].from, sum = missing;
        for (size_t i = 1; i < w->turn.gaps; i++)
            if (qb__turn_missing(&w->turn.gap[i]) > largest)
                largest = qb__turn_missing(&w->turn.gap[i]), from = w->turn.gap[i].from;
        if (!(w->sided && fabs(gamma) > narrower(w))) qb__turn_hole(&w->turn, pi + 2 * gamma, &largest, &from, &sum);
        all += sum / (2 * pi * RAYS);
        if (largest > w->missing) w->missing = largest;
    }
    w->guessed = all;
}

/* Judge the coverage. It needs 180 degrees plus the fan, or less if the volume needs less of the fan. An offset
 * detector needs the full turn. */
static void judge_coverage(const qb_geometry *geometry, double field, qb_angle_weights rule, qb__cone_weights *w) {
    const double WIDEST = 30 * pi / 180, STEP = 1.01;
    const double fan = fan_of_field(geometry, field, w), narrow = narrower(w);
    const bool one_sided = w->offset && fan > narrow * (1 + 1e-9);
    const double widest = w->gaps ? qb__turn_missing(qb__turn_widest(&w->turn)) : 0;
    /* the scan begins and ends at the gap */
    const bool at_ends = w->gaps == 1 && w->turn.gap[0].before == w->turn.largest;
    w->sided = w->offset && widest <= WIDEST;
    w->needed = one_sided ? 2 * pi : pi + 2 * fmin(fan, narrow);
    w->missing = fmax(0, w->needed - w->span);
    const bool same = rule == QB_WEIGHTS_EVEN, whole = w->missing <= fmax(STEP * w->step, pi / 180);
    const bool limited = rule == QB_WEIGHTS_AUTO && at_ends && !one_sided && w->missing > QB__TURN_LIMITED;
    w->open = limited || qb__turn_is_open(&w->turn);
    if (at_ends && !w->sided && (whole || limited || one_sided || same))
        w->kind = QB_REDUNDANCY_PARKER;
    else if (w->gaps == 0 || same)
        w->kind = w->sided ? QB_REDUNDANCY_WANG : QB_REDUNDANCY_NONE;
    else
        w->kind = QB_REDUNDANCY_GAPS;
    if (w->gaps == 0 || w->kind == QB_REDUNDANCY_PARKER) return;
    const double needed = w->needed, lacks = w->missing;
    find_holes(fmin(fan, w->sided ? wider(w) : narrow), w);
    if (!w->sided && (at_ends || one_sided))
        w->missing = lacks;
    else
        w->needed = w->sided || widest < pi / 2 ? 2 * pi : needed;
}

/* The column, inside or outside the detector, for a fan angle. */
static double column_at(const qb_view *view, double gamma) {
    frame at = frame_of(view);
    double radius = hypot(view->source[0], view->source[1]), p[3], x[2];
    for (int j = 0; j < 2; j++)
        x[j] = view->source[j] + radius * (cos(gamma) * at.toward[j] - sin(gamma) * at.lateral[j]);
    qb__matrix matrix;
    if (qb__matrix_of_view(QB_BEAM_CONE, view, &matrix) != QB_OK) return 0;
    qb__matrix_apply(&matrix, x[0], x[1], view->source[2], p);
    return p[0] / p[2];
}

/* Weighted rows end smoothly at 0 on the short side. After filtering they are not 0 beyond it, and the field of view,
 * which is as wide there as on the long side, needs that part. */
static qb_status widen_rows(const qb_geometry *geometry, qb__cone_weights *weights) {
    if (!weights->sided) return QB_OK;
    double most = 8 * (double)geometry->columns, wide = fmax(-weights->gamma_low, weights->gamma_high), low = 0,
           high = 0;
    for (size_t i = 0; i < geometry->views; i++) {
        double a = column_at(&geometry->view[i], wide), b = column_at(&geometry->view[i], -wide);
        low = fmin(low, fmin(a, b));
        high = fmax(high, fmax(a, b) - ((double)geometry->columns - 1));
        /* an offset detector needs twice its width; a fan of nearly 180 degrees would need more columns than memory
         * holds */
        if (!(low >= -most && high <= most))
            return qb__fail(QB_BAD_INPUT,
                            "view %zu: to cover a fan of %.4g degrees to both sides, rows would reach from column %.4g "
                            "to %.4g, while the detector has %zu",
                            i, wide * 180 / pi, low, high + (double)geometry->columns - 1, geometry->columns);
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
            double origin = -qb__dot(view->source, n) / qb__norm(n), plane = qb__dot(f, n) / qb__norm(n);
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

/* With coarse steps the weights of all views sum to the full turn only within a percent: correct the mean over the
 * fan. */
static void balance(qb__cone_weights *w) {
    enum { RAYS = 33 };
    double sum = 0;
    for (int k = 0; k < RAYS; k++) {
        const double gamma = narrower(w) * (2.0 * k / (RAYS - 1) - 1);
        for (size_t i = 0; i < w->turn.views; i++) sum += w->view[i] * qb__cone_redundancy(w, i, gamma) / RAYS;
    }
    for (size_t i = 0; i < w->turn.views && sum > 0; i++) w->view[i] *= pi / sum;
}

/* The sum of weights for a voxel on the axis, which is crossed by one ray per view. */
static double lacking(const qb__cone_weights *w) {
    double sum = 0;
    for (size_t i = 0; i < w->turn.views; i++) sum += w->view[i] * qb__cone_redundancy(w, i, 0);
    return fmax(0, 1 - sum / pi);
}

qb_status qb__cone_weights_virtual(const qb_geometry *geometry, const qb_geometry *measured, double field,
                                   qb_angle_weights rule, qb__cone_weights *weights) {
    double *angles = NULL;
    qb_status status;
    *weights = (qb__cone_weights){.vertical = is_vertical(geometry)};
    if (geometry->beam != QB_BEAM_CONE) return qb__fail(QB_UNSUPPORTED, "cone-beam weights for a parallel beam");
    QB__TRY(qb__alloc(geometry->views, sizeof *angles, &angles));
    QB__TRY(qb__alloc(geometry->views, sizeof *weights->view, &weights->view));
    QB__TRY(qb__alloc(geometry->views, sizeof *weights->beta, &weights->beta));
    QB__TRY(find_fan(measured, weights));
    for (size_t i = 0; i < geometry->views; i++) angles[i] = qb__view_angle(QB_BEAM_CONE, &geometry->view[i]);
    QB__TRY(qb__turn_create(geometry->views, angles, 2 * pi, rule, &weights->turn));
    find_begin(weights);
    judge_coverage(geometry, field, rule, weights);
    QB__TRY(weigh_views(rule, weights));
    if (weights->kind == QB_REDUNDANCY_GAPS && rule != QB_WEIGHTS_CAPPED && !weights->open) balance(weights);
    QB__TRY(widen_rows(geometry, weights));
    weights->lacking = lacking(weights);
    scale_views(geometry, weights);
out:
    qb__free(angles);
    if (status != QB_OK) qb__cone_weights_destroy(weights);
    return status;
}

qb_status qb__cone_weights_create(const qb_geometry *geometry, double field, qb__cone_weights *weights) {
    return qb__cone_weights_virtual(geometry, geometry, field, QB_WEIGHTS_AUTO, weights);
}

void qb__cone_weights_destroy(qb__cone_weights *weights) {
    if (!weights) return;
    QB__FREE(weights->view, weights->beta);
    qb__turn_destroy(&weights->turn);
    *weights = (qb__cone_weights){0};
}

static double squared_sine(double quarters) {
    double s = sin(0.25 * pi * quarters);
    return s * s;
}

/* Parker (1982) with the half fan widened to the measured range, 180 degrees + 2 delta: the opposite of (beta, gamma)
 * is (beta + 180 degrees + 2 gamma, -gamma), and their weights are sin^2 and cos^2. With less than 180 degrees plus the
 * fan, rays that were measured once keep the weight 1, also for a negative delta: no weight jumps, so that the result
 * does not depend on the last bit of an angle. */
static double parker(double beta, double gamma, double span) {
    double delta = 0.5 * (span - pi);
    if (beta < 0 || beta > span) return 0;
    if (beta < 2 * (delta - gamma)) return squared_sine(beta / (delta - gamma));
    if (beta > pi - 2 * gamma) return squared_sine((span - beta) / (delta + gamma));
    return 1;
}

/* Wang (2002): from 0 at the end of the short side to 1 where rays are measured once. */
static double wang(double gamma, double low, double high) {
    double overlap = fmin(-low, high), side = high > -low ? 1 : -1;
    double x = side * gamma / overlap;
    if (x <= -1) return 0;
    if (x >= 1) return 1;
    return 0.5 * (1 + sin(0.5 * pi * x));
}

/* Share for a scan with gaps; the position in the overlap is that of wang(). */
static double gapped(const qb__cone_weights *weights, size_t view, double gamma) {
    const double low = weights->gamma_low, high = weights->gamma_high;
    const double place = (high > -low ? 1 : -1) * gamma / fmin(-low, high);
    return qb__turn_share(&weights->turn, view, pi + 2 * gamma, weights->sided, place);
}

double qb__cone_redundancy(const qb__cone_weights *weights, size_t view, double gamma) {
    switch (weights->kind) {
    case QB_REDUNDANCY_PARKER: return parker(weights->beta[view], gamma, weights->span);
    case QB_REDUNDANCY_WANG: return wang(gamma, weights->gamma_low, weights->gamma_high);
    case QB_REDUNDANCY_GAPS: return gapped(weights, view, gamma);
    case QB_REDUNDANCY_NONE: break;
    }
    return 0.5;
}

static void redundancy_row(const qb_geometry *geometry, const qb__cone_weights *weights, size_t i, size_t row,
                           float *out) {
    const qb_view *view = &geometry->view[i];
    for (size_t column = 0; column < geometry->columns; column++) {
        double gamma = weights->kind == QB_REDUNDANCY_NONE ? 0 : qb__cone_fan_angle(view, (double)column, (double)row);
        out[column] = (float)qb__cone_redundancy(weights, i, gamma);
    }
}

/* The rows of a tilted detector have different distances from the source, but w and the view's weight use only one,
 * along the normal; 1 for an untilted detector. */
static double row_distance(const qb_view *view, const double first[3]) {
    double n[3], f[3], level = hypot(view->u[0], view->u[1]);
    qb__cross(view->u, view->v, n);
    for (int j = 0; j < 3; j++) f[j] = view->detector[j] - view->source[j];
    double row = fabs(first[0] * view->u[1] - first[1] * view->u[0]) / level;
    return fabs(qb__dot(f, n)) / qb__norm(n) / row;
}

/* out = cosine times share, for one row. */
static void cosine_row(const qb_geometry *geometry, const qb_view *view, size_t row, bool vertical, const float *share,
                       float *out) {
    frame at = frame_of(view);
    double first[3];
    for (int j = 0; j < 3; j++) first[j] = view->detector[j] + (double)row * view->v[j] - view->source[j];
    double scale = vertical ? 1 : row_distance(view, first);
    for (size_t column = 0; column < geometry->columns; column++) {
        double x = first[0] + (double)column * view->u[0], y = first[1] + (double)column * view->u[1];
        double z = first[2] + (double)column * view->u[2];
        double toward = x * at.toward[0] + y * at.toward[1];
        out[column] = (float)(share[column] * scale * toward / sqrt(x * x + y * y + z * z));
    }
}

/* All rows of an untilted detector use the shares of the first row, so that row is finished last. */
void qb__cone_pixel_weights(const qb_geometry *geometry, const qb__cone_weights *weights, size_t view, size_t row0,
                            size_t row1, float *out) {
    if (row0 < row1) redundancy_row(geometry, weights, view, row0, out);
    for (size_t row = row1; row-- > row0;) {
        float *line = out + (row - row0) * geometry->columns;
        if (!weights->vertical && row > row0) redundancy_row(geometry, weights, view, row, line);
        cosine_row(geometry, &geometry->view[view], row, weights->vertical, weights->vertical ? out : line, line);
    }
}
