/* SPDX-License-Identifier: MIT */
#include "recon/device_arrays.h"

#include <stdio.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/scan/scan.h"
#include "io/tensor/tensor_stack.h"

/* ---- choice ---- */

qb_status qb__device_set_near(qb_scan *scan, const qb_env *env, qb__device_set *set) {
    const qb__tensor_device *array = scan ? qb__scan_on_device(scan) : NULL;
    if (!array || qb__device_is_named(env)) return qb__device_set_open(env, set);
    char spec[24];
    qb_env there = qb__env_whole(env);
    snprintf(spec, sizeof spec, "cuda:%d", qb__tensor_of(array)->given.device);
    there.device = spec;
    const qb_status status = qb__device_set_open(&there, set);
    set->named = false;
    return status;
}

qb__tensor_device *qb__device_array_on(qb__tensor_device *array, const qb__device *device) {
    return array && qb__tensor_device_is(array, device) ? array : NULL;
}

qb__tensor_device *qb__projections_on(qb_scan *scan, const qb__device *device) {
    /* otherwise the views are not evenly spaced, or the rows are not those of the array */
    return scan->view || scan->filtered ? NULL : qb__device_array_on(qb__scan_on_device(scan), device);
}

/* float32 slices are written to their place directly; observers see only host memory. */
static bool result_stays(const qb__running *run) {
    return !qb__volume_converts(run->volume) && !qb__observed(run->volume->options);
}

qb_status qb__device_arrays_attach(qb__device_arrays *arrays, qb__tensor_device *from, const qb__device *device,
                                   qb__queue *up, qb__queue *down, const qb__running *run) {
    arrays->from = from;
    arrays->to = result_stays(run) ? qb__device_array_on(qb__tensor_device_written(run->volume->writer), device) : NULL;
    if (arrays->from) QB__OR_RETURN(qb__tensor_device_await(arrays->from, up));
    if (arrays->to) QB__OR_RETURN(qb__tensor_device_await(arrays->to, down));
    *run->taken = arrays->from != NULL;
    run->volume->in_place = arrays->to != NULL;
    return QB_OK;
}

void qb__device_arrays_detach(qb__device_arrays *arrays, const qb__running *run) {
    run->volume->in_place = *run->taken = false;
    *arrays = (qb__device_arrays){0};
}

/* ---- the volume ---- */

qb_status qb__device_arrays_put(const qb__device_arrays *arrays, qb__queue *down, const qb__memory *slab, size_t from,
                                size_t first, size_t count, const size_t *n) {
    const qb__tensor_block block = qb__tensor_images(arrays->to, first, count);
    return qb__tensor_device_put(arrays->to, down, &block, slab, from * n[0] * n[1] * sizeof(float));
}

/* ---- slots ---- */

static qb_status create_token(void *self, size_t bytes, void **slot) {
    (void)self, (void)bytes;
    return qb__alloc(1, 1, slot);
}

static void destroy_token(void *self, void *slot) {
    (void)self;
    qb__free(slot);
}

const qb__slot_maker qb__token_slots = {NULL, create_token, destroy_token};
