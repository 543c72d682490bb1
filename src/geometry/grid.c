/* SPDX-License-Identifier: MIT */
#include "geometry/grid.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/warning.h"
#include "geometry/check.h"
#include "geometry/curve.h"
#include "geometry/units.h"

qb_status qb__grid_check(const qb_grid *grid) {
    size_t voxels;
    for (int j = 0; j < 3; j++) {
        if (grid->n[j] == 0)
            return qb__fail(QB_BAD_ARGUMENT, "an empty volume: %zu x %zu x %zu voxels", grid->n[0], grid->n[1],
                            grid->n[2]);
        if (!(grid->voxel[j] > 0 && isfinite(grid->voxel[j]) && isfinite(grid->offset[j])))
            return qb__fail(QB_BAD_ARGUMENT, "a voxel of %g mm, the volume %g mm off the middle: give a size above 0",
                            grid->voxel[j], grid->offset[j]);
    }
    if (!qb__mul(grid->n[0], grid->n[1], grid->n[2], &voxels) || voxels > SIZE_MAX / 64)
        return qb__fail(QB_BAD_ARGUMENT, "a volume of %zu x %zu x %zu voxels is too large", grid->n[0], grid->n[1],
                        grid->n[2]);
    return QB_OK;
}

qb_numbers qb__voxels(double one, const qb_numbers *each) {
    qb_numbers voxels = *each;
    if (voxels.count == 0 && one > 0) voxels = (qb_numbers){1, {one}};
    /* earlier versions had one number, with 0 for the default */
    if (voxels.count == 1 && voxels.value[0] == 0) voxels.count = 0;
    if (voxels.count != 1) return voxels;
    voxels.count = 3;
    voxels.value[1] = voxels.value[2] = voxels.value[0];
    return voxels;
}

qb_status qb__voxel_check(double given, double usual) {
    const double LARGE = 999, SMALL = 1e-6; /* factor of 1000: micrometres instead of mm */
    if (!(usual > 0) || (given < LARGE * usual && given > SMALL * usual)) return QB_OK;
    return qb__fail(QB_BAD_ARGUMENT, "--voxel %g mm: the scan's pixels make voxels of %g mm; are both in mm?", given,
                    usual);
}

qb_status qb__pixels(double one, const qb_numbers *each, double *pixel) {
    pixel[0] = pixel[1] = each->count > 0 ? each->value[0] : one;
    if (each->count > 1) pixel[1] = each->value[1];
    if (each->count > 2)
        return qb__fail(QB_BAD_ARGUMENT, "--pixel-size takes one number or two, U,V, not %d", each->count);
    for (int j = 0; j < 2; j++)
        if (pixel[j] > 0 && pixel[j] < 1e-9)
            return qb__fail(QB_BAD_ARGUMENT, "--pixel-size %g: must lie in 1e-9..1e6 mm, or be 0", pixel[j]);
    if (each->count == 2 && !(pixel[0] > 0 && pixel[1] > 0))
        return qb__fail(QB_BAD_ARGUMENT, "--pixel-size %g,%g: both must be more than 0", pixel[0], pixel[1]);
    return QB_OK;
}

double qb__grid_field(const qb_grid *grid) {
    double side = fmin((double)grid->n[0] * grid->voxel[0], (double)grid->n[1] * grid->voxel[1]);
    return 0.5 * side + hypot(grid->offset[0], grid->offset[1]);
}

bool qb__grid_narrow(const qb_geometry_info *info, const qb_grid *grid, char *text, size_t size) {
    const double field = qb__grid_field(grid);
    const bool one_side = info->field_radius > 1.001 * info->nearest * sin(info->narrow * M_PI / 180);
    if (!one_side || !(field < 0.99 * info->field_radius)) return false;
    snprintf(text, size,
             "the volume reaches %.4g mm from the axis, the detector to one side covers %.4g mm: --size %.0f takes it "
             "all in" QB__CODE("narrow-volume"),
             field, info->field_radius, ceil(2 * info->field_radius / grid->voxel[0]));
    return true;
}

void qb__grid_report_height(const qb_grid *usual, const qb_grid_options *asked, const qb_env *env) {
    if (usual->offset[2] == 0 || asked->like || asked->offset.count > 2) return;
    qb__info(
        env,
        "the detector looks past the plane of the source: the volume lies about z = %.5g mm (--offset X,Y,Z moves it)",
        usual->offset[2]);
}

/* The columns and rows that the box of a grid covers. */
typedef struct footprint {
    double column[2], row[2];
} footprint;

