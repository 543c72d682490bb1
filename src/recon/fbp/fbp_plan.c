/* SPDX-License-Identifier: MIT */
/* The plan of a parallel-beam reconstruction: grid, axis, weights, kernel, chunks, forecast. */

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "base/warning.h"
#include "center/center.h"
#include "io/scan/scan.h"
#include "job/job.h"
#include "recon/fbp/fbp_device.h"

static qb_status check_scan(const qb_scan_info *info) {
    if (info->beam == QB_BEAM_CONE)
        return qb__fail(QB_BAD_INPUT, "%s states that its beam is a cone: use qb fdk", info->path);
    if (!info->angles) return qb__scan_lacks_angles(info);
    if (info->views == 0 || info->rows == 0 || info->columns < 2)
        return qb__fail(QB_BAD_INPUT, "%s: %zu views of %zu x %zu pixels are too few", info->path, info->views,
                        info->rows, info->columns);
    return QB_OK;
}

/* Read --center: a number, or the name of a finder, which runs later because the plan reads no projections. */
static qb_status decide_center(qb__fbp *fbp, const qb_env *env) {
    const qb_fbp_options *o = fbp->options;
    const char *text = o->search && !o->center ? "auto" : qb__center_usual(o->center, fbp->info);
    char *stop;
    const double column = qb__strtod(text, &stop);
    double last = (double)fbp->info->columns - 1;
    if (fbp->options->geometry) {
        if ((o->center && strcmp(text, "auto") != 0) || o->search)
            return qb__fail(QB_BAD_ARGUMENT, "--geometry %s states where the axis is: leave out --%s",
                            fbp->options->geometry, fbp->options->search ? "search" : "center");
        return QB_OK;
    }
    double named;
    if (!o->search) qb__center_report(o->center, fbp->info, env);
    qb_status status = qb__center_named(text, fbp->info, &named);
    if (status != QB_OK) return status;
    if (qb__center_names_method(text)) {
        if (qb__center_is_near(text) && !o->search)
            status = qb__center_near_parse(text, fbp->info, o->tilt, &(double){0}, &(double){0});
        else if (qb__center_is_near(text))
            status = qb__fail(QB_BAD_ARGUMENT, "--search %s and --center %s name two ranges: leave one out", o->search,
                              text);
        else if (o->search)
            status = qb__center_search_parse(o->search, fbp->info, &(double){0}, &(double){0});
        if (status != QB_OK) return status;
        if (!fbp->found) fbp->center = NAN;
        return QB_OK;
    }
    if (fbp->options->search)
        return qb__fail(QB_BAD_ARGUMENT, "--search %s: nothing is looked for with --center %s; give --center auto",
                        fbp->options->search, text);
    fbp->center = named;
    if (!isnan(named)) return QB_OK;
    if (stop == text)
        return qb__fail(QB_BAD_ARGUMENT,
                        "--center %s is neither a column nor one of auto, near:COLUMN, " QB__CENTER_FINDERS(
                            ", ") ", middle, stated",
                        text);
    fbp->center = qb__column_read(fbp->info, column + qb__axis_shift(fbp->info, o->tilt));
    if (*stop == ':')
        return qb__fail(QB_BAD_ARGUMENT,
                        "--center %s: a job takes one column; qb fbp --sweep center=A:B:STEP makes one for each", text);
    if (*stop) return qb__fail(QB_BAD_ARGUMENT, "--center %s is not a column", text);
    if (!(fbp->center >= 0 && fbp->center <= last)) return qb__center_fail_outside(text, fbp->info);
    return QB_OK;
}

/* The angular share of each ray: one set per view if angles are missing, otherwise the same for all views. */
static qb_status decide_shares(qb__fbp *fbp) {
    const qb_scan_info *info = fbp->info;
    const qb_angle_weights rule = fbp->options->angle_weights;
    qb_status status = qb__turn_create(info->views, info->angles, 2 * M_PI, rule, &fbp->turn);
    if (status == QB_OK) status = qb__alloc(info->columns, sizeof *fbp->share, &fbp->share);
    if (status == QB_OK && fbp->turn.gaps > 0 && rule != QB_WEIGHTS_EVEN)
        status = qb__alloc(info->views * info->columns, sizeof *fbp->view_share, &fbp->view_share);
    return status;
}

/* Decide the width of rows: as measured, or, if a full turn has the axis near one side, twice the distance from the
 * axis to the far end. */
