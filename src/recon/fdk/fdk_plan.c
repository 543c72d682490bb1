/* SPDX-License-Identifier: MIT */
/* The plan of a cone-beam reconstruction: grid, weights, kernel, slabs, blocks of views, forecast. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "geometry/check.h"
#include "geometry/circle.h"
#include "geometry/matrix.h"
#include "geometry/roll.h"
#include "job/job.h"
#include "planner/device_select.h"
#include "recon/fdk/fdk.h"

static const double degrees = 57.29577951308232;

static qb_status check_shapes(const qb__fdk *fdk) {
    const qb_geometry *g = fdk->real;
    const qb_scan_info *info = fdk->info;
    if (info->beam == QB_BEAM_PARALLEL)
        return qb__fail(QB_BAD_INPUT, "%s states that its beam is parallel: use qb fbp", info->path);
    if (g->beam == QB_BEAM_PARALLEL)
        return qb__fail(
            QB_BAD_INPUT,
            "the geometry is of a parallel beam, and qb fdk is for cones: use qb fbp -g with the same file");
    if (g->views == info->views && g->rows == info->rows && g->columns == info->columns) return QB_OK;
    return qb__fail(QB_BAD_INPUT, "the geometry has %zu views of %zu x %zu pixels, %s has %zu of %zu x %zu", g->views,
                    g->rows, g->columns, info->path, info->views, info->rows, info->columns);
}

static qb_status decide_grid(qb__fdk *fdk, const qb_env *env, qb__decision *decision) {
    const qb_fdk_options *options = fdk->options;
    qb_grid *grid = &fdk->grid;
    qb_grid_options asked = {.struct_size = sizeof asked,
                             .size = options->size,
                             .voxel = options->voxel,
                             .voxels = options->voxels,
                             .offset = options->offset,
                             .like = options->like};
    size_t first = 0;
    qb_grid_default(fdk->real, grid);
    qb__grid_report_height(grid, &asked, env);
    qb_status status = qb_grid_make(&asked, grid);
    if (status == QB_OK && options->hu > 0 && !(1000.0 / options->hu < 1e30))
        status = qb__fail(QB_BAD_ARGUMENT, "--hu %g makes numbers that no float holds: it is in 1/mm", options->hu);
    /* Check the whole volume: a requested part of it may lie where no view sees it. */
    if (status == QB_OK) status = qb_geometry_check_grid(fdk->real, grid);
    const double apart = grid->voxel[2];
    if (status == QB_OK) status = qb_grid_slices(options->slices, grid, &first);
    if (status != QB_OK) return status;
    QB__OR_RETURN(qb__grid_region_take(options->region, 3, grid, &fdk->region));
    first += fdk->region.first[2];
    fdk->middle = first + grid->n[2] / 2 * (size_t)lround(grid->voxel[2] / apart);
    decision->grid = options->grid ? options->grid : "auto";
    decision->hu = options->hu;
    decision->row1 = fdk->info->rows;
    decision->subject.grid = *grid;
    decision->mask = &fdk->mask;
    decision->subject.units = qb__volume_units(options->hu, true);
    decision->stack = (qb_stack){.shape = {grid->n[2], grid->n[1], grid->n[0]},
                                 .voxel = {grid->voxel[0], grid->voxel[1], grid->voxel[2]},
                                 .offset = {grid->offset[0], grid->offset[1], grid->offset[2]},
                                 .units = decision->subject.units,
                                 .quantity = options->hu > 0 ? "Hounsfield" : "attenuation",
                                 .first = first,
                                 .description = "quickbeam FDK"};
    return QB_OK;
}

static const char *redundancy_name(qb_redundancy kind) {
    static const char *const names[] = {"none (full turn)", "Parker (short scan)", "Wang (offset detector)",
                                        "opposite rays and neighbours (gaps)"};
    return names[kind];
}

/* Rows must be level before they are filtered: a rolled detector is resampled, and a curved one is resampled to a flat
 * one. */
