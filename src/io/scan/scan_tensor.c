/* SPDX-License-Identifier: MIT */
/* A scan of arrays in memory. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/comm.h"
#include "base/memory.h"
#include "base/params.h"
#include "base/status.h"
#include "io/scan/scan.h"
#include "io/tensor/tensor_device.h"
#include "io/tensor/tensor_stack.h"

static qb_status take_angles(qb__scan_parts *parts, const double *angles, size_t views) {
    if (!angles) return QB_OK;
    QB__OR_RETURN(qb__alloc(views, sizeof *angles, &parts->angles));
    memcpy(parts->angles, angles, views * sizeof *angles);
    parts->angle_count = views;
    snprintf(parts->angles_from, sizeof parts->angles_from, "given with the array");
    return QB_OK;
}

static qb_status take_frames(const qb_tensor *given, const char *what, qb__frames *frames) {
    if (!given) return QB_OK;
    qb_status status = qb__tensor_open(given, what, QB__MISSING_IMAGE, &frames->source);
    if (status == QB_OK) frames->count = frames->source->shape[0];
    return status;
}

static qb_status open_arrays(qb_scan *scan, const qb_tensor *projections, const double *angles, const qb_tensor *flats,
                             const qb_tensor *darks, const qb_scan_options *options) {
    qb__scan_parts *parts = &scan->parts;
    const bool sinogram = options->as == QB_IMAGE_SINOGRAM;
    parts->center = NAN;
    QB__OR_RETURN(qb__tensor_open(projections, "projections", sinogram ? QB__MISSING_IMAGE : QB__MISSING_ROW,
                                  &parts->data.source));
    QB__OR_RETURN(qb__scan_name(scan, parts->data.source->path));
    QB__OR_RETURN(take_angles(parts, angles, parts->data.source->shape[sinogram ? 1 : 0]));
    QB__OR_RETURN(take_frames(flats, "flats", &parts->flats));
    return take_frames(darks, "darks", &parts->darks);
}

qb_status qb_scan_from_tensor(const qb_tensor *projections, const double *angles, const qb_tensor *flats,
                              const qb_tensor *darks, const qb_scan_options *given, const qb_env *env, qb_scan **out) {
    qb_scan_options options;
    qb_scan *scan;
    QB__NEED(out);
    *out = NULL;
    size_t failed = qb__allocations_failed();
    qb_status status = qb__env_check(env);
    if (status == QB_OK) status = qb__params_view(qb_scan_params, given, &options);
    if (status == QB_OK) status = qb__alloc(1, sizeof *scan, &scan);
    if (status != QB_OK) return status;
    qb__inputs_begin(&scan->inputs); /* angles and fields may still be files */
    status = open_arrays(scan, projections, angles, flats, darks, &options);
    if (status == QB_OK) status = qb__scan_complete(scan, &options, env);
    qb__inputs_end(&scan->inputs);
    if (status == QB_OK) status = qb__inputs_protect_all(&scan->inputs, env);
    if (status == QB_OK && qb__allocations_failed() != failed)
        status = qb__fail(QB_NO_MEMORY, "%s: memory ran out while it was looked at", scan->path);
    if (status == QB_OK)
        *out = scan;
    else
        qb_scan_close(scan);
    return status;
}

ptrdiff_t qb__scan_place(const qb_scan *scan, size_t view, size_t row, ptrdiff_t stride[3]) {
    const qb__tensor *t = qb__tensor_of(qb__tensor_device_of(scan->parts.data.source));
    const int of_view = scan->sinogram ? 1 : 0, of_row = 1 - of_view;
    stride[0] = t->stride[of_view] * (ptrdiff_t)scan->step;
    stride[1] = t->stride[of_row];
    stride[2] = t->stride[2];
    return (ptrdiff_t)(scan->first + view * scan->step) * t->stride[of_view] + (ptrdiff_t)row * t->stride[of_row];
}
