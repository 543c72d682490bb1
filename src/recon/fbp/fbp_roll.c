/* SPDX-License-Identifier: MIT */
/* Detector roll of a parallel beam, from --tilt or a geometry file. The rows are resampled to those of an unrolled
 * detector of the same size; everything else is the same as for that detector. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "geometry/circle.h"
#include "io/scan/scan.h"
#include "recon/fbp/fbp.h"

static qb_status load(const qb__fbp *fbp, const qb_env *env, qb_geometry *geometry) {
    const qb_scan_info *info = fbp->info;
    const qb_geometry_options options = {.struct_size = sizeof options, .geometry = fbp->options->geometry};
    const qb_detector detector = {info->rows, info->columns, info->pixel_size, info->pixel_v, 0, 0};
    if (fbp->options->tilt != 0)
        return qb__fail(QB_BAD_ARGUMENT, "--geometry %s states the tilt: leave out --tilt", fbp->options->geometry);
    qb_detector whole;
    const bool window = qb__scan_whole_detector(info, &detector, &whole);
    const qb_status status = qb_geometry_make(&options, info->views, NULL, &whole, env, geometry);
    if (status == QB_OK && window) qb__scan_take_window(info, geometry);
    return status;
}

/* Weights of rows of a full turn with the axis near one side depend on the distance from the axis. So the axis must
 * have the same column in all views. */
qb_status qb__fbp_check_steady(const qb__fbp *fbp) {
    double most = 0;
    if (!fbp->axis || !fbp->fan.used) return QB_OK;
    for (size_t i = 0; i < fbp->said.views; i++) most = fmax(most, fabs(fbp->axis[i] - fbp->center));
    if (most < 0.5) return QB_OK;
    return qb__fail(QB_UNSUPPORTED,
                    "%s: the axis wanders by %.3g columns and lies to one side of the detector: qb sirt or cgls -g "
                    "take it",
                    fbp->options->geometry, most);
}

static qb_status take_geometry(qb__fbp *fbp, const qb_env *env) {
    const size_t views = fbp->info->views;
    const qb_numbers *size = &fbp->options->size;
    qb_geometry geometry;
    qb_status status = load(fbp, env, &geometry);
    if (status != QB_OK) return status;
    QB__TRY(qb__alloc(views, sizeof *fbp->axis, &fbp->axis));
    QB__TRY(qb__alloc(views, sizeof *fbp->angles, &fbp->angles));
    fbp->said = *fbp->info;
    const double reach = size->count && fbp->options->voxel > 0 ? 0.5 * size->value[0] * fbp->options->voxel : 0;
    status = qb__roll_of(&geometry, reach, fbp->axis, &fbp->zero, &fbp->said.pixel_size, &fbp->roll);
    if (status != QB_OK) status = qb__fail_in(status, "%s", fbp->options->geometry);
    if (status != QB_OK) goto out;
    fbp->said.pixel_v = fbp->said.pixel_size; /* the pixels of the unrolled detector are square */
    qb__view_angles(&geometry, fbp->angles);
    fbp->said.angles = fbp->angles;
    fbp->said.angles_from = fbp->options->geometry;
    fbp->said.beam = QB_BEAM_PARALLEL;
    fbp->info = &fbp->said;
    fbp->center = 0;
    for (size_t i = 0; i < views; i++) fbp->center += fbp->axis[i] / (double)views;
out:
    qb_geometry_destroy(&geometry);
    return status;
}

qb_status qb__fbp_decide_roll(qb__fbp *fbp, const qb_env *env) {
    const qb_fbp_options *options = fbp->options;
    qb_status status = QB_OK;
    fbp->zero = 0.5 * ((double)fbp->info->rows - 1);
    if (options->geometry) {
        status = take_geometry(fbp, env);
    } else if (options->tilt != 0) {
        status = qb__roll_turned(options->tilt / 57.29577951308232, fbp->info->columns, fbp->info->rows, &fbp->roll);
    }
    if (status != QB_OK || fbp->roll.maps == 0) return status;
    fbp->rolled = (qb__rolled_rows){.roll = &fbp->roll, .info = fbp->info, .pad = options->pad};
    status = qb__resampler_create(&fbp->resampler);
    fbp->rolled.resampler = fbp->resampler;
    return status;
}

void qb__fbp_report_roll(const qb__fbp *fbp, const qb_env *env, cJSON *json) {
    char text[160];
    size_t partly = 0;
    if (fbp->roll.maps == 0) return;
    for (size_t i = 0; i < fbp->grid.n[2]; i++) partly += !qb__roll_whole(&fbp->roll, fbp->first_row + i * fbp->step);
    if (fbp->options->geometry)
        snprintf(text, sizeof text, "resampled to a level detector, as %.100s says", fbp->options->geometry);
    else
        snprintf(text, sizeof text, "resampled to a level detector, from one rolled by %.6g degrees",
                 fbp->options->tilt);
    cJSON_AddStringToObject(json, "rows_resampled", text);
    qb__info(env, "rows are %s", text);
    if (partly)
        qb__warn(env,
                 "%zu of %zu slices lie partly beyond the turned detector: --slices leaves them out" QB__CODE(
                     "beyond-detector"),
                 partly, fbp->grid.n[2]);
}

void qb__fbp_release_roll(qb__fbp *fbp) {
    qb__resampler_destroy(fbp->resampler);
    qb__roll_clear(&fbp->roll);
    QB__FREE(fbp->axis, fbp->angles);
    fbp->resampler = NULL;
    fbp->axis = fbp->angles = NULL;
}
