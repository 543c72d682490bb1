/* SPDX-License-Identifier: MIT */
#include "quickbeam/geometry.h"

#include <math.h>

#include "base/caller.h"
#include "base/memory.h"
#include "base/status.h"
#include "geometry/check.h"
#include "geometry/circle.h"
#include "geometry/cone_weights.h"
#include "geometry/matrix.h"
#include "geometry/parallel.h"
#include "geometry/roll.h"
#include "geometry/vector.h"

static const double pi = 3.14159265358979323846;

static double degrees(double radians) { return radians * (180 / pi); }

static void describe_path(const qb_geometry *geometry, qb_geometry_info *info) {
    double low = INFINITY, high = -INFINITY;
    info->nearest = INFINITY;
    for (size_t i = 0; i < geometry->views; i++) {
        const double *source = geometry->view[i].source;
        double away = hypot(source[0], source[1]);
        low = fmin(low, source[2]);
        high = fmax(high, source[2]);
        info->nearest = fmin(info->nearest, away);
        info->farthest = fmax(info->farthest, away);
    }
    info->z_range = high - low;
}

static void from_circle(const qb_geometry *geometry, const qb__circle *circle, qb_geometry_info *info) {
    bool cone = geometry->beam == QB_BEAM_CONE;
    info->sod = circle->sod;
    info->sdd = circle->sdd;
    info->magnification = cone ? circle->sdd / circle->sod : 1;
    info->pixel_u = circle->pixel_u;
    info->pixel_v = circle->pixel_v;
    info->offset_u = (0.5 * ((double)geometry->columns - 1) - circle->column) * circle->pixel_u;
    info->offset_v = (0.5 * ((double)geometry->rows - 1) - circle->row) * circle->pixel_v;
    info->circular_error = circle->error;
    info->circular = circle->error <= 1e-3;
    if (cone) describe_path(geometry, info);
}

/* The range of z, on the line through (x, y) relative to the view, that all views see: `toward` the source. *middle may
 * be NULL. */
static double height_at(const qb_geometry *geometry, double toward, double *middle) {
    double low = -INFINITY, high = INFINITY;
    for (size_t i = 0; i < geometry->views; i++) {
        qb__matrix matrix;
        if (qb__matrix_of_view(geometry->beam, &geometry->view[i], &matrix) != QB_OK) return 0;
        double t = qb__view_angle(geometry->beam, &geometry->view[i]);
        double x = toward * sin(t), y = -toward * cos(t);
        double a = qb__matrix_z_of_row(&matrix, x, y, -0.5);
        double b = qb__matrix_z_of_row(&matrix, x, y, (double)geometry->rows - 0.5);
        low = fmax(low, fmin(a, b));
        high = fmin(high, fmax(a, b));
    }
    if (middle) *middle = 0.5 * (low + high);
    return fmax(0, high - low);
}

/* Distances from the axis to the limits of a parallel detector on both sides. */
static void parallel_sides(const qb_geometry *geometry, double *narrow, double *wide) {
    double low = INFINITY, high = INFINITY;
    for (size_t i = 0; i < geometry->views; i++) {
        const qb_view *view = &geometry->view[i];
        double side[3], z[3] = {0, 0, 1};
        qb__cross(view->source, z, side); /* (cos t, sin t, 0) */
        double first = qb__dot(view->detector, side) / qb__norm(side);
        double last = first + ((double)geometry->columns - 1) * qb__dot(view->u, side) / qb__norm(side);
        low = fmin(low, -fmin(first, last));
        high = fmin(high, fmax(first, last));
    }
    *narrow = fmax(0, fmin(low, high));
    *wide = fmax(low, high);
}

/* The field of view of a detector that is rotated in its plane: its sides limit z, and its first and last row the
 * radius. */
static void describe_turned(const qb_geometry *geometry, qb_geometry_info *info) {
    const bool either = geometry->beam == QB_BEAM_CONE && info->weights == QB_REDUNDANCY_WANG;
    double low, high;
    info->field_radius = qb__panel_radius(geometry, either);
    info->field_height = info->field_height_rim = info->field_z = 0;
    if (!qb__panel_heights(geometry, 0, either, &low, &high)) return;
    info->field_height = high - low;
    info->field_z = 0.5 * (low + high);
    if (qb__panel_heights(geometry, info->field_radius, either, &low, &high) && high - low > 1e-5 * info->field_height)
        /* smaller values are rounding errors: a panel on its corner sees a point there */
        info->field_height_rim = high - low;
}

static qb_status describe_parallel(const qb_geometry *geometry, qb_geometry_info *info) {
    double *angles = NULL, *weights = NULL, wide;
    qb__angle_report report;
    qb_status status;
    QB__TRY(qb__alloc(geometry->views, sizeof *angles, &angles));
    QB__TRY(qb__alloc(geometry->views, sizeof *weights, &weights));
    for (size_t i = 0; i < geometry->views; i++) angles[i] = qb__view_angle(geometry->beam, &geometry->view[i]);
    QB__TRY(qb__angle_weights(geometry->views, angles, weights, &report));
    info->coverage = report.coverage;
    info->gap = report.gap;
    info->gap_from = report.gap_from;
    info->gap_to = report.gap_to;
    info->missing = report.missing;
    info->repeated = report.repeated;
    info->needed = 180;
    info->step = report.missing > 0 ? report.gap - report.missing : 180 / (double)geometry->views;
    parallel_sides(geometry, &info->field_radius, &wide);
    info->field_height = info->field_height_rim = height_at(geometry, 0, &info->field_z);
    if (qb__panel_is_turned(geometry)) describe_turned(geometry, info);
out:
    QB__FREE(angles, weights);
    return status;
}

