/* SPDX-License-Identifier: MIT */
/* The plan of an iterative reconstruction: geometry, axis, grid, projector, forecast. */
#include <math.h>
#include <stdio.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/warning.h"
#include "center/center.h"
#include "geometry/check.h"
#include "geometry/circle.h"
#include "geometry/grid.h"
#include "geometry/parallel.h"
#include "io/scan/scan.h"
#include "ops/project.h"
#include "planner/device_select.h"
#include "recon/iterative/iterative.h"

size_t qb__iterative_unknowns(const qb__iterative *it) { return it->grid.n[0] * it->grid.n[1] * it->grid.n[2]; }

size_t qb__iterative_equations(const qb__iterative *it) { return it->info->views * it->info->rows * it->info->columns; }

/* The least length of a ray between two neighbouring planes of voxels: the shortest side of a voxel. */
double qb__iterative_crossing(const qb__iterative *it) {
    const double *voxel = it->grid.voxel;
    return fmin(voxel[0], fmin(voxel[1], voxel[2]));
}

size_t qb__iterative_line_vectors(const qb__iterative *it) {
    return it->solver->equations + it->more_lines + (it->options->nonneg ? it->solver->equations_nonneg : 0);
}

size_t qb__iterative_unknown_vectors(const qb__iterative *it) { return it->solver->unknowns + it->more_unknowns; }

double qb__iterative_passes(const qb__iterative *it) {
    const int most = it->options->iterations, usual = it->solver->usual;
    return (usual && usual < most ? usual : most) * it->solver->passes_each + it->solver->passes_before;
}

/* ---- geometry ---- */

/* The column of the axis; the middle of the detector until a finder has found it. */
static qb_status decide_center(qb__iterative *it, const qb_env *env) {
    qb__center_report(it->options->center, it->info, env);
    if (!it->looked) return qb__center_asked(it->options->center, it->info, &it->center);
    it->center = it->found;
    return QB_OK;
}

/* Without the full range of angles many volumes fit the data. Which one is found depends on the method. */
static qb_status tell_limited(const qb_scan_info *info, const qb_env *env) {
    qb__angle_report report;
    double *weights;
    qb_status status = qb__alloc(info->views, sizeof *weights, &weights);
    if (status == QB_OK) status = qb__angle_weights(info->views, info->angles, weights, &report);
    qb__free(weights);
    if (status == QB_OK) qb__warn_limited(report.coverage, 180, env);
    return status;
}

static qb_status make_parallel(qb__iterative *it, const qb_env *env) {
    const qb_scan_info *info = it->info;
    const double pixel = info->pixel_size > 0 ? info->pixel_size : 1;
    if (!info->angles) return qb__scan_lacks_angles(info);
    qb_status status = decide_center(it, env);
    if (status == QB_OK) status = tell_limited(info, env);
    if (status != QB_OK) return status;
    qb__scan_warn_pixel(info, env);
    const double center = isnan(it->center) ? ((double)info->columns - 1) / 2 : it->center;
    status = qb_geometry_parallel(info->views, info->angles, info->rows, info->columns, pixel, center, &it->own);
    if (status == QB_OK && info->pixel_size > 0) qb__parallel_set_rows(&it->own, info->pixel_v);
    it->geometry = &it->own;
    return status;
}

static qb_status decide_geometry(qb__iterative *it, const qb_geometry *given, const qb_env *env) {
    const qb_scan_info *info = it->info;
    if (!given) return make_parallel(it, env);
    it->geometry = given;
    it->center = 0; /* no axis to find */
    QB__OR_RETURN(qb__geometry_check(given));
    qb__warn_geometry(given, env);
    if (given->views == info->views && given->rows == info->rows && given->columns == info->columns) return QB_OK;
    return qb__fail(QB_BAD_INPUT, "the geometry has %zu views of %zu x %zu pixels, %s has %zu of %zu x %zu",
                    given->views, given->rows, given->columns, info->path, info->views, info->rows, info->columns);
}

qb_status qb__iterative_begin(void *plan, const qb_env *env, cJSON *report, bool *anew) {
    qb__iterative *it = plan;
    if (!isnan(it->center)) return QB_OK;
    const qb_center_options options = {.method = it->options->center};
    QB__OR_RETURN(qb__center_seek(it->scan, it->prep, &options, env, report, &it->found));
    *anew = it->looked = true;
    return QB_OK;
}

/* ---- grid ---- */

/* The default grid. If a full turn has the axis near one side, the grid is as wide as what was measured, as in qb fbp.
 * With a geometry of the caller the grid stays as wide as the detector, with the same warning as in qb fdk. */
static qb_status usual_grid(const qb__iterative *it, bool chosen, const qb_env *env, qb_grid *grid) {
    const qb_scan_info *info = it->info;
    qb__half_fan fan;
    char text[256];
    qb_grid_default(it->geometry, grid);
    if (it->geometry != &it->own) {
        qb_geometry_info about = {.struct_size = sizeof about};
        if (!chosen && qb_geometry_describe(it->geometry, &about) == QB_OK &&
            qb__grid_narrow(&about, grid, text, sizeof text))
            qb__warn(env, "%s", text);
        return QB_OK;
    }
    qb_status status = qb__half_fan_of_views(info->views, info->angles, info->columns, it->center, it->center, &fan);
    if (status != QB_OK || !fan.used) return status;
    grid->n[0] = grid->n[1] = qb__half_fan_width(&fan);
    qb__half_fan_report(&fan, it->center, text, sizeof text);
    if (!chosen) qb__info(env, "%s", text);
    return QB_OK;
}

