/* SPDX-License-Identifier: MIT */
/* The transpose of a linear reconstruction: its arrays, and a check that it is linear. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/scan/scan.h"
#include "io/tensor/tensor_stack.h"
#include "prep/step.h"
#include "recon/reconstruction_parts.h"

static qb_status check(const qb__reconstruction *r) {
    const qb_scan_info *info = r->task.info;
    const qb__mask *mask = r->decision.mask;
    const char *verb = r->method->verb;
    if (!r->method->transpose) return qb__fail(QB_UNSUPPORTED, "qb %s is not linear and has no transpose", verb);
    if (r->comm) return qb__fail(QB_UNSUPPORTED, "ranks have no transpose: use one process");
    if (r->candidates == 0) return qb__fail(QB_BAD_ARGUMENT, "the job has failed: make another one");
    if (info->quantity != QB_LINE_INTEGRAL)
        return qb__fail(QB_UNSUPPORTED, "the transpose is one of line integrals, not of %s: prepare them first",
                        qb_quantity_name(info->quantity));
    const char *step = r->phase ? "phase" : qb__steps_change(info, &r->prep);
    if (step) return qb__fail(QB_UNSUPPORTED, "preparation (%s) has no transpose: do it first, by itself", step);
    if (r->task.scan->lost_rows || r->decision.lost)
        return qb__fail(QB_UNSUPPORTED, "rows that were never measured have no transpose: leave them out");
    if (mask && mask->used && mask->value != 0)
        return qb__fail(QB_UNSUPPORTED, "--outside nan has no transpose: zero has");
    return QB_OK;
}

static qb_status check_finite(const float *volume, size_t count) {
    size_t odd = 0;
    for (size_t i = 0; i < count; i++) odd += !isfinite(volume[i]);
    if (!odd) return QB_OK;
    return qb__fail(QB_BAD_ARGUMENT, "the volume: %zu of %zu values are NaN or infinite: replace them first, as by 0",
                    odd, count);
}

static qb_status read_volume(const qb__reconstruction *r, const qb_tensor *given, float **volume) {
    static const char what[] = "the volume";
    const size_t *shape = r->decision.stack.shape;
    const qb__mask *mask = r->decision.mask;
    qb__tensor tensor;
    qb__source *source = NULL;
    qb_status status;
    QB__TRY(qb__tensor_look(given, what, QB__MISSING_IMAGE, &tensor));
    if (given->dtype != QB_F32 || memcmp(tensor.shape, shape, sizeof tensor.shape) != 0)
        return qb__fail(QB_BAD_ARGUMENT,
                        "%s has %zu x %zu x %zu elements of %s, and should have %zu x %zu x %zu of float32", what,
                        tensor.shape[0], tensor.shape[1], tensor.shape[2], qb_dtype_name(given->dtype), shape[0],
                        shape[1], shape[2]);
    QB__TRY(qb__alloc(shape[0] * shape[1], shape[2] * sizeof **volume, volume));
    QB__TRY(qb__tensor_open(given, what, QB__MISSING_IMAGE, &source));
    QB__TRY(source->read(source, &(qb__region){0, shape[0], 1, 0, shape[1]}, *volume));
    QB__TRY(check_finite(*volume, shape[0] * shape[1] * shape[2]));
    for (size_t z = 0; mask && mask->used && z < shape[0]; z++)
        qb__fov_mask(&mask->fov, &mask->grid, z, mask->along, 0, *volume + z * shape[1] * shape[2]);
out:
    qb__source_close(source);
    return status;
}

qb_status qb__reconstruction_transpose(qb_job *job, const qb_tensor *volume, const qb_env *env,
                                       const qb_tensor *projections) {
    qb__reconstruction *r = (qb__reconstruction *)job;
    const qb_scan_info *info = r->task.info;
    const qb_stack stack = {.shape = {info->views, info->rows, info->columns}, .dtype = QB_F32};
    float *copy = NULL, *lines = NULL;
    qb__pool *pool = NULL;
    qb_writer *writer = NULL;
    qb_status status;
    QB__TRY(check(r));
    QB__TRY(qb__tensor_create(projections, &stack, &writer));
    QB__TRY(read_volume(r, volume, &copy));
    QB__TRY(qb__alloc(info->views * info->rows, info->columns * sizeof *lines, &lines));
    QB__TRY(qb__pool_create(env ? env->threads : 0, &pool));
    /* the device on which the job ran */
    qb__device *device = qb__chosen(r)->engine->on_device && r->devices.count > 0 ? r->devices.device[0] : NULL;
    QB__TRY(r->method->transpose(r->plan, &(qb__transposing){copy, lines, pool, env, device}));
    status = qb_writer_write(writer, 0, info->views, lines);
out:
    qb_writer_abort(writer);
    qb__pool_destroy(pool);
    QB__FREE(copy, lines);
    return status;
}
