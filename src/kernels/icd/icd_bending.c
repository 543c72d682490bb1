/* SPDX-License-Identifier: MIT */
#include "kernels/icd/icd_bending.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"

size_t qb__icd_span(const qb__footprints *s, size_t wide, size_t high) {
    double widest = 0;
    for (size_t v = 0; v < s->views; v++)
        widest = fmax(widest, (double)wide * fabs(s->ax[v]) + (double)high * fabs(s->ay[v]));
    return (size_t)ceil(widest + 1 - 1e-9);
}

qb_status qb__icd_upload_beam(qb__device *device, qb__queue *queue, const qb__footprints *f, qb__memory **to_rays,
                              qb__memory **to_shapes) {
    const size_t stride = f->stride;
    int64_t *rays = NULL;
    float *shapes = NULL;
    qb_status status;
    QB__TRY(qb__alloc(4 * stride, sizeof *rays, &rays));
    QB__TRY(qb__alloc(4 * stride, sizeof *shapes, &shapes));
    for (size_t v = 0; v < f->views; v++) {
        rays[v] = llrint(ldexp(f->ax[v], 32));
        rays[stride + v] = llrint(ldexp(f->ay[v], 32));
        rays[2 * stride + v] = llrint(ldexp(f->h0[v], 32));
        rays[3 * stride + v] = llrint(ldexp((fabs(f->ax[v]) + fabs(f->ay[v])) / 2, 32));
    }
    const float *const parts[] = {f->half, f->flat, f->rise, f->bend};
    for (size_t i = 0; i < 4; i++) memcpy(shapes + i * stride, parts[i], stride * sizeof *shapes);
    QB__TRY(qb__memory_create(device, 4 * stride * sizeof *rays, to_rays));
    QB__TRY(qb__memory_create(device, 4 * stride * sizeof *shapes, to_shapes));
    QB__TRY(qb__memory_upload(queue, *to_rays, 0, rays, 4 * stride * sizeof *rays));
    QB__TRY(qb__memory_upload(queue, *to_shapes, 0, shapes, 4 * stride * sizeof *shapes));
    QB__TRY(qb__queue_finish(queue));
out:
    qb__free(rays);
    qb__free(shapes);
    return status;
}

/* As cpu/icd has it; `offset` keeps rho continuous at `least`. */
qb__icd_bending qb__icd_bending_of(const qb__icd_prior *o) {
    const double u = 1e-3, least = u * o->sigma, bent = qb__icd_bend_reference(o, least);
    const double r = pow(u / o->t, o->q - o->p);
    return (qb__icd_bending){.scale = (float)(1 / (o->p * o->sigma * o->sigma * pow(o->t, o->q - o->p))),
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
