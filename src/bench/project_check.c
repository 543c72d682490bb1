/* SPDX-License-Identifier: MIT */
#include "bench/project_check.h"

#include <math.h>

#include "base/memory.h"
#include "base/status.h"
#include "cpu/project_joseph/project_joseph.h"
#include "geometry/fan.h"

enum { SAMPLES = 500 };

qb_status qb__project_circle(const qb__trial_sizes *s, qb_geometry *geometry) {
    const double side = (double)qb__larger(s->nx, s->ny), most = fmax(side, (double)s->nz);
    const double wide = 1.5 * side / (double)s->columns, high = 1.5 * (double)s->nz / (double)s->rows;
    const double turn = s->parallel ? M_PI : 2 * M_PI;
    double *angles;
    QB__OR_RETURN(qb__alloc(s->views, sizeof *angles, &angles));
    for (size_t v = 0; v < s->views; v++) angles[v] = turn * (double)v / (double)s->views;
    const qb_status status =
        s->parallel
            ? qb_geometry_parallel(s->views, angles, s->rows, s->columns, side / (double)s->columns,
                                   0.5 * (double)(s->columns - 1), geometry)
            : qb_geometry_cone(s->views, angles, s->rows, s->columns, wide, high, 2 * most, 3 * most, 0, 0, geometry);
    qb__free(angles);
    return status;
}

typedef struct ray {
    const float *volume;
    double sum;
} ray;

static void add_tap(void *context, size_t voxel, double weight) {
    ray *r = context;
    r->sum += weight * (double)r->volume[voxel];
}

double qb__project_error(const qb_geometry *g, const qb_grid *grid, const float *volume, const float *lines) {
    const size_t all = g->views * g->rows * g->columns;
    double error = 0, norm = 0;
    for (size_t i = 0; i < all; i += all / SAMPLES + 1) {
        const size_t row = i / g->columns % g->rows;
        const qb__fan fan = qb__fan_of(g, grid, i / g->columns / g->rows, i % g->columns);
        ray r = {.volume = volume};
        qb__joseph_reference(&fan, row, grid->n, add_tap, &r);
        const double want = r.sum * qb__fan_length(&fan, grid->voxel, (double)row), d = (double)lines[i] - want;
        error += d * d;
        norm += want * want;
    }
    return sqrt(error / norm);
}

double qb__project_dot(const float *a, const float *b, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; i++) sum += (double)a[i] * (double)b[i];
    return sum;
}
