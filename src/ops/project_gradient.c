/* SPDX-License-Identifier: MIT */
/* Derivatives of line integrals with respect to the positions of source and detector. A line integral by Joseph's
 * method is p = L sum_k V(b_k, c_k): L is the length of the ray between two voxel planes of its main axis, V the volume
 * in plane k, bilinear in the indices b_k and c_k where the ray crosses. Both factors are differentiated with respect
 * to a point and the direction of the ray, and by the chain rule with respect to the vectors of the view. The
 * derivative does not exist where a ray changes its main axis or passes exactly through voxel centres. */
#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/status.h"
#include "geometry/vector.h"
#include "ops/project.h"

typedef struct work {
    qb_projector *p;
    const float *volume, *weights;
    size_t first;
    const qb_env *env;
    double (*gradient)[4][3];
} work;

/* A ray: point + t direction, in mm. */
typedef struct ray {
    double point[3], direction[3];
} ray;

/* d p / d point and d p / d direction. */
typedef struct derivative {
    double point[3], direction[3];
} derivative;

/* The ray inside the volume, in indices: position and step from plane to plane for the main axis and the two others. */
typedef struct crossing {
    int axis[3];           /* main axis and the two others */
    double at[2], step[2]; /* indices along the two others in plane 0, and their change per plane */
    double t, t_step;      /* t in plane 0, and its change per plane */
    double length;         /* mm between two planes */
    size_t first, end;     /* planes where the ray is less than a voxel outside the volume */
} crossing;

/* Planes first <= k < end in which low < at + k step < high. */
static void narrow(double at, double step, double low, double high, double *first, double *end) {
    if (step == 0) {
        if (!(at > low && at < high)) *end = *first;
        return;
    }
    const double a = (low - at) / step, b = (high - at) / step;
    *first = fmax(*first, floor(fmin(a, b)));
    *end = fmin(*end, ceil(fmax(a, b)) + 1);
}

static bool cross(const qb_grid *grid, const ray *r, crossing *c) {
    double speed[3];
    int main = 0;
    for (int j = 0; j < 3; j++) {
        speed[j] = r->direction[j] / grid->voxel[j]; /* voxels per unit of t */
        if (fabs(speed[j]) > fabs(speed[main])) main = j;
    }
    *c = (crossing){.axis = {main, main == 0 ? 1 : 0, main == 2 ? 1 : 2}};
    double origin[3]; /* voxel index of the ray's point */
    for (int j = 0; j < 3; j++)
        origin[j] = (r->point[j] - grid->offset[j]) / grid->voxel[j] + 0.5 * ((double)grid->n[j] - 1);
    c->t_step = 1 / speed[main];
    c->t = -origin[main] * c->t_step;
    c->length = qb__norm(r->direction) * fabs(c->t_step);
    double first = 0, end = (double)grid->n[main];
    for (int i = 0; i < 2; i++) {
        const int j = c->axis[i + 1];
        c->at[i] = origin[j] + c->t * speed[j];
        c->step[i] = c->t_step * speed[j];
        narrow(c->at[i], c->step[i], -1, (double)grid->n[j], &first, &end);
    }
    if (!(first < end)) return false;
    c->first = (size_t)first, c->end = (size_t)end;
    return true;
}

/* The four voxels around a position; 0 outside the volume. */
typedef struct cell {
    double v[2][2];
    double b, c; /* weights of the upper ones */
} cell;

static bool cell_of(const qb_grid *grid, const float *volume, const crossing *x, size_t k, cell *out) {
    const size_t stride[3] = {1, grid->n[0], grid->n[0] * grid->n[1]};
    const double b = x->at[0] + (double)k * x->step[0], c = x->at[1] + (double)k * x->step[1];
    const double nb = (double)grid->n[x->axis[1]], nc = (double)grid->n[x->axis[2]];
    if (!(b > -1 && b < nb && c > -1 && c < nc)) return false;
    const double fb = floor(b), fc = floor(c);
    const float *plane = volume + k * stride[x->axis[0]];
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            const double at_b = fb + i, at_c = fc + j;
            const bool inside = at_b >= 0 && at_b < nb && at_c >= 0 && at_c < nc;
            out->v[i][j] =
                inside ? (double)plane[(size_t)at_b * stride[x->axis[1]] + (size_t)at_c * stride[x->axis[2]]] : 0;
        }
    out->b = b - fb, out->c = c - fc;
    return true;
}

/* Sums over the planes: of V, of its derivatives along the two other axes per mm, and of these times t. */
typedef struct sums {
    double value, slope[2], slope_t[2];
} sums;