static qb_status describe_cone(const qb_geometry *geometry, double field, qb_geometry_info *info) {
    qb__cone_weights weights;
    QB__OR_RETURN(qb__cone_weights_create(geometry, field, &weights));
    info->weights = weights.kind;
    info->coverage = degrees(weights.span);
    info->step = degrees(weights.step);
    info->gap = degrees(weights.gap);
    info->gap_from = degrees(weights.gap_from);
    info->gap_to = degrees(weights.gap_from + weights.gap);
    info->needed = degrees(weights.needed);
    info->missing = degrees(weights.missing);
    info->repeated = weights.repeated;
    double narrow = fmin(-weights.gamma_low, weights.gamma_high);
    double wide = fmax(-weights.gamma_low, weights.gamma_high);
    info->narrow = degrees(narrow);
    info->wide = degrees(wide);
    info->field_radius = info->nearest * sin(weights.sided ? wide : narrow);
    info->field_height = height_at(geometry, 0, &info->field_z);
    info->field_height_rim = height_at(geometry, info->field_radius, NULL);
    if (qb__panel_is_turned(geometry)) describe_turned(geometry, info);
    qb__cone_weights_destroy(&weights);
    return QB_OK;
}

qb_status qb__geometry_describe(const qb_geometry *geometry, double field, qb_geometry_info *info) {
    *info = (qb_geometry_info){0};
    qb__circle circle;
    qb_status status = qb__geometry_check(geometry);
    if (status == QB_OK) status = qb__check_turning(geometry);
    if (status == QB_OK) status = qb__circle_fit(geometry, &circle);
    if (status != QB_OK) return status;
    from_circle(geometry, &circle, info);
    return geometry->beam == QB_BEAM_CONE ? describe_cone(geometry, field, info) : describe_parallel(geometry, info);
}

enum { FIRST_INFO = sizeof(qb_geometry_info) }; /* size of the first version */

qb_status qb_geometry_describe(const qb_geometry *geometry, qb_geometry_info *info) {
    QB__NEED(geometry);
    QB__NEED(info);
    qb_geometry_info found = {0};
    qb_status status = qb__result_check(info, FIRST_INFO, "qb_geometry_info");
    if (status == QB_OK) status = qb__geometry_describe(geometry, 0, &found);
    if (status == QB_OK) qb__result_give(&found, sizeof found, FIRST_INFO, info);
    return status;
}

/* For a detector that is rotated in its plane: its extent across and along the axis. Small rotations count as 0 or 90
 * degrees. */
static void size_by_panel(const qb_geometry *geometry, qb_grid *grid, double pitch[2]) {
    const double LITTLE = 10;
    const qb__panel panel = qb__panel_of(geometry);
    if (panel.turn < LITTLE || geometry->radius > 0) return;
    const bool on_side = panel.turn > 90 - LITTLE;
    grid->n[0] = grid->n[1] = on_side ? geometry->rows : (size_t)fmax(round(panel.across), 1);
    grid->n[2] = on_side ? geometry->columns : (size_t)fmax(round(panel.along), 1);
    if (on_side) {
        const double u = pitch[0];
        pitch[0] = pitch[1], pitch[1] = u;
    } else {
        pitch[0] = panel.pitch_across, pitch[1] = panel.pitch_along;
    }
}

/* Place the grid at the z that the detector's centre images, in whole voxels, if that is more than a quarter of the
 * height off the plane z = 0. */
static void place_by_panel(const qb_geometry *geometry, const qb__circle *circle, qb_grid *grid) {
    const double MOST = 0.25, STEEP = 0.5; /* more than 27 degrees off the plane is a mistake */
    double low, high;
    if (!(grid->voxel[2] > 0) || !qb__panel_heights(geometry, 0, false, &low, &high)) return;
    const double z = 0.5 * (low + high);
    if (!isfinite(z) || (geometry->beam == QB_BEAM_CONE && fabs(z - geometry->view[0].source[2]) > STEEP * circle->sod))
        return;
    if (fabs(z) > MOST * (double)grid->n[2] * grid->voxel[2])
        grid->offset[2] = round(z / grid->voxel[2]) * grid->voxel[2];
}

void qb_grid_default(const qb_geometry *geometry, qb_grid *grid) {
    qb__circle circle;
    if (!grid) return;
    if (!geometry) {
        *grid = (qb_grid){0};
        return;
    }
    *grid = (qb_grid){.n = {geometry->columns, geometry->columns, geometry->rows}};
    if (qb__circle_fit(geometry, &circle) != QB_OK) return;
    double pitch[2] = {circle.pixel_u, circle.pixel_v};
    size_by_panel(geometry, grid, pitch);
    double shrink = geometry->beam == QB_BEAM_CONE ? circle.sod / circle.sdd : 1;
    grid->voxel[0] = grid->voxel[1] = pitch[0] * shrink;
    grid->voxel[2] = pitch[1] * shrink;
    place_by_panel(geometry, &circle, grid);
}