static qb_status decide_detector(qb__fdk *fdk, const qb_env *env, cJSON *plan) {
    const qb_geometry *real = fdk->real;
    const double MOST = 20; /* largest roll in degrees; at 10 degrees the values are 2 % off */
    double drift = qb__virtual_detector_drift(real);
    qb_resample wish = fdk->options->resample;
    if (real->radius > 0 && wish == QB_RESAMPLE_NEVER)
        return qb__fail(QB_BAD_ARGUMENT,
                        "a curved detector of radius %g mm must be resampled: leave --resample never out",
                        real->radius);
    const double turn = qb__panel_of(real).turn;
    if (wish == QB_RESAMPLE_NEVER && turn > MOST)
        return qb__fail(QB_BAD_ARGUMENT,
                        "the detector is turned by %.4g degrees in its plane: its rows cannot be filtered as they are: "
                        "leave --resample never out",
                        turn);
    fdk->resampled = wish == QB_RESAMPLE_ALWAYS || (wish == QB_RESAMPLE_AUTO && qb__virtual_detector_wanted(real));
    cJSON_AddBoolToObject(plan, "resampled", fdk->resampled);
    if (!fdk->resampled) return QB_OK;
    QB__OR_RETURN(qb__virtual_detector_create(real, &fdk->virtual_detector));
    QB__OR_RETURN(qb__resampler_create(&fdk->resampler));
    fdk->geometry = &fdk->virtual_detector.geometry;
    double shape[] = {(double)fdk->geometry->rows, (double)fdk->geometry->columns};
    cJSON_AddItemToObject(plan, "upright_rows_columns", cJSON_CreateDoubleArray(shape, 2));
    qb__info(env, "views are resampled to a virtual flat detector of %zu x %zu pixels (rows drift by %.3g pixels%s)",
             fdk->geometry->columns, fdk->geometry->rows, drift, real->radius > 0 ? ", curved" : "");
    return QB_OK;
}

static qb_status decide_weights(qb__fdk *fdk, const qb_env *env, cJSON *plan) {
    const qb_grid *grid = &fdk->grid;
    double field = qb__grid_field(&fdk->region.whole);
    qb_geometry_info info = {.struct_size = sizeof info};
    qb__circle circle;
    QB__OR_RETURN(qb_geometry_describe(fdk->real, &info));
    QB__OR_RETURN(qb__fdk_check_path(fdk->real, &info, fdk->options->force, env));
    QB__OR_RETURN(qb__circle_fit(fdk->geometry, &circle));
    QB__OR_RETURN(
        qb__cone_weights_virtual(fdk->geometry, fdk->real, field, fdk->options->angle_weights, &fdk->weights));
    fdk->circular = circle.error <= 1e-3;
    fdk->same_weights =
        fdk->circular && (fdk->weights.kind == QB_REDUNDANCY_NONE || fdk->weights.kind == QB_REDUNDANCY_WANG);
    fdk->width = fdk->weights.before + fdk->geometry->columns + fdk->weights.after;
    qb__info(env, "views cover %.2f degrees; redundancy weights: %s", fdk->weights.span * degrees,
             redundancy_name(fdk->weights.kind));
    qb__fdk_warn_doubt(fdk->real, &info, env);
    if (info.field_radius > 0 && field > 1.1 * info.field_radius)
        qb__warn(env,
                 "the volume reaches %.4g mm from the axis, all views see only %.4g: its rim is incomplete" QB__CODE(
                     "outside-field"),
                 field, info.field_radius);
    qb__fov_cone(fdk->real, info.field_radius, info.weights == QB_REDUNDANCY_WANG, &fdk->mask.fov);
    qb__fdk_report_outside(fdk, &info, env, plan);
    qb__fdk_warn_narrow(&info, fdk->options, grid, env);
    QB__OR_RETURN(qb__fdk_check_coverage(fdk->geometry, &fdk->weights, fdk->options->allow_limited, env));
    cJSON_AddStringToObject(plan, "redundancy", redundancy_name(fdk->weights.kind));
    cJSON_AddNumberToObject(plan, "coverage_deg", fdk->weights.span * degrees);
    cJSON_AddNumberToObject(plan, "missing_deg", fdk->weights.missing * degrees);
    cJSON_AddNumberToObject(plan, "magnification", info.magnification);
    cJSON_AddNumberToObject(plan, "field_of_view_radius_mm", info.field_radius);
    cJSON_AddBoolToObject(plan, "circular", info.circular);
    return QB_OK;
}

