/* SPDX-License-Identifier: MIT */

#include "geometry/curve.h"
#include "geometry/phantom.h"
#include "geometry/vector.h"

/* The projection of one shape onto one view's detector.
 *
 * In the ellipsoid's coordinates (the unit ball) let w be a point of the ray and d its direction. The ray hits if f =
 * |d|^2 - |n|^2 > 0 with n = w x d; its chord is 2 sqrt(f) / |d|^2 in units of the world's direction. Cone: w is the
 * source, the same for all pixels; d = d0 + c du + r dv. Parallel: d is the same for all; w = w0 + c wu + r wv. In both
 * cases n and d are linear in column c and row r, so f is quadratic. */
typedef struct footprint {
    double n0[3], nu[3], nv[3];
    double d0[3], du[3], dv[3];
    double value;
    double row0, row1; /* limits of its shadow */
    /* For a box, which lies within this ellipsoid, a point of the ray: it is inside while no component exceeds
     * `limit`. */
    bool box;
    double w0[3], wu[3], wv[3], limit;
} footprint;

/* A row that crosses it: f = f0 + f2 x^2, |d|^2 = q0 + q1 x + q2 x^2, x = column - c0. */
typedef struct line {
    double c0, f0, f2, q0, q1, q2;
} line;

size_t qb__phantom_scratch(const qb__phantom *phantom, size_t columns) {
    return phantom->count * sizeof(footprint) + columns * sizeof(double);
}

static void combine(const double a[3], const double b[3], double factor, double out[3]) {
    for (int k = 0; k < 3; k++) out[k] = a[k] + factor * b[k];
}

/* With the best c of each row, f is a r^2 + 2 h r + ...: the rows where that is positive. The shadow of a sphere around
 * the source is not limited: all rows then. */
static void bound_rows(footprint *s) {
    double uu = qb__dot(s->du, s->du) - qb__dot(s->nu, s->nu);
    double uv = qb__dot(s->du, s->dv) - qb__dot(s->nu, s->nv);
    double vv = qb__dot(s->dv, s->dv) - qb__dot(s->nv, s->nv);
    double u0 = qb__dot(s->du, s->d0) - qb__dot(s->nu, s->n0);
    double v0 = qb__dot(s->dv, s->d0) - qb__dot(s->nv, s->n0);
    double f0 = qb__dot(s->d0, s->d0) - qb__dot(s->n0, s->n0);
    s->row0 = -INFINITY;
    s->row1 = INFINITY;
    if (!(uu < 0)) return;
    double a = vv - uv * uv / uu, b = v0 - uv * u0 / uu, c = f0 - u0 * u0 / uu;
    if (!(a < -1e-12 * fabs(uu))) return;
    double root = sqrt(fmax(0, b * b - a * c));
    s->row0 = (-b + root) / a - 1; /* one more row on either side covers rounding errors */
    s->row1 = (-b - root) / a + 1;
}

/* The matrix of the ellipsoid, or of the smallest ellipsoid around a box, and the limits of the box in its
 * coordinates. */
static double circumscribe(const qb__ellipsoid *e, double a[3][3]) {
    double finite = 0;
    for (int j = 0; j < 3 && e->box; j++) finite += qb__dot(e->a[j], e->a[j]) > 0;
    const double limit = finite > 0 ? 1 / sqrt(finite) : 1;
    for (int j = 0; j < 3; j++)
        for (int k = 0; k < 3; k++) a[j][k] = e->a[j][k] * limit;
    return limit;
}

static void cast(const qb__ellipsoid *e, const qb_view *view, qb_beam beam, footprint *s) {
    double corner[3], w[3], u[3], v[3], from[3], a[3][3];
    const bool parallel = beam == QB_BEAM_PARALLEL;
    const double limit = circumscribe(e, a);
    qb__apply(a, view->u, u);
    qb__apply(a, view->v, v);
    combine(view->detector, e->center, -1, corner);
    *s = (footprint){.value = 2 * e->value};
    if (parallel) {
        qb__apply(a, view->source, s->d0);
        qb__apply(a, corner, w);
        qb__cross(w, s->d0, s->n0);
        qb__cross(u, s->d0, s->nu);
        qb__cross(v, s->d0, s->nv);
    } else {
        double ray[3];
        combine(view->source, e->center, -1, from);
        combine(view->detector, view->source, -1, ray);
        qb__apply(a, from, w);
        qb__apply(a, ray, s->d0);
        for (int k = 0; k < 3; k++) s->du[k] = u[k], s->dv[k] = v[k];
        qb__cross(w, s->d0, s->n0);
        qb__cross(w, u, s->nu);
        qb__cross(w, v, s->nv);
    }
    if (e->box) {
        s->box = true;
        s->limit = limit;
        s->value = e->value;
        for (int k = 0; k < 3; k++) {
            s->w0[k] = w[k];
            s->wu[k] = parallel ? u[k] : 0;
            s->wv[k] = parallel ? v[k] : 0;
        }
    }
    bound_rows(s);
}

