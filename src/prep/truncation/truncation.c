/* SPDX-License-Identifier: MIT */
#include "prep/truncation/truncation.h"

#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "geometry/curve.h"
#include "geometry/circle.h"
#include "geometry/parallel.h"

/* Distance from the axis of the ray to a position of the middle row, towards ascending columns. */
static double lateral(const qb_geometry *g, size_t view, double column) {
    const double *u = g->view[view].u;
    double at[3], along[3];
    qb__pixel_ray(g, view, column, ((double)g->rows - 1) / 2, at, along);
    const double away = (at[0] * along[1] - at[1] * along[0]) / hypot(along[0], along[1]);
    return u[0] * along[1] - u[1] * along[0] < 0 ? -away : away;
}

static bool turns_fully(const qb_geometry *g, qb_status *status) {
    double *radians;
    bool full = false;
    *status = qb__alloc(g->views, sizeof *radians, &radians);
    if (*status != QB_OK) return false;
    for (size_t v = 0; v < g->views; v++) radians[v] = qb__view_angle(g->beam, &g->view[v]);
    *status = qb__turns_fully(g->views, radians, &full, NULL);
    qb__free(radians);
    return full;
}

qb_status qb__truncation_of(const qb_geometry *g, qb__truncation *ends) {
    const double last = (double)g->columns - 0.5, LEVEL = 2.75; /* rows are rotated by less than 20 degrees */
    double mean[2] = {0, 0}, most[2] = {0, 0};
    qb_status status = QB_OK;
    *ends = (qb__truncation){.count = {true, true}};
    for (size_t v = 0; v < g->views; v++) {
        const double *u = g->view[v].u, side[2] = {-lateral(g, v, -0.5), lateral(g, v, last)};
        if (!(hypot(u[0], u[1]) > LEVEL * fabs(u[2]))) {
            *ends = (qb__truncation){0};
            return QB_OK;
        }
        for (int i = 0; i < 2; i++) {
            mean[i] += side[i] / (double)g->views;
            most[i] = fmax(most[i], side[i]);
        }
    }
    /* The criterion is that of half fans in qb__half_fan_of() and qb__cone_weights. */
    const double least = g->beam == QB_BEAM_CONE ? 0.05 : fmax(0.05, 2 / (double)g->columns);
    const bool off = fabs(mean[0] - mean[1]) > least * (mean[0] + mean[1]) && turns_fully(g, &status);
    if (off) ends->count[mean[1] < mean[0]] = false;
    ends->reach = fmax(ends->count[0] ? most[0] : 0, ends->count[1] ? most[1] : 0);
    return status;
}

/* True if slices extend far enough beyond the field of view to hold what is cut off. */
static bool is_within(const qb__truncation *ends, const qb_grid *grid, double radius) {
    const double MORE = 1.2; /* with this reach most of what is cut off lies in voxels */
    double reach = radius;
    for (int j = 0; j < 2; j++) reach = fmin(reach, (double)grid->n[j] * grid->voxel[j] / 2 - fabs(grid->offset[j]));
    return reach > MORE * ends->reach;
}

void qb__truncation_check_pad(const char *filter, qb_pad pad, qb__truncation_check *asked) {
    if (pad == QB_PAD_TAPER || pad == QB_PAD_ELLIPSE || strncmp(filter, "none", 4) == 0) return;
    qb__print(asked->remedy, sizeof asked->remedy, "--pad ellipse");
}

void qb__truncation_check_turn(double covered, qb__truncation_check *asked) {
    if (asked->remedy[0])
        qb__print(
            asked->remedy, sizeof asked->remedy,
            "half acquisition needs 360 degrees of views, these cover %.4g: cgls or sirt with --size of the object",
            covered);
}

