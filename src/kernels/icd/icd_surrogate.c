/* SPDX-License-Identifier: MIT */
#include "kernels/icd/icd_surrogate.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"

/* ---- rays ---- */

enum { FAN_ROWS = 7, PARALLEL_ROWS = 4 };
static const double slack = 0.02; /* twice that of icd_footprint.clh */

int qb__icd_fan(const qb__footprints *s) { return !s->wx ? 0 : s->per_radian > 0 ? 2 : 1; }

size_t qb__icd_span(const qb__footprints *s, size_t wide, size_t high) {
    double widest = s->wx ? (double)qb__larger(wide, high) * s->steepest + slack : 0;
    for (size_t v = 0; v < s->views && !s->wx; v++)
        widest = fmax(widest, (double)wide * fabs(s->ax[v]) + (double)high * fabs(s->ay[v]));
    return (size_t)ceil(widest + 1 - 1e-9);
}

size_t qb__icd_taps(const qb__footprints *s) {
    return s->wx ? qb__larger(s->taps, (size_t)ceil(s->steepest) + 1) : s->taps;
}

/* Number of columns with cosines and sines, to either side. */
static size_t turns_of(const qb__footprints *s) { return 2 * s->columns + 64; }

static size_t shapes_of(const qb__footprints *s) {
    if (!s->wx) return 4 * s->stride;
    return s->per_radian > 0 ? 2 + 2 * (2 * turns_of(s) + 1) : 4;
}

static size_t rays_of(const qb__footprints *s) { return (s->wx ? FAN_ROWS : PARALLEL_ROWS) * s->stride; }

size_t qb__icd_beam_bytes(const qb__footprints *s) {
    return rays_of(s) * sizeof(int64_t) + shapes_of(s) * sizeof(float);
}

static void place_parallel(const qb__footprints *f, int64_t *rays, float *shapes) {
    const size_t stride = f->stride;
    for (size_t v = 0; v < f->views; v++) {
        rays[v] = llrint(ldexp(f->ax[v], 32));
        rays[stride + v] = llrint(ldexp(f->ay[v], 32));
        rays[2 * stride + v] = llrint(ldexp(f->h0[v], 32));
        rays[3 * stride + v] = llrint(ldexp((fabs(f->ax[v]) + fabs(f->ay[v])) / 2, 32));
    }
    const float *const parts[] = {f->half, f->flat, f->rise, f->curvature};
    for (size_t i = 0; i < 4; i++) memcpy(shapes + i * stride, parts[i], stride * sizeof *shapes);
}

static void place_turns(const qb__footprints *f, float *shapes) {
    const int32_t most = (int32_t)turns_of(f);
    shapes[0] = (float)f->per_radian;
    memcpy(shapes + 1, &most, sizeof most);
    for (int32_t k = -most; k <= most; k++) {
        const int32_t turn[2] = {(int32_t)lrint(ldexp(cos(k / f->per_radian), 30)),
                                 (int32_t)lrint(ldexp(sin(k / f->per_radian), 30))};
        memcpy(shapes + 2 + 2 * (k + most), turn, sizeof turn);
    }
}

/* Depths up to 1 everywhere on the grid and a little beyond. */
static void place_fan(const qb__icd_problem *p, int64_t *rays, float *shapes) {
    const qb__footprints *f = &p->footprints;
    const size_t stride = f->stride;
    const double *const rows[] = {f->ax, f->ay, f->h0, f->wx, f->wy, f->w0};
    for (size_t v = 0; v < f->views; v++) {
        const double most = fabs(f->w0[v]) + fabs(f->wx[v]) * (double)(p->nx + QB__ICD_SIDE) +
                            fabs(f->wy[v]) * (double)(p->ny + QB__ICD_SIDE);
        for (size_t i = 0; i < 6; i++) rays[i * stride + v] = llrint(ldexp(rows[i][v] / most, 40));
        rays[6 * stride + v] = f->c0 ? llrint(ldexp(f->c0[v], 32)) : 0;
    }
    if (f->per_radian > 0) place_turns(f, shapes);
}

qb_status qb__icd_upload_beam(qb__device *device, qb__queue *queue, const qb__icd_problem *p, size_t more,
                              qb__memory **to_rays, qb__memory **to_shapes) {
    const size_t ray_bytes = rays_of(&p->footprints) * sizeof(int64_t),
                 shape_bytes = shapes_of(&p->footprints) * sizeof(float);
    int64_t *rays = NULL;
    float *shapes = NULL;
    qb_status status;
    QB__TRY(qb__alloc(ray_bytes, 1, &rays));
    QB__TRY(qb__alloc(shape_bytes, 1, &shapes));
    if (p->footprints.wx)
        place_fan(p, rays, shapes);
    else
        place_parallel(&p->footprints, rays, shapes);
    QB__TRY(qb__memory_create(device, ray_bytes + more, to_rays));
    QB__TRY(qb__memory_create(device, shape_bytes, to_shapes));
    QB__TRY(qb__memory_upload(queue, *to_rays, 0, rays, ray_bytes));
    QB__TRY(qb__memory_upload(queue, *to_shapes, 0, shapes, shape_bytes));
    QB__TRY(qb__queue_finish(queue));
out:
    qb__free(rays);
    qb__free(shapes);
    return status;
}

/* As in cpu/icd; `offset` keeps rho continuous at `least`. */
qb__icd_surrogate qb__icd_surrogate_of(const qb__icd_prior *o) {
    const double u = 1e-3, least = u * o->sigma, bent = qb__icd_surrogate_reference(o, least);
    const double r = pow(u / o->t, o->q - o->p);
    return (qb__icd_surrogate){.scale = (float)(1 / (o->p * o->sigma * o->sigma * pow(o->t, o->q - o->p))),
                               .least = (float)u,
                               .per_sigma = (float)(1 / o->sigma),
                               .log_t = (float)log2(o->t),
                               .power = (float)(o->q - o->p),
                               .pole = (float)(o->q - 2),
                               .p = (float)o->p,
                               .q = (float)o->q,
                               .close = (float)(bent * o->sigma * o->sigma),
                               .offset = (float)(0.5 * bent * least * least - pow(u, o->p) / o->p * r / (1 + r))};
}
