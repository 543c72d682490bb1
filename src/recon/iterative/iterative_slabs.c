/* SPDX-License-Identifier: MIT */
#include "recon/iterative/iterative_slabs.h"

#include "base/status.h"

/* Both directions; two passes over all vectors on the host, as in iterative_cpu.c. */
double qb__iterative_slabs_seconds(const qb__iterative_slabs *s, const qb__iterative *it, int threads) {
    return s->cut.seconds + 6e-9 * ((double)qb__iterative_unknowns(it) + (double)qb__iterative_equations(it)) / threads;
}

qb_status qb__iterative_slabs_open(qb__iterative_slabs *s, const qb__joseph_problem *problem,
                                   const qb__device_pick *pick, const qb_env *env) {
    if (env) s->quiet = *env;
    s->quiet.progress = NULL;
    s->views = problem->views;
    return qb__slab_projector_open(problem, pick, s->cut.most, env, &s->projector);
}

void qb__iterative_slabs_close(qb__iterative_slabs *s) { qb__slab_projector_close(&s->projector); }

static qb_status forward(void *self, const void *x, void *y) {
    qb__iterative_slabs *s = self;
    return qb__slab_projector_forward(&s->projector, &(qb__images){.from = x}, 0, s->views, &s->quiet,
                                      &(qb__images){.to = y});
}

static qb_status adjoint(void *self, const void *y, void *x) {
    qb__iterative_slabs *s = self;
    return qb__slab_projector_adjoint(&s->projector, &(qb__images){.from = y}, 0, s->views, false, &s->quiet,
                                      &(qb__images){.to = x});
}

qb_status qb__iterative_slabs_solve(qb__iterative_slabs *s, qb__iterative_run *r, float *lines, float *volume) {
    const qb__linear a = qb__iterative_linear(r->it, s, r->it->info->views, forward, adjoint, NULL, NULL);
    return qb__iterative_solve_here(r, &a, lines, volume);
}