/* Lengths of the world's directions of a row's rays. */
static void ray_lengths(const qb_geometry *geometry, size_t view, double row, double *length) {
    const qb_view *at = &geometry->view[view];
    if (geometry->beam == QB_BEAM_PARALLEL) {
        double same = qb__norm(at->source);
        for (size_t c = 0; c < geometry->columns; c++) length[c] = same;
        return;
    }
    double first[3];
    for (int k = 0; k < 3; k++) first[k] = at->detector[k] - at->source[k] + row * at->v[k];
    double q0 = qb__dot(first, first), q1 = 2 * qb__dot(first, at->u), q2 = qb__dot(at->u, at->u);
    for (size_t c = 0; c < geometry->columns; c++) {
        double x = (double)c;
        length[c] = sqrt(q0 + x * (q1 + x * q2));
    }
}

/* f is evaluated about its maximum, where n and d are summed before they are squared: this avoids cancellation far from
 * the detector's corner. False if the row misses the shape. */
static bool cut(const footprint *s, double row, line *l) {
    double n[3], d[3];
    combine(s->n0, s->nv, row, n);
    combine(s->d0, s->dv, row, d);
    double half = qb__dot(d, s->du) - qb__dot(n, s->nu);
    l->q2 = qb__dot(s->du, s->du);
    l->f2 = l->q2 - qb__dot(s->nu, s->nu);
    l->c0 = l->f2 < 0 ? -half / l->f2 : 0;
    if (!isfinite(l->c0)) return false;
    combine(n, s->nu, l->c0, n);
    combine(d, s->du, l->c0, d);
    l->q0 = qb__dot(d, d);
    l->q1 = 2 * qb__dot(d, s->du);
    l->f0 = l->q0 - qb__dot(n, n);
    return l->f2 < 0 && l->f0 > 0;
}

/* The columns of its shadow; false if there are none. */
static bool span(const line *l, size_t columns, size_t *begin, size_t *end) {
    double reach = sqrt(-l->f0 / l->f2);
    double from = fmax(ceil(l->c0 - reach), 0), to = fmin(floor(l->c0 + reach) + 1, (double)columns);
    if (!(from < to)) return false;
    *begin = (size_t)from;
    *end = (size_t)to;
    return true;
}

static void add_line(const line *l, double value, const double *length, size_t columns, double *out) {
    size_t begin, end;
    if (!span(l, columns, &begin, &end)) return;
    if (l->q2 == 0) {
        double scale = value / l->q0;
        for (size_t c = begin; c < end; c++) {
            double x = (double)c - l->c0, f = l->f0 + l->f2 * x * x;
            out[c] += scale * length[c] * sqrt(f > 0 ? f : 0);
        }
        return;
    }
    for (size_t c = begin; c < end; c++) {
        double x = (double)c - l->c0, f = l->f0 + l->f2 * x * x;
        out[c] += value * length[c] * sqrt(f > 0 ? f : 0) / (l->q0 + x * (l->q1 + x * l->q2));
    }
}

static void add_box(const footprint *s, const line *l, double row, const double *length, size_t columns, double *out) {
    size_t begin, end;
    double w0[3], d0[3];
    if (!span(l, columns, &begin, &end)) return;
    combine(s->w0, s->wv, row, w0);
    combine(s->d0, s->dv, row, d0);
    for (size_t c = begin; c < end; c++) {
        double w[3], d[3], in, after;
        combine(w0, s->wu, (double)c, w);
        combine(d0, s->du, (double)c, d);
        if (qb__box_cut(w, d, s->limit, &in, &after)) out[c] += s->value * (after - in) * length[c];
    }
}

/* Pixel by pixel, because the rays to a curved detector are not linear in the column. */
static void project_curved(const qb__phantom *phantom, const qb_geometry *geometry, size_t view, size_t row, size_t end,
                           double *out) {
    const qb_view *at = &geometry->view[view];
    bool cone = geometry->beam == QB_BEAM_CONE;
    for (size_t c = 0; c < geometry->columns; c++) {
        double first[3], pixel[3], along[3];
        qb__pixel_position(geometry, view, (double)c, 0, first);
        for (size_t r = row; r < end; r++) {
            combine(first, at->v, (double)r, pixel);
            combine(pixel, at->source, -1, along);
            out[(r - row) * geometry->columns + c] = qb__phantom_line(phantom, pixel, cone ? along : at->source);
        }
    }
}

void qb__phantom_project(const qb__phantom *phantom, const qb_geometry *geometry, size_t view, size_t row, size_t end,
                         double *out, void *scratch) {
    size_t columns = geometry->columns;
    footprint *footprints = scratch;
    double *length = (double *)(footprints + phantom->count);
    if (geometry->radius > 0) {
        project_curved(phantom, geometry, view, row, end, out);
        return;
    }
    for (size_t i = 0; i < phantom->count; i++)
        cast(&phantom->shape[i], &geometry->view[view], geometry->beam, &footprints[i]);
    for (size_t r = row; r < end; r++, out += columns) {
        double at = (double)r;
        ray_lengths(geometry, view, at, length);
        for (size_t c = 0; c < columns; c++) out[c] = 0;
        for (size_t i = 0; i < phantom->count; i++) {
            const footprint *s = &footprints[i];
            line l;
            if (at < s->row0 || at > s->row1 || !cut(s, at, &l)) continue;
            if (s->box)
                add_box(s, &l, at, length, columns, out);
            else
                add_line(&l, s->value, length, columns, out);
        }
    }
}