/* With larger voxels than usual, take fewer slices, because slices above and below the detector would stay empty. In x
 * and y the number stays, because the object may be wider than the detector. */
static void keep_height(const qb_grid_options *asked, double usual, size_t slices, qb_grid *grid) {
    const double ROUNDING = 1e-6;
    const double n = ceil((double)slices * usual / grid->voxel[2] - ROUNDING);
    if (asked->size.count < 3 && !asked->like && n < (double)grid->n[2]) grid->n[2] = (size_t)fmax(n, 1);
}

static qb_status decide_grid(qb__iterative *it, const qb_env *env, qb__decision *decision) {
    const qb_iterative_options *options = it->options;
    const bool in_mm = it->geometry != &it->own || it->info->pixel_size > 0;
    const qb_grid_options asked = {.struct_size = sizeof asked,
                                   .size = options->size,
                                   .voxel = options->voxel,
                                   .voxels = options->voxels,
                                   .offset = options->offset,
                                   .like = options->like};
    qb_grid *grid = &it->asked;
    qb_status status =
        usual_grid(it, asked.size.count || asked.voxel > 0 || asked.voxels.count || asked.like, env, grid);
    if (status == QB_OK) {
        const double usual = grid->voxel[2];
        const size_t slices = grid->n[2];
        qb__grid_report_height(grid, &asked, env);
        status = qb_grid_make(&asked, grid);
        if (status == QB_OK) keep_height(&asked, usual, slices, grid);
    }
    if (status == QB_OK && options->hu > 0 && !in_mm)
        status = qb__fail(QB_BAD_INPUT, "--hu needs the size of a pixel in mm: give --pixel-size");
    if (status == QB_OK) status = qb_geometry_check_grid(it->geometry, grid);
    if (status != QB_OK) return status;
    decision->hu = options->hu;
    decision->row1 = it->info->rows;
    decision->keep_lost = true;
    decision->slices_are_rows = it->geometry == &it->own && grid->n[2] == it->info->rows && !asked.like &&
                                !asked.offset.count && !(asked.voxel > 0);
    decision->subject.grid = *grid;
    decision->subject.units = qb__volume_units(options->hu, in_mm);
    decision->stack = (qb_stack){.shape = {grid->n[2], grid->n[1], grid->n[0]},
                                 .units = decision->subject.units,
                                 .quantity = options->hu > 0 ? "Hounsfield" : "attenuation",
                                 .description = "quickbeam, iterative"};
    for (int j = 0; in_mm && j < 3; j++) {
        decision->stack.voxel[j] = grid->voxel[j];
        decision->stack.offset[j] = grid->offset[j];
    }
    return QB_OK;
}

/* Move the ends of a grid by these numbers of slices. */
static qb_grid extended(const qb_grid *grid, double before, double after) {
    qb_grid out = *grid;
    out.offset[2] += 0.5 * (after - before) * grid->voxel[2];
    out.n[2] = (size_t)((double)grid->n[2] + before + after);
    return out;
}

/* A rank without slices has one that belongs to a neighbour. */
static void add_beyond(qb__iterative *it) {
    const size_t slices = it->asked.n[2];
    size_t first = 0, count = slices;
    qb__iterative_find_beyond(it, &it->asked, it->ends);
    it->whole = extended(&it->asked, (double)it->ends[0], (double)it->ends[1]);
    if (qb__iterative_shares_slices(it)) qb__cut_rank(slices, 1, (int)it->ranks, (int)it->rank, &first, &count);
    it->slices = (qb__run){first, first + count};
    it->neighbour[0] = first > 0;
    it->neighbour[1] = count > 0 && first + count < slices;
    it->beyond[0] = first > 0 ? 1 : it->ends[0];
    it->beyond[1] = it->neighbour[1] ? 1 : count > 0 ? it->ends[1] : 0;
    it->grid = extended(&it->asked, (double)it->beyond[0] - (double)first,
                        (double)it->beyond[1] - (double)(slices - it->slices.end));
}

/* ---- all together ---- */

/* Warn if slices have the pitch of the rows but lie half way between them. Each row then sees the mean of two slices,
 * and no row sees what alternates from slice to slice. */
