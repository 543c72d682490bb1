/* SPDX-License-Identifier: MIT */
#include "ops/vectors.h"

#include <assert.h>
#include <string.h>

#include "base/memory.h"
#include "kernels/icd/icd_surrogate.h"

/* Flags of an operation, the same as in kernels/vectors/prior.cl. */
enum { NONNEG = 1, TOWARD = 8, COST = 16, SLOPES = 32 };

static_assert(sizeof(qb__prior_numbers) <= QB__VECTOR_MORE * sizeof(float), "numbers travel with a job");

qb__prior_numbers qb__prior_numbers_of(const qb__icd_prior *prior, double pull) {
    const qb__icd_surrogate s = qb__icd_surrogate_of(prior);
    return (qb__prior_numbers){.scale = s.scale,
                               .least = s.least,
                               .per_sigma = s.per_sigma,
                               .log_t = s.log_t,
                               .power = s.power,
                               .pole = s.pole,
                               .p = s.p,
                               .q = s.q,
                               .close = s.close,
                               .offset = s.offset,
                               .nearest = (float)prior->nearest,
                               .diagonal = (float)prior->diagonal,
                               .interslice = (float)prior->interslice,
                               .edge = (float)prior->edge,
                               .corner = (float)prior->corner,
                               .pull = (float)pull};
}

static void step(const qb__vector_job *job, size_t first, size_t end, double *sums) {
    qb__prior_numbers numbers;
    memcpy(&numbers, job->more, sizeof numbers);
    const qb__prior_volume volume = {.n = {job->n[0], job->n[1], job->n[2]},
                                     .x = job->v[0],
                                     .slope = job->v[1],
                                     .curve = job->v[2],
                                     .toward = job->v[3],
                                     .nonneg = job->flags & NONNEG,
                                     .only_slopes = job->flags & SLOPES,
                                     .cost = job->flags & COST};
    const size_t slice = job->n[0] * job->n[1];
    const size_t from = qb__larger(first, (size_t)job->s[0] * slice), to = qb__smaller(end, (size_t)job->s[1] * slice);
    for (size_t i = first; i < end; i++)
        if (i < from || i >= to) volume.slope[i] = 0;
    if (from < to) qb__prior_for_cpu()(&numbers, &volume, from, to, sums);
}

double qb__vector_prior(const qb__vectors *v, const qb__prior_numbers *numbers, const qb__prior_step_of *s,
                        size_t count) {
    static const qb__vector_op op = {"prior.cl", "prior_step", 1, .run = step};
    double sums[QB__VECTOR_SUMS];
    qb__prior_numbers all = *numbers;
    const size_t end = s->end ? s->end : v->n[2];
    qb__vector_job job = {&op, QB__UNKNOWNS, count, .v = {s->x, s->slope, s->curve, s->toward},
                          .s = {(double)s->first, (double)end}};
    all.data = (float)s->data;
    memcpy(job.more, &all, sizeof all);
    job.flags =
        (s->nonneg ? NONNEG : 0) | (s->toward ? TOWARD : 0) | (s->cost ? COST : 0) | (s->only_slopes ? SLOPES : 0);
    qb__vector_run(v, job, s->cost ? sums : NULL); /* a device need not wait for a sum that is not asked for */
    return s->cost ? sums[0] : 0;
}
