/* SPDX-License-Identifier: MIT */
/* Checks for conditions that make a cone-beam reconstruction worthless although every value of it can be computed. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/comm.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/warning.h"
#include "geometry/units.h"
#include "io/scan/scan.h"
#include "recon/fdk/fdk.h"

static const double degrees = 57.29577951308232;

/* Radius about the axis inside which every point is seen over 180 degrees and its own fan, from both sides of the
 * detector; 0 = none. */
static double covered_radius(const qb_geometry *geometry, const qb__cone_weights *weights) {
    double nearest = INFINITY, half = 0.5 * (weights->span - 3.14159265358979323846);
    for (size_t i = 0; i < geometry->views; i++)
        nearest = fmin(nearest, hypot(geometry->view[i].source[0], geometry->view[i].source[1]));
    half = fmin(half, fmin(-weights->gamma_low, weights->gamma_high));
    return half > 0 ? nearest * sin(half) : 0;
}

/* A missing range of one step is negligible, for example the last view of a short scan: the neighbouring views make up
 * for it. */
static bool is_negligible(const qb__cone_weights *weights) {
    return weights->missing <= fmax(1.01 * weights->step, 1 / degrees);
}

/* True for a full turn with gaps of at most WIDEST degrees: the neighbouring views stand in for missing ones. */
static bool is_spotted(const qb__cone_weights *weights) {
    const double WIDEST = 30;
    return weights->kind == QB_REDUNDANCY_GAPS && weights->needed * degrees > 359.9 &&
           weights->missing * degrees <= WIDEST;
}

/* True for a half-fan scan. The far side of the detector has no opposite rays, so nothing stands in for missing
 * views. */
static bool lacks_a_side(const qb__cone_weights *weights) {
    return weights->kind != QB_REDUNDANCY_GAPS && weights->needed * degrees > 359.9;
}

static void warn_lacking(const qb__cone_weights *weights, const qb_env *env) {
    const double SOME = 0.005;
    if (weights->open)
        qb__warn(env,
                 "values at the axis are %.3g %% too low, as angles are limited; sirt, tv or mbir do better" QB__CODE(
                     "angle-cap"),
                 100 * weights->lacking);
    else if (weights->lacking > SOME)
        qb__warn(
            env,
            "values at the axis are %.3g %% too low, for angles that were not measured (--angle-weights auto)" QB__CODE(
                "angle-cap"),
            100 * weights->lacking);
}

static void describe_missing(const qb__cone_weights *weights, char *text, size_t size) {
    const double from = weights->gap_from * degrees, to = (weights->gap_from + weights->gap) * degrees;
    if (weights->gaps > 1)
        snprintf(text, size,
                 "limited angle: %zu gaps, the widest from %.5g to %.5g degrees; %.3g %% of the rays were measured "
                 "from neither side, "
                 "up to %.4g degrees in a row",
                 weights->gaps, from, to, 100 * weights->guessed, weights->missing * degrees);
    else
        snprintf(text, size,
                 "limited angle: %.4g of the %.5g degrees needed were not measured (no view from %.5g to %.5g)",
                 weights->missing * degrees, weights->needed * degrees, from, to);
}

qb_status qb__fdk_check_coverage(const qb_geometry *geometry, const qb__cone_weights *weights, bool allow,
                                 const qb_env *env) {
    size_t distinct = geometry->views - weights->repeated;
    if (!allow && geometry->views >= 3 && distinct < 3)
        return qb__fail(QB_BAD_INPUT,
                        "the %zu views lie at %zu different angle%s: are the angles right? "
                        "--allow-limited reconstructs what there is",
                        geometry->views, distinct, distinct == 1 ? "" : "s");
    warn_lacking(weights, env);
    if (!(weights->missing > 0)) return QB_OK;
    char text[320];
    describe_missing(weights, text, sizeof text);
    const double radius = covered_radius(geometry, weights);
    if (allow || is_negligible(weights) || is_spotted(weights)) {
        if (lacks_a_side(weights) && radius > 0 && !is_negligible(weights))
            qb__warn(env,
                     "%s; only an object within %.4g mm of the axis is complete; sirt and cgls do better" QB__CODE(
                         "limited-angle"),
                     text, radius);
        else if (weights->open || (is_negligible(weights) && !is_spotted(weights)))
            qb__warn(env, "%s" QB__CODE("limited-angle"), text);
        else
            qb__warn(env, "%s; neighbouring views stand in" QB__CODE("angle-gap"), text);
        return QB_OK;
    }
    if (!(radius > 0) || weights->gaps > 1)
        return qb__fail(QB_BAD_INPUT, "%s; sirt and cgls do better, or --allow-limited reconstructs what there is",
                        text);
    return qb__fail(QB_BAD_INPUT,
                    "%s; sirt and cgls do better, or --allow-limited reconstructs what there is; an object within %.4g "
                    "mm of the axis is complete (--size, --voxel)",
                    text, radius);
}

void qb__fdk_warn_doubt(const qb_geometry *geometry, const qb_geometry_info *info, const qb_env *env) {
    char text[256];
    if (qb__geometry_doubt(geometry, info, text, sizeof text)) qb__warn(env, "%s", text);
    if (qb__few_views(geometry, info, text, sizeof text)) qb__warn(env, "%s", text);
}