static qb_status decide_turn(qb__fbp *fbp) {
    const qb_scan_info *info = fbp->info;
    qb_status status =
        qb__half_fan_of_views(info->views, info->angles, info->columns, qb__roll_column(&fbp->roll, fbp->center),
                              qb__roll_column(&fbp->roll, fbp->center), &fbp->fan);
    if (status != QB_OK) return status;
    fbp->width = qb__half_fan_width(&fbp->fan);
    return fbp->fan.used ? decide_shares(fbp) : QB_OK;
}

/* With a full turn about an axis to one side, only rays near the axis have an opposite ray. */
static void describe_turn(const qb__fbp *fbp, double capped, char *text, size_t size) {
    const qb__turn *turn = &fbp->turn;
    char gaps[160] = "", low[80] = "";
    double missing = 0;
    for (size_t i = 0; i < turn->gaps; i++) missing += qb__turn_missing(&turn->gap[i]) * 180 / M_PI;
    const qb__turn_gap *widest = qb__turn_widest(turn);
    const double from = widest ? qb__turn_wrap(widest->from, 2 * M_PI) * 180 / M_PI : 0;
    if (widest)
        snprintf(gaps, sizeof gaps, "; %.4g degrees missing in %zu gap%s, the widest from %.4g to %.4g", missing,
                 turn->gaps, turn->gaps > 1 ? "s" : "", from, from + widest->width * 180 / M_PI);
    if (qb__turn_is_open(turn))
        snprintf(low, sizeof low, "; values are %.2g %% too low, as nothing stands in for so much", 100 * capped);
    else if (capped > 1e-4)
        snprintf(low, sizeof low, "; capped weights make values %.2g %% too low (--angle-weights)", 100 * capped);
    snprintf(text, size, "%zu views, %s, %.6g of 360 degrees, as half acquisition needs%s%s", turn->views,
             turn->even ? "evenly spaced" : "weighted by spacing", 360 - missing, gaps, low);
}

/* Warn of few views, as for cone beams (geometry/units.c): the streaks between views hide the object. */
static void tell_few(const qb__fbp *fbp, const qb__angle_report *report, const qb_env *env) {
    const double FAR = 15;
    const size_t directions = fbp->info->views - report->repeated;
    const double apart = (fbp->fan.used ? 360.0 : 180.0) / (double)directions;
    if (apart > FAR)
        qb__warn(
            env,
            "%zu views are too few, on average %.4g degrees apart: streaks will hide the object" QB__CODE("few-views"),
            fbp->info->views, apart);
}

static void tell_angles(const qb__fbp *fbp, const qb__angle_report *report, const qb_env *env) {
    const double WIDE = 30 * M_PI / 180;
    const qb_angle_weights rule = fbp->options->angle_weights;
    const bool missing = fbp->fan.used ? fbp->turn.gaps > 0 : report->limited;
    const char *how =
        rule == QB_WEIGHTS_CAPPED || rule == QB_WEIGHTS_EVEN || report->open ? ""
        : fbp->fan.used && qb__turn_widest(&fbp->turn) && qb__turn_missing(qb__turn_widest(&fbp->turn)) > WIDE
            ? "; opposite rays and neighbouring views stand in, badly: sirt, tv or mbir do better"
        : fbp->fan.used ? "; opposite rays and neighbouring views stand in"
                        : "; neighbouring views stand in";
    if (report->open)
        qb__warn(env, "angles: %s; sirt, tv or mbir do better" QB__CODE("limited-angle"), report->text);
    else if (missing)
        qb__warn(env, "angles: %s%s" QB__CODE("angle-gap"), report->text, how);
    else if (report->capped > 1e-3)
        qb__warn(env, "angles: %s" QB__CODE("angle-cap"), report->text);
    else
        qb__info(env, "angles: %s", report->text);
}