/* Columns of filtered rows begin `before` columns to the left of the detector. */
static qb_status decide_matrices(qb__fdk *fdk) {
    size_t views = fdk->geometry->views;
    qb__matrix *matrices = NULL;
    qb_status status;
    QB__TRY(qb__alloc(views, sizeof *matrices, &matrices));
    QB__TRY(qb__alloc(views, sizeof *fdk->matrix, &fdk->matrix));
    QB__TRY(qb__matrices_on_grid(fdk->geometry, &fdk->region.whole, matrices));
    for (size_t v = 0; v < views; v++) {
        for (int j = 0; j < 4; j++) {
            fdk->matrix[v][j] = matrices[v].m[0][j] + (double)fdk->weights.before * matrices[v].m[2][j];
            fdk->matrix[v][4 + j] = matrices[v].m[1][j];
            fdk->matrix[v][8 + j] = matrices[v].m[2][j];
        }
        if (fdk->plane) qb__fdk_turn_matrix(fdk->plane, fdk->matrix[v]);
    }
    const size_t *n = fdk->region.whole.n;
    fdk->problem = (qb__bp_cone_problem){.views = views,
                                         .columns = fdk->width,
                                         .rows = fdk->geometry->rows,
                                         .nx = fdk->plane ? fdk->plane->points : n[0],
                                         .ny = fdk->plane ? fdk->plane->lines : n[1],
                                         .nz = fdk->plane ? 1 : n[2],
                                         .matrix = (const double(*)[12])fdk->matrix};
    if (qb__cone_circle_of(&fdk->problem, &fdk->circle)) fdk->problem.circle = &fdk->circle;
    fdk->pairable = fdk->problem.circle && fdk->circle.mirrored && fdk->circle.halves == 2 &&
                    fdk->problem.nz % 2 == 0 && fdk->circle.z[0] + fdk->circle.z[1] == (int64_t)fdk->problem.nz - 1;
out:
    qb__free(matrices);
    return status;
}

/* Replace the grid by that of the plane, once the weights are decided. */
static qb_status take_plane(qb__fdk *fdk, qb__decision *decision) {
    const qb_tool_plane *plane = fdk->plane;
    if (!(qb__bp_cone_nearest(&fdk->problem) > 0))
        return qb__fail(QB_BAD_ARGUMENT, "a part of this plane lies behind the source of a view: turn the plane");
    const size_t n[3] = {plane->points, plane->lines, 1};
    for (int i = 0; i < 3; i++) fdk->grid.n[i] = n[i], decision->stack.shape[2 - i] = n[i];
    decision->subject.grid = fdk->grid;
    fdk->mask = (qb__mask){.used = false};
    return QB_OK;
}

qb__question qb__fdk_question(const qb__fdk *fdk) {
    return (qb__question){.operation = QB__BP_CONE,
                          .problem = &fdk->problem,
                          .slices = 1,
                          .accuracy = fdk->options->accuracy,
                          .id = fdk->options->kernel};
}

qb_status qb__fdk_kernel_of_cpu(const qb__fdk *fdk) {
    const qb__question question = qb__fdk_question(fdk);
    qb__choice choice;
    return qb__choose(&question, &choice);
}

/* Choose the CPU's kernel also if the user names a device's kernel: the table of CPU kernels is part of every plan. */
static qb_status decide_kernel(qb__fdk *fdk, cJSON *plan) {
    qb__question question = qb__fdk_question(fdk);
    qb__choice choice;
    if (question.id && qb__kernel_of_device(question.id)) question.id = NULL;
    qb__report_why(&question, plan);
    QB__OR_RETURN(qb__choose(&question, &choice));
    fdk->variant = (const qb__bp_cone_variant *)choice.variant;
    return qb__filter_create(fdk->options->filter, fdk->options->pad, fdk->width, fdk->weights.pitch, &fdk->filter);
}

/* If ranks share slices on devices whose kernels use the mirror symmetry, each rank gets slices on both sides of the
 * middle: rank 0 those next to the middle, the last rank those farthest from it. Kernels of class high do not use the
 * symmetry, and need fewer rows for slices of one side. If there are many slices, shares are whole tiles of such a
 * kernel. */