qb_status qb__fdk_check_path(const qb_geometry *geometry, const qb_geometry_info *info, bool force, const qb_env *env) {
    char text[256];
    if (!qb__path_unfit(geometry, info, text, sizeof text)) return QB_OK;
    if (!force)
        return qb__fail(QB_BAD_INPUT,
                        "%s; least squares (sirt, cgls) with the projector pair, which takes any path, "
                        "can do it; --force reconstructs all the same, with wrong values",
                        text);
    qb__warn(env, "%s: the values are wrong, as --force accepts" QB__CODE("source-path"), text);
    return QB_OK;
}

void qb__fdk_report_outside(const qb__fdk *fdk, const qb_geometry_info *info, const qb_env *env, cJSON *plan) {
    const double SOME = 0.005;
    const qb_fdk_options *o = fdk->options;
    const qb__fov *fov = &fdk->mask.fov;
    const double share = qb__fov_outside(fov, &fdk->grid, false);
    const double within = qb__fov_outside(fov, &fdk->grid, true);
    const bool asked = o->size.count || o->voxel > 0 || o->voxels.count || o->like || o->offset.count,
               odd = asked && !fdk->mask.used && within > SOME;
    cJSON_AddNumberToObject(plan, "outside_percent", 100 * share);
    char steep[256];
    if (qb__path_steep(fdk->real, fdk->grid.offset, steep, sizeof steep)) qb__warn(env, "%s", steep);
    if (!(share > SOME)) return;
    qb__log(
        env, odd ? QB_LOG_WARNING : QB_LOG_INFO,
        "%.3g %% of the voxels are not seen by all views, which see %.4g mm from the axis (z = %.4g to %.4g mm there, "
        "%.4g to %.4g on it): their values are incomplete%s%s",
        100 * share, info->field_radius, fov->low[QB__FOV_RADII - 1], fov->high[QB__FOV_RADII - 1], fov->low[0],
        fov->high[0], fdk->mask.used ? ", and masked" : "; --outside zero or nan marks them",
        odd ? QB__CODE("outside-field") : "");
}

/* Ranks in rows give the same bits as one process, so they are the default. A user who prefers a faster grid is told
 * how to get it. */
void qb__fdk_report_rows(const qb__fdk *fdk, const qb_env *env) {
    const size_t ranks = (size_t)qb__comm_count(qb__comm_of(env));
    const bool chosen = fdk->options->grid && strcmp(fdk->options->grid, "auto") != 0;
    const bool both = fdk->problem.circle && fdk->problem.circle->mirrored && (fdk->alone || fdk->variant->layers);
    if (ranks < 2 || chosen || fdk->paired || !both || fdk->problem.views < ranks || fdk->problem.nz < 2) return;
    qb__info(env,
             "each rank makes slices of one side of the mirror alone, which takes longer: --grid 1x%zu leaves both to "
             "each, and makes sums "
             "that differ in their last bits",
             ranks);
}

void qb__fdk_warn_narrow(const qb_geometry_info *info, const qb_fdk_options *options, const qb_grid *grid,
                         const qb_env *env) {
    char text[256];
    bool chosen = options->size.count || options->voxel > 0 || options->voxels.count || options->like;
    if (!chosen && qb__grid_narrow(info, grid, text, sizeof text)) qb__warn(env, "%s", text);
}

qb_status qb__fdk_describe_geometry(const qb__fdk *fdk, cJSON *plan) {
    char *text;
    QB__OR_RETURN(qb_geometry_report(fdk->real, &fdk->grid, &text));
    cJSON *report = cJSON_Parse(text);
    cJSON_free(text);
    if (!report) return qb__fail(QB_NO_MEMORY, "no memory for the plan");
    cJSON_DeleteItemFromObject(report, "volume");
    cJSON_AddItemToObject(plan, "geometry", report);
    return QB_OK;
}

/* Slices without any measured value, or with less than half of them: a gap between detector modules, dead rows. */

static bool all_lost(const bool *lost_rows, size_t row, size_t end) {
    while (row < end && lost_rows[row]) row++;
    return row == end;
}

/* Rows of a resampled detector are interpolated: they count as lost if all rows that they read are lost. */
static bool is_lost(const qb__fdk *fdk, size_t z) {
    const double MOST = 0.5;
    const bool *lost_rows = fdk->scan->lost_rows;
    size_t first, end;
    qb__fdk_rows(fdk, z, 1, &first, &end); /* also finds the range */
    if (all_lost(lost_rows, first, end)) return true;
    return !fdk->resampled && qb__reach_share(fdk->reach[fdk->region.first[2] + z], lost_rows, fdk->info->rows) >= MOST;
}

qb_status qb__fdk_find_lost(qb__fdk *fdk) {
    size_t lost = 0;
    if (!fdk->scan->lost_rows) return QB_OK;
    const qb_status status = qb__alloc(fdk->grid.n[2], sizeof *fdk->lost, &fdk->lost);
    for (size_t z = 0; status == QB_OK && z < fdk->grid.n[2]; z++) lost += fdk->lost[z] = is_lost(fdk, z);
    if (lost) return status;
    qb__free(fdk->lost);
    fdk->lost = NULL;
    return status;
}