static qb_status decide_weights(qb__fbp *fbp, const qb_env *env, qb__decision *decision) {
    size_t views = fbp->info->views;
    double *exact = NULL;
    qb__angle_report report;
    char wide[320];
    qb_status status;
    QB__TRY(qb__alloc(views, sizeof *exact, &exact));
    QB__TRY(qb__alloc(views, sizeof *fbp->weights, &fbp->weights));
    QB__TRY(qb__angle_weights_as(fbp->options->angle_weights, views, fbp->info->angles, exact, &report));
    if (fbp->fan.used) {
        QB__TRY(qb__turn_weigh(&fbp->turn, fbp->options->angle_weights, exact, &report.capped));
        report.open = qb__turn_is_open(&fbp->turn);
        describe_turn(fbp, report.capped, report.text, sizeof report.text);
    }
    if (views >= 3 && views - report.repeated < 2) {
        status = qb__fail(QB_BAD_INPUT, "%s: all %zu views have the same angle: give --angles FROM:TO", fbp->info->path,
                          views);
        goto out;
    }
    double scale = fbp->options->hu > 0 ? 1000.0 / fbp->options->hu : 1.0;
    if (!(scale / fbp->pixel < 1e30)) {
        status = qb__fail(QB_BAD_ARGUMENT,
                          "--hu %g and a pixel of %g mm make numbers that no float holds: both are "
                          "in mm (1/mm)",
                          fbp->options->hu, fbp->pixel);
        goto out;
    }
    for (size_t i = 0; i < views; i++) fbp->weights[i] = (float)(exact[i] * scale);
    tell_angles(fbp, &report, env);
    tell_few(fbp, &report, env);
    qb__print(decision->angles, sizeof decision->angles, "%s", report.text);
    qb__fbp_describe_turn(fbp, wide, sizeof wide);
    if (wide[0]) qb__info(env, "%s", wide);
out:
    qb__free(exact);
    return status;
}

/* Set an upper limit of the filtered, weighted rows, by which half-precision kernels scale. It may be generous, because
 * half floats keep their precision over many orders of magnitude. The absolute values of the ramp's taps sum to 1/2,
 * and our windows increase that at most 4 times. No limit is known for line integrals in a file, for strong hardening
 * corrections (prep.h) and for a filter file: devices then measure the values (bp_parallel_device.h), and the CPU's
 * half-precision kernels are not used. */
static qb_status bound_rows(qb__fbp *fbp) {
    double weight = 0, bound = qb__prep_bound(fbp->info->quantity, fbp->prep);
    size_t most = fbp->grid.n[2] + QB__BP_PARALLEL_MOST_LANES; /* most slices of a pass, with padding lanes */
    const char *filter = fbp->options->filter;
    if (!isfinite(bound) || access(filter, F_OK) == 0) return QB_OK;
    QB__OR_RETURN(qb__alloc(most, sizeof *fbp->largest, &fbp->largest));
    for (size_t i = 0; i < fbp->info->views; i++) weight = fmax(weight, fbp->weights[i]);
    if (strncmp(filter, "none", 4) != 0) bound *= 0.5 * 4 / fbp->pixel;
    for (size_t i = 0; i < most; i++) fbp->largest[i] = (float)(bound * weight);
    return QB_OK;
}

const char *qb__fbp_redundancy(qb__fbp *fbp) {
    qb__fbp_describe_turn(fbp, fbp->redundancy, sizeof fbp->redundancy);
    return fbp->redundancy;
}

/* Choose the kernel for single slices on the CPU (fbp_slice.c), and for the volume if the CPU computes it. It does not
 * depend on the device, so that the bits stay the same. */
static qb_status decide_kernel(qb__fbp *fbp) {
    qb__question question = qb__fbp_question(fbp);
    qb__choice choice;
    if (question.interp == QB_INTERP_OVERSAMPLE) question.interp = QB_INTERP_LINEAR;
    if (question.id && qb__kernel_of_device(question.id)) question.id = NULL;
    qb_status status = qb__choose(&question, &choice);
    qb__fbp_take_kernel(fbp, choice.variant);
    return status;
}

static qb_status decide_problem(qb__fbp *fbp) {
    size_t views = fbp->info->views;
    QB__OR_RETURN(bound_rows(fbp));
    QB__OR_RETURN(qb__alloc(views, sizeof(double), &fbp->ax));
    QB__OR_RETURN(qb__alloc(views, sizeof(double), &fbp->ay));
    QB__OR_RETURN(qb__alloc(views, sizeof(double), &fbp->h0));
    fbp->problem = (qb__bp_parallel_problem){.views = views,
                                             .columns = fbp->width,
                                             .nx = fbp->region.whole.n[0],
                                             .ny = fbp->region.whole.n[1],
                                             .ax = fbp->ax,
                                             .ay = fbp->ay,
                                             .h0 = fbp->h0,
                                             .largest = fbp->largest};
    QB__OR_RETURN(qb__fbp_aim(fbp, isnan(fbp->center) ? ((double)fbp->info->columns - 1) / 2 : fbp->center));
    return qb__filter_create(fbp->options->filter, fbp->options->pad, fbp->width, fbp->pixel, &fbp->filter);
}