static void decide_pairs(qb__fdk *fdk, const qb_env *env, qb__decision *decision) {
    const size_t ranks = (size_t)qb__comm_count(qb__comm_of(env));
    fdk->paired = ranks > 1 && fdk->alone && fdk->pairable && fdk->options->accuracy != QB_ACCURACY_HIGH;
    if (!fdk->paired) return;
    decision->grain = 64;
    while (decision->grain > 2 && fdk->grid.n[2] / (decision->grain * ranks) < 8) decision->grain /= 2;
}

static void describe_angles(const qb__fdk *fdk, char *text, size_t size) {
    snprintf(text, size, "%zu views over %.2f degrees; redundancy weights: %s", fdk->info->views,
             fdk->weights.span * degrees, redundancy_name(fdk->weights.kind));
}

qb_status qb__fdk_decide(const qb__task *task, void *plan, const qb_env *env, cJSON *json, qb__decision *decision) {
    qb__fdk *fdk = plan;
    fdk->task = task;
    fdk->scan = task->scan;
    fdk->info = task->info;
    fdk->options = task->options;
    fdk->prep = task->prep;
    fdk->real = fdk->geometry = task->more;
    fdk->alone = qb__device_is_asked(env);
    QB__OR_RETURN(qb__geometry_check(fdk->real));
    QB__OR_RETURN(check_shapes(fdk));
    if (fdk->options->region && qb__comm_count(qb__comm_of(env)) > 1)
        return qb__fail(QB_UNSUPPORTED, "--region is for one process: leave it or the launcher out");
    QB__OR_RETURN(qb__check_turning(fdk->real));
    QB__OR_RETURN(decide_grid(fdk, env, decision));
    QB__OR_RETURN(
        qb__mask_of(fdk->options->outside, fdk->options->circle, task->output->dtype, &fdk->grid, &fdk->mask));
    QB__OR_RETURN(qb__fdk_windows(fdk, env));
    QB__OR_RETURN(decide_detector(fdk, env, json));
    QB__OR_RETURN(decide_weights(fdk, env, json));
    QB__OR_RETURN(decide_matrices(fdk));
    if (fdk->plane) QB__OR_RETURN(take_plane(fdk, decision));
    QB__OR_RETURN(decide_kernel(fdk, json));
    QB__OR_RETURN(qb__fdk_find_lost(fdk));
    decision->lost = fdk->lost;
    decide_pairs(fdk, env, decision);
    qb__fdk_report_rows(fdk, env);
    describe_angles(fdk, decision->angles, sizeof decision->angles);
    QB__OR_RETURN(qb__fdk_describe_geometry(fdk, json));
    QB__OR_RETURN(qb__truncation_of(fdk->real, &decision->ends.ends));
    decision->turn = (qb__turn_asked){.geometry = fdk->real};
    decision->pad = fdk->options->pad;
    qb__truncation_check_pad(fdk->options->filter, fdk->options->pad, &decision->ends);
    if (fdk->weights.offset && !fdk->weights.sided)
        qb__truncation_check_turn(fdk->weights.span * degrees, &decision->ends);
    decision->resume = fdk->options->resume;
    decision->checkpoint = fdk->options->checkpoint;
    return QB_OK;
}

qb_status qb__fdk_decide_plane(const qb__task *task, void *plan, const qb_env *env, cJSON *json,
                               qb__decision *decision) {
    ((qb__fdk *)plan)->plane = ((const qb__fdk_given *)task->more)->plane;
    return qb__fdk_decide(task, plan, env, json, decision);
}

void qb__fdk_release(void *plan) {
    qb__fdk *fdk = plan;
    qb__cone_weights_destroy(&fdk->weights);
    qb__filter_destroy(fdk->filter);
    qb__virtual_detector_destroy(&fdk->virtual_detector);
    qb__resampler_destroy(fdk->resampler);
    QB__FREE(fdk->window, fdk->half, fdk->came, fdk->reach, fdk->lost, fdk->all, fdk->run, fdk->runs, fdk->edge,
             fdk->matrix);
}