static void check_rows(const qb__iterative *it, const qb_env *env) {
    const qb_grid *grid = &it->asked;
    /* limit in detector rows: with a larger shift between views, other views see what one view misses */
    const double MOVES = 0.2;
    qb__wander wander;
    const double x = 0.5 * (double)(grid->n[0] - 1), y = 0.5 * (double)(grid->n[1] - 1);
    const double z = floor(0.5 * (double)it->grid.n[2]);
    double at[3], next[3];
    if (it->info->rows < 2) return;
    if (qb__circle_wander(it->geometry, &wander) != QB_OK || !(wander.rows < MOVES)) return;
    qb__matrix_apply(&it->projector->matrices[0], x, y, z, at);
    qb__matrix_apply(&it->projector->matrices[0], x, y, z + 1, next);
    const double row = at[1] / at[2], apart = next[1] / next[2] - row, off = row - floor(row + 0.5);
    if (!(fabs(fabs(apart) - 1) < 0.02 && fabs(off) > 0.1)) return;
    const double height = grid->offset[2] - off / apart * grid->voxel[2];
    if (fabs(fabs(off) - 0.5) < 0.02)
        qb__warn(env,
                 "slices lie half way between detector rows and can alternate: give --size %zu,%zu,%zu" QB__CODE(
                     "slices-between-rows"),
                 grid->n[0], grid->n[1], grid->n[2] + 1);
    else
        qb__warn(env,
                 "slices lie %.2g of a row from the detector rows and can alternate: give --offset %g,%g,%g" QB__CODE(
                     "slices-between-rows"),
                 fabs(off), grid->offset[0], grid->offset[1], fabs(height) < 1e-6 * grid->voxel[2] ? 0 : height);
}

/* Devices add views in blocks of this size. CPUs, and ranks that share the slices, give the same bits with any division
 * of the views. */
static size_t view_grain_of(const qb__iterative *it, const qb_env *env) {
    return qb__device_is_asked(env) && !qb__iterative_shares_slices(it) ? QB__JOSEPH_VIEWS : 1;
}

qb_status qb__iterative_decide(const qb__solver *solver, const qb__task *task, void *plan, const qb_env *env,
                               cJSON *json, qb__decision *decision) {
    qb__iterative *it = plan;
    it->solver = solver;
    it->scan = task->scan;
    it->info = task->info;
    it->options = task->options;
    it->prep = task->prep;
    it->ranks = (size_t)qb__comm_count(qb__comm_of(env));
    it->rank = (size_t)qb__comm_rank(qb__comm_of(env));
    it->view_grain = view_grain_of(it, env);
    decision->view_grain = it->view_grain;
    decision->summed = true;
    decision->shares_slices = qb__iterative_shares_slices(it);
    QB__OR_RETURN(qb__iterative_regularisation(it->options, &(double){0}, &(double){0}));
    QB__OR_RETURN(decide_geometry(it, task->more, env));
    QB__OR_RETURN(decide_grid(it, env, decision));
    QB__OR_RETURN(qb__truncation_check_size(it->geometry, &it->asked, INFINITY, &decision->ends));
    if (it->alone || solver->loose_ends) qb__truncation_check_height(it->geometry, &it->asked, &decision->ends);
    add_beyond(it);
    decision->turn = (qb__turn_asked){.geometry = it->geometry};
    decision->axis_found = it->looked;
    if (solver->grain)
        QB__OR_RETURN(qb__iterative_order(it, solver->grain));
    else
        it->rays = it->geometry;
    QB__OR_RETURN(qb__projector_on_cpu(it->rays, &it->grid, qb__iterative_shares_slices(it), it->options->kernel, env,
                                       &it->projector));
    QB__OR_RETURN(qb__iterative_find_lost(it, &it->lost));
    decision->lost = it->lost;
    if (isnan(it->center)) decision->begin_seconds = qb__center_seconds(it->info, it->options->center, task->threads);
    check_rows(it, env);
    decision->more = qb__project_fixed_bytes(it->projector);
    cJSON_AddStringToObject(json, "beam", qb_beam_name(it->geometry->beam));
    if (it->geometry == &it->own && !isnan(it->center))
        cJSON_AddNumberToObject(json, "column", qb__column_whole(it->info, it->center));
    qb__info(env, "least squares of %zu line integrals in %zu voxels by %s, at most %d iterations%s",
             qb__iterative_equations(it), it->whole.n[0] * it->whole.n[1] * it->whole.n[2], solver->name,
             it->options->iterations, it->options->nonneg ? ", not below zero" : "");
    return QB_OK;
}

void qb__iterative_facts(void *plan, const qb__cut *cut, qb__job_facts *facts) {
    (void)cut;
    const qb__iterative *it = plan;
    qb__fact_number(facts, NULL, "line_integrals", (double)qb__iterative_equations(plan));
    if (it->ends[0]) qb__fact_number(facts, NULL, "slices_before", (double)it->ends[0]);
    if (it->ends[1]) qb__fact_number(facts, NULL, "slices_after", (double)it->ends[1]);
}

void qb__iterative_release(void *plan) {
    qb__iterative *it = plan;
    qb_projector_destroy(it->projector);
    qb_geometry_destroy(&it->own);
    qb_geometry_destroy(&it->ordered);
    QB__FREE(it->lost, it->order, it->place, it->subset, it->all_subset, it->shares);
    it->order = it->place = it->subset = it->all_subset = it->shares = NULL;
    it->lost = NULL;
    it->projector = NULL;
}

qb_status qb__iterative_open(void *plan, const qb__cut *cut) {
    ((qb__iterative *)plan)->cut = *cut;
    return QB_OK;
}
