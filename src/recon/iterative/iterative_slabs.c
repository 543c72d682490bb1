/* SPDX-License-Identifier: MIT */
#include "recon/iterative/iterative_device.h"

/* One forward and one adjoint projection, and two passes over all vectors in host memory, as in iterative_cpu.c. */
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

static qb_status forward_of(void *self, const void *x, size_t first, size_t count, void *y) {
    qb__iterative_slabs *s = self;
    return qb__slab_projector_forward(&s->projector, 1, &(qb__images){.from = x}, first, first + count, &s->quiet,
                                      &(qb__images){.to = y});
}

static qb_status adjoint_of(void *self, const void *y, size_t first, size_t count, bool more, void *x) {
    qb__iterative_slabs *s = self;
    return qb__slab_projector_adjoint(&s->projector, 1, &(qb__images){.from = y}, first, first + count, more, &s->quiet,
                                      &(qb__images){.to = x});
}

static qb_status forward(void *self, const void *x, void *y) {
    return forward_of(self, x, 0, ((const qb__iterative_slabs *)self)->views, y);
}

static qb_status adjoint(void *self, const void *y, void *x) {
    return adjoint_of(self, y, 0, ((const qb__iterative_slabs *)self)->views, false, x);
}

static qb_status load(void *self, qb__vector_kind kind, const float *numbers, bool only_kept, void *vector) {
    const qb__iterative_slabs *s = self;
    return qb__iterative_load_here(s->it, s->views, kind, numbers, only_kept, vector);
}

qb_status qb__iterative_slabs_solve(qb__iterative_slabs *s, qb__iterative_run *r, float *lines, float *volume) {
    const qb__linear calls = {.self = s,
                              .forward = forward,
                              .adjoint = adjoint,
                              .forward_of = forward_of,
                              .adjoint_of = adjoint_of,
                              .aligned = QB__JOSEPH_VIEWS,
                              .load = load,
                              .kernel = "slabs"};
    const qb__linear a = qb__iterative_linear(r->it, r->it->info->views, &calls);
    s->it = r->it;
    return qb__iterative_solve_here(r, &a, lines, volume);
}