static footprint footprint_of(const qb__matrix *on_grid, const qb_grid *grid, const qb__curve *curve) {
    footprint s = {{INFINITY, -INFINITY}, {INFINITY, -INFINITY}};
    for (int corner = 0; corner < 8; corner++) {
        double p[3];
        qb__matrix_at_corner(on_grid, grid, corner, p);
        double column = p[0] / p[2], row = p[1] / p[2];
        if (curve) qb__curve_pixel(curve, &column, &row);
        /* Outside the cylinder a point has no column: it counts as outside on either side. */
        if (isnan(column)) s.column[0] = s.row[0] = -INFINITY, s.column[1] = s.row[1] = INFINITY;
        s.column[0] = fmin(s.column[0], column);
        s.column[1] = fmax(s.column[1], column);
        s.row[0] = fmin(s.row[0], row);
        s.row[1] = fmax(s.row[1], row);
    }
    return s;
}

static bool meets(const double range[2], size_t n) { return range[0] < (double)n && range[1] > -1; }

/* Largest distance from the axis of the rays to the detector's corners. */
static double reach(const qb_geometry *geometry) {
    double most = 0;
    for (size_t i = 0; i < geometry->views; i++) {
        for (int corner = 0; corner < 4; corner++) {
            double h = corner & 1 ? (double)geometry->columns - 0.5 : -0.5;
            double k = corner & 2 ? (double)geometry->rows - 0.5 : -0.5, p[3], d[3];
            qb__pixel_ray(geometry, i, h, k, p, d);
            most = fmax(most, fabs(p[0] * d[1] - p[1] * d[0]) / hypot(d[0], d[1]));
        }
    }
    return most;
}

/* The distance of a grid from the axis; 0 if the axis crosses it. */
static double distance(const qb_grid *grid) {
    double d[2];
    for (int j = 0; j < 2; j++) d[j] = fmax(0, fabs(grid->offset[j]) - 0.5 * (double)grid->n[j] * grid->voxel[j]);
    return hypot(d[0], d[1]);
}

static qb_status check_distance(const qb_geometry *geometry, const qb_grid *grid) {
    double away = distance(grid), seen = away > 0 ? reach(geometry) : 0;
    if (away <= seen) return QB_OK;
    return qb__fail(QB_BAD_INPUT,
                    "the volume begins %.6g mm from the axis, the views see %.6g mm around it: check "
                    "--offset, --voxel and the units of the geometry",
                    away, seen);
}

qb_status qb__grid_check_fov(const qb_geometry *geometry, const qb_grid *grid) {
    footprint first = {0};
    for (size_t i = 0; i < geometry->views; i++) {
        qb__matrix world, on_grid;
        qb_status status = qb__matrix_of_view(geometry->beam, &geometry->view[i], &world);
        if (status != QB_OK) return qb__fail_in(status, "view %zu", i);
        qb__matrix_on_grid(&world, grid, &on_grid);
        bool curved = geometry->radius > 0;
        qb__curve curve = curved ? qb__curve_of_view(geometry, i) : (qb__curve){0};
        footprint box = footprint_of(&on_grid, grid, curved ? &curve : NULL);
        if (i == 0) first = box;
        if (meets(box.column, geometry->columns) && meets(box.row, geometry->rows))
            return check_distance(geometry, grid);
    }
    return qb__fail(QB_BAD_INPUT,
                    "no view sees any of the volume: in view 0 it falls on columns %.5g to %.5g and "
                    "rows %.5g to %.5g of a detector of %zu x %zu; check --offset, --voxel and the "
                    "units of the geometry",
                    first.column[0], first.column[1], first.row[0], first.row[1], geometry->columns, geometry->rows);
}

/* Distance in mm of a point from the box of the voxels; negative inside. */
static double outside(const qb_grid *grid, const double point[3]) {
    double most = -INFINITY;
    for (int j = 0; j < 3; j++) {
        double half = 0.5 * (double)grid->n[j] * grid->voxel[j];
        most = fmax(most, fabs(point[j] - grid->offset[j]) - half);
    }
    return most;
}

static qb_status check_view(const qb_view *view, size_t number, const qb_grid *grid, const qb__matrix *on_grid) {
    double depth = outside(grid, view->source);
    if (depth <= 0)
        return qb__fail(
            QB_BAD_INPUT,
            "view %zu: the source is %.6g mm inside the volume: are all lengths in mm? Else give a smaller --size",
            number, -depth);
    for (int corner = 0; corner < 8; corner++) {
        double p[3];
        qb__matrix_at_corner(on_grid, grid, corner, p);
        if (!(p[2] > 0))
            return qb__fail(QB_BAD_INPUT,
                            "view %zu: a corner of the volume is behind the source (w = %.6g): are all lengths in mm? "
                            "Else give a smaller --size",
                            number, p[2]);
    }
    return QB_OK;
}