qb_status qb__truncation_check_size(const qb_geometry *geometry, const qb_grid *grid, double radius,
                                    qb__truncation_check *asked) {
    const double WIDER = 1.3; /* relative to the field of view */
    const qb_status status = qb__truncation_of(geometry, &asked->ends);
    if (status != QB_OK || is_within(&asked->ends, grid, radius)) return status;
    size_t n[2];
    for (int j = 0; j < 2; j++)
        n[j] = (size_t)ceil(2 * (WIDER * asked->ends.reach + fabs(grid->offset[j])) / grid->voxel[j]);
    qb__print(asked->remedy, sizeof asked->remedy, "--size %zu,%zu%s", n[0], n[1],
              isfinite(radius) ? " and no --roi" : "");
    return QB_OK;
}

void qb__truncation_check_height(const qb_geometry *geometry, const qb_grid *grid, qb__truncation_check *asked) {
    /* In half heights of the field of view at the axis: slices up to WITHIN already hold most of what is cut off; at
     * least TALLER is suggested. */
    const double WITHIN = 1.2, TALLER = 1.4;
    qb_geometry_info info = {.struct_size = sizeof info};
    if (geometry->beam != QB_BEAM_CONE || geometry->rows < 4 || qb_geometry_describe(geometry, &info) != QB_OK) return;
    const double radius = 0.5 * fmax((double)grid->n[0] * grid->voxel[0], (double)grid->n[1] * grid->voxel[1]);
    /* half the height of the field of view at the axis, mm */
    const double seen = 0.5 * (double)geometry->rows * info.pixel_v / info.sdd * info.sod;
    if ((double)grid->n[2] * grid->voxel[2] / 2 - fabs(grid->offset[2]) > WITHIN * seen) return;
    const double reach = fmax(TALLER * seen, 1.1 * seen * (1 + radius / info.sod)) + fabs(grid->offset[2]);
    size_t slices = (size_t)ceil(2 * reach / grid->voxel[2]);
    /* with an even number of rows slices must be even, else odd, so that slices lie at rows and not between them */
    slices += (slices + geometry->rows) % 2;
    qb__print(asked->columns, sizeof asked->columns, "--size %zu,%zu,%zu", grid->n[0], grid->n[1], slices);
}

static void note(const qb__truncation_check *asked, const qb__line_ends_cut *cut, cJSON *report) {
    static const char *const name[] = {"left", "right"};
    cJSON *json = report ? cJSON_AddObjectToObject(report, "wider_than_detector") : NULL;
    for (int side = 0; json && side < 2; side++)
        if (asked->ends.count[side]) cJSON_AddNumberToObject(json, name[side], cut->share[side]);
    if (json) cJSON_AddNumberToObject(json, "of_largest", fmax(cut->level[0], cut->level[1]));
}

/* Values that are not air may also come from an open beam that was not measured. */
void qb__truncation_warn_rows(const qb__truncation_check *asked, const qb__line_ends_cut *cut, const qb_env *env,
                              cJSON *report) {
    char where[160];
    const bool *count = asked->ends.count;
    const double left = 100 * cut->share[0], right = 100 * cut->share[1];
    if (count[0] && count[1])
        qb__print(where, sizeof where, "%.0f %% of rows do not end in air on the left (column 0), %.0f %% on the right",
                  left, right);
    else
        qb__print(where, sizeof where, "%.0f %% of rows do not end in air on the %s", count[0] ? left : right,
                  count[0] ? "left (column 0)" : "right");
    qb__warn(env,
             "%s, but at %.0f %% of the largest values: the object is wider than the detector (%s), or air does not "
             "read 0 (--flats, --air)" QB__CODE("row-ends"),
             where, 100 * fmax(cut->level[0], cut->level[1]), asked->remedy);
    note(asked, cut, report);
}

void qb__truncation_warn_columns(const qb__truncation_check *asked, unsigned held, const qb_env *env, cJSON *report) {
    qb__warn(
        env,
        "the object is taller than the detector (%s): the end slices are wrong by what is cut off; give %s" QB__CODE(
            "column-ends"),
        qb__column_ends_words(held), asked->columns);
    if (report)
        cJSON_AddStringToObject(report, "taller_than_detector",
                                held == 3   ? "both"
                                : held == 1 ? "first row"
                                            : "last row");
}
