/* SPDX-License-Identifier: MIT */
/* qb_output_options.slab: the caller's function gets each slab before it is written. */
#include "base/memory.h"
#include "base/status.h"
#include "job/observer.h"

typedef struct watch {
    const qb_output_options *options;
    const qb_stack *stack;
} watch;

static bool wanted(const qb_output_options *options) { return options->slab != NULL; }

static qb_status prepare(const qb_output_options *options, const qb_stack *stack, void **own) {
    watch *w;
    qb_status status = qb__alloc(1, sizeof *w, &w);
    if (status == QB_OK) *w = (watch){options, stack};
    *own = w;
    return status;
}

static qb_status slab(void *own, size_t first, size_t end, const void *data) {
    const watch *w = own;
    const qb_stack *stack = w->stack;
    const qb_slab one = {.struct_size = sizeof one,
                         .data = data,
                         .dtype = stack->dtype,
                         .first = first,
                         .count = end - first,
                         .shape = {stack->shape[0], stack->shape[1], stack->shape[2]},
                         .scale_low = stack->scale_low,
                         .scale_high = stack->scale_high,
                         .units = stack->units};
    qb_status status = w->options->slab(w->options->slab_user, &one);
    if (status == QB_OK) return QB_OK;
    return qb__fail(status, "the caller's function for slabs ended the job at images %zu to %zu of %zu", first, end - 1,
                    stack->shape[0]);
}

static void release(void *own) { qb__free(own); }

const qb__observer qb__observe_slabs = {.wanted = wanted, .open = prepare, .slab = slab, .close = release};