static qb_status matrix_checked(const qb_geometry *geometry, size_t view, const qb_grid *grid, qb__matrix *matrix) {
    qb__matrix world;
    qb_status status = qb__matrix_of_view(geometry->beam, &geometry->view[view], &world);
    if (status != QB_OK) return qb__fail_in(status, "view %zu", view);
    qb__matrix_on_grid(&world, grid, matrix);
    if (geometry->beam == QB_BEAM_PARALLEL) return QB_OK;
    return check_view(&geometry->view[view], view, grid, matrix);
}

qb_status qb__matrices_on_grid(const qb_geometry *geometry, const qb_grid *grid, qb__matrix *matrices) {
    qb_status status = QB_OK;
    for (size_t i = 0; i < geometry->views && status == QB_OK; i++)
        status = matrix_checked(geometry, i, grid, &matrices[i]);
    return status;
}

qb_status qb_geometry_check_grid(const qb_geometry *geometry, const qb_grid *grid) {
    QB__NEED(geometry);
    QB__NEED(grid);
    qb_status status = qb__geometry_check(geometry);
    if (status == QB_OK) status = qb__grid_check(grid);
    if (status == QB_OK) status = qb__geometry_check_units(geometry);
    qb__matrix matrix;
    for (size_t i = 0; i < geometry->views && status == QB_OK; i++) status = matrix_checked(geometry, i, grid, &matrix);
    return status == QB_OK ? qb__grid_check_fov(geometry, grid) : status;
}

/* Parse A:B at *at for n voxels; *at moves behind it. */
static bool read_range(const char **at, size_t n, size_t *first, size_t *end) {
    char *behind;
    if (**at < '0' || **at > '9') return false;
    *first = strtoull(*at, &behind, 10);
    if (*behind != ':' || behind[1] < '0' || behind[1] > '9') return false;
    *end = strtoull(behind + 1, &behind, 10);
    *at = behind;
    return *first < *end && *end <= n;
}

qb_status qb__grid_region_take(const char *text, int dimensions, qb_grid *grid, qb__grid_region *region) {
    const char *at = text;
    *region = (qb__grid_region){.asked = text != NULL, .whole = *grid};
    for (int i = 0; text && i < dimensions; i++) {
        size_t first, end;
        if ((i > 0 && *at++ != ',') || !read_range(&at, grid->n[i], &first, &end))
            return qb__fail(QB_BAD_ARGUMENT,
                            "--region %.60s: give %s, each within the volume's %zu x %zu x %zu voxels (x, y, z)", text,
                            dimensions == 3 ? "X0:X1,Y0:Y1,Z0:Z1" : "X0:X1,Y0:Y1", region->whole.n[0],
                            region->whole.n[1], region->whole.n[2]);
        const double middle = (double)first + 0.5 * (double)(end - first - 1);
        grid->offset[i] += (middle - 0.5 * ((double)grid->n[i] - 1)) * grid->voxel[i];
        grid->n[i] = end - first;
        region->first[i] = first;
    }
    if (text && *at)
        return qb__fail(QB_BAD_ARGUMENT, "--region %.60s: give %d ranges only%s", text, dimensions,
                        dimensions == 2 ? ", and --slices for z" : "");
    return QB_OK;
}

/* The part of a line's part part[0]..part[1] between -half and half of one axis. */
static void narrow(double at, double along, double half, double part[2]) {
    if (along == 0) {
        if (fabs(at) > half) part[1] = -INFINITY;
        return;
    }
    const double a = (-half - at) / along, b = (half - at) / along;
    part[0] = fmax(part[0], fmin(a, b));
    part[1] = fmin(part[1], fmax(a, b));
}

bool qb__ray_misses(const qb_geometry *geometry, size_t view, double column, double row, const qb_grid *grid,
                    double radius, bool flat) {
    double at[3], along[3], part[2] = {-INFINITY, INFINITY};
    qb__pixel_ray(geometry, view, column, row, at, along);
    for (int j = 0; j < (flat ? 2 : 3); j++) {
        at[j] -= grid->offset[j];
        narrow(at[j], along[j], ((double)grid->n[j] / 2 + 1) * grid->voxel[j], part);
    }
    const double far = fabs(at[0] * along[1] - at[1] * along[0]), length = hypot(along[0], along[1]);
    return part[0] > part[1] || far > (radius + fmax(grid->voxel[0], grid->voxel[1])) * length;
}