static sums add_planes(const qb_grid *grid, const float *volume, const crossing *x) {
    sums s = {0};
    for (size_t k = x->first; k < x->end; k++) {
        cell e;
        if (!cell_of(grid, volume, x, k, &e)) continue;
        const double low = e.v[0][0] + e.c * (e.v[0][1] - e.v[0][0]), high = e.v[1][0] + e.c * (e.v[1][1] - e.v[1][0]);
        const double left = e.v[0][1] - e.v[0][0], right = e.v[1][1] - e.v[1][0], t = x->t + (double)k * x->t_step;
        const double slope[2] = {high - low, left + e.b * (right - left)};
        s.value += low + e.b * (high - low);
        for (int i = 0; i < 2; i++) s.slope[i] += slope[i], s.slope_t[i] += t * slope[i];
    }
    for (int i = 0; i < 2; i++) {
        s.slope[i] /= grid->voxel[x->axis[i + 1]];
        s.slope_t[i] /= grid->voxel[x->axis[i + 1]];
    }
    return s;
}

static derivative differentiate(const qb_grid *grid, const float *volume, const ray *r) {
    crossing x;
    derivative d = {{0}, {0}};
    if (!cross(grid, r, &x)) return d;
    const sums s = add_planes(grid, volume, &x);
    const int main = x.axis[0];
    const double squared = qb__dot(r->direction, r->direction), along = r->direction[main];
    for (int j = 0; j < 3; j++) d.direction[j] = s.value * x.length * r->direction[j] / squared;
    d.direction[main] -= s.value * x.length / along;
    for (int i = 0; i < 2; i++) {
        const int j = x.axis[i + 1];
        d.point[j] += x.length * s.slope[i];
        d.direction[j] += x.length * s.slope_t[i];
        d.point[main] -= x.length * s.slope[i] * r->direction[j] / along;
        d.direction[main] -= x.length * s.slope_t[i] * r->direction[j] / along;
    }
    return d;
}

/* Add weight * (d p / d vector) of one pixel to the view's four vectors. */
static void add_pixel(const work *w, const qb_view *view, size_t row, size_t column, double weight, double out[4][3]) {
    const bool cone = w->p->geometry.beam == QB_BEAM_CONE;
    ray r;
    for (int j = 0; j < 3; j++) {
        const double pixel = view->detector[j] + (double)column * view->u[j] + (double)row * view->v[j];
        r.point[j] = cone ? view->source[j] : pixel;
        r.direction[j] = cone ? pixel - view->source[j] : view->source[j];
    }
    const derivative d = differentiate(&w->p->grid, w->volume, &r);
    for (int j = 0; j < 3; j++) {
        const double of_source = cone ? d.point[j] - d.direction[j] : d.direction[j];
        const double of_pixel = weight * (cone ? d.direction[j] : d.point[j]);
        out[0][j] += weight * of_source;
        out[1][j] += of_pixel;
        out[2][j] += (double)column * of_pixel;
        out[3][j] += (double)row * of_pixel;
    }
}

static void differentiate_view(void *context, size_t i, int worker) {
    const work *w = context;
    const qb_geometry *g = &w->p->geometry;
    const qb_view *view = &g->view[w->first + i];
    (void)worker;
    memset(w->gradient[i], 0, sizeof w->gradient[i]);
    for (size_t row = 0; row < g->rows; row++) {
        if (qb__check_cancel(w->env) != QB_OK) return; /* reported by the caller, who waits for all views */
        for (size_t column = 0; column < g->columns; column++) {
            const double weight = (double)w->weights[(i * g->rows + row) * g->columns + column];
            if (weight != 0) add_pixel(w, view, row, column, weight, w->gradient[i]);
        }
    }
}

qb_status qb_projector_gradient(qb_projector *p, const float *volume, const float *weights, size_t first, size_t end,
                                const qb_env *env, double (*gradient)[4][3]) {
    QB__NEED(p);
    QB__NEED(volume);
    QB__NEED(weights);
    QB__NEED(gradient);
    if (p->geometry.radius > 0)
        return qb__fail(QB_UNSUPPORTED, "derivatives of a curved detector (radius %g mm): a flat one has them",
                        p->geometry.radius);
    QB__OR_RETURN(qb__project_enter(p, first, end, env));
    work w = {p, volume, weights, first, env, gradient};
    qb__pool_for(p->pool, end - first, differentiate_view, &w);
    return qb__project_leave(p, qb__check_cancel(env));
}