/* Also releases what was decided for an axis in the middle, before the axis was found. */
void qb__fbp_release(void *plan) {
    qb__fbp *fbp = plan;
    qb__filter_destroy(fbp->filter);
    fbp->filter = NULL;
    qb__fbp_release_roll(fbp);
    qb__turn_destroy(&fbp->turn);
    void **const arrays[] = {(void **)&fbp->weights, (void **)&fbp->share, (void **)&fbp->view_share, (void **)&fbp->ax,
                             (void **)&fbp->ay,      (void **)&fbp->h0,    (void **)&fbp->largest};
    for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; i++) {
        qb__free(*arrays[i]);
        *arrays[i] = NULL;
    }
}

/* Report corners that only a part of the views sees: they are normal for the default grid, and worth a warning if the
 * user chose the size. */
static void tell_outside(const qb__fbp *fbp, const qb_env *env, cJSON *json) {
    const qb_fbp_options *o = fbp->options;
    const double share = qb__fov_outside(&fbp->mask.fov, &fbp->grid, false);
    const bool asked = o->size.count || o->voxel > 0 || o->like || o->offset.count,
               odd = asked && !fbp->mask.used && qb__fov_outside(&fbp->mask.fov, &fbp->grid, true) > 0.005;
    cJSON_AddNumberToObject(json, "outside_percent", 100 * share);
    if (!(share > 0.005)) return;
    qb__log(env, odd ? QB_LOG_WARNING : QB_LOG_INFO,
            "%.3g %% of the voxels lie beyond the %.5g %s from the axis that all views see: their values are "
            "incomplete%s%s",
            100 * share, fbp->mask.fov.radius, fbp->info->pixel_size > 0 ? "mm" : "pixels",
            fbp->mask.used ? ", and masked" : "; --outside zero or nan marks them",
            odd ? QB__CODE("outside-field") : "");
}

qb_status qb__fbp_decide(const qb__task *task, void *plan, const qb_env *env, cJSON *json, qb__decision *decision) {
    qb__fbp *fbp = plan;
    qb_fbp_options *options = task->options;
    qb_status status;
    fbp->scan = task->scan;
    fbp->info = task->info;
    fbp->prep = task->prep;
    fbp->near = task->scan->filtered ? 0 : qb__neighbours_on_device(task->info, task->prep, true);
    fbp->options = task->options;
    fbp->output = task->output;
    fbp->threads = task->threads;
    QB__TRY(qb__fbp_decide_roll(fbp, env));
    QB__TRY(check_scan(fbp->info));
    QB__TRY(decide_center(fbp, env));
    QB__TRY(decide_turn(fbp));
    QB__TRY(qb__fbp_check_steady(fbp));
    QB__TRY(qb__fbp_decide_grid(fbp, env, decision));
    QB__TRY(decide_weights(fbp, env, decision));
    QB__TRY(qb__kernel_interp(options->kernel, &options->interp, env));
    QB__TRY(decide_problem(fbp));
    QB__TRY(decide_kernel(fbp));
    if (!isnan(fbp->center)) tell_outside(fbp, env, json);
    qb__fbp_report_roll(fbp, env, json);
    decision->axis_found = fbp->found;
    decision->axis_stated = !fbp->roll.maps && !fbp->axis && !isnan(fbp->center);
    decision->axis = &fbp->center;
    if (!fbp->roll.maps) decision->turn = (qb__turn_asked){.radians = fbp->info->angles, .file = fbp->axis != NULL};
    decision->ends.ends = (qb__truncation){.count = {!fbp->fan.before, !fbp->fan.after}};
    decision->pad = options->pad;
    qb__truncation_check_pad(options->filter, options->pad, &decision->ends);
    if (fbp->fan.off_center && !fbp->fan.used) qb__truncation_check_turn(fbp->fan.covered, &decision->ends);
    decision->resume = options->resume;
    decision->checkpoint = options->checkpoint;
    if (fbp->view_share) decision->more = fbp->info->views * fbp->info->columns * sizeof(float);
    if (!qb_dtype_is_float(fbp->output->dtype) && fbp->output->range.count == 0)
        decision->range_bytes = qb__fbp_range_bytes;
    if (!isnan(fbp->center)) goto out;
    decision->begin_seconds = qb__center_seconds(fbp->info, options->center, fbp->threads);
    decision->begin_bytes = qb__center_bytes(fbp->info, env);
out:
    return status;
}
