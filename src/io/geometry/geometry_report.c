/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/json.h"
#include "base/status.h"
#include "base/warning.h"
#include "geometry/check.h"
#include "geometry/grid.h"
#include "geometry/units.h"
#include "geometry/virtual_detector.h"

static void add_number(cJSON *root, const char *key, double value) {
    if (isfinite(value))
        cJSON_AddNumberToObject(root, key, value);
    else
        cJSON_AddNullToObject(root, key);
}

__attribute__((format(printf, 2, 3))) static void add_problem(cJSON *list, const char *format, ...) {
    char text[320];
    va_list arguments;
    va_start(arguments, format);
    qb__say(text, sizeof text, format, arguments);
    va_end(arguments);
    cJSON_AddItemToArray(list, cJSON_CreateString(text));
}

static const char *weights_name(const qb_geometry_info *info, qb_beam beam) {
    if (beam == QB_BEAM_PARALLEL) return "none";
    return info->weights == QB_REDUNDANCY_PARKER ? "parker"
           : info->weights == QB_REDUNDANCY_WANG ? "wang"
           : info->weights == QB_REDUNDANCY_GAPS ? "gaps"
                                                 : "none";
}

static const char *weights_text(const qb_geometry_info *info, qb_beam beam) {
    static const char *const texts[] = {
        "a full turn: every ray is measured twice and counts half",
        "Parker, for a short scan: rays measured twice share their weight smoothly",
        "Wang, for an offset detector: rays that both sides see share their weight smoothly",
        "for a scan with gaps: opposite rays make up for a gap where they were measured, else the neighbouring views"};
    return beam == QB_BEAM_PARALLEL ? "each view counts by its spacing" : texts[info->weights];
}

static void add_info(cJSON *root, const qb_geometry *geometry, const qb_geometry_info *info) {
    const struct {
        const char *key;
        double value;
    } numbers[] = {
        {"views", (double)geometry->views},
        {"rows", (double)geometry->rows},
        {"columns", (double)geometry->columns},
        {"sod_mm", info->sod},
        {"sdd_mm", info->sdd},
        {"magnification", info->magnification},
        {"pixel_u_mm", info->pixel_u},
        {"pixel_v_mm", info->pixel_v},
        {"offset_u_mm", info->offset_u},
        {"offset_v_mm", info->offset_v},
        {"detector_radius_mm", geometry->radius},
        {"circular_error_px", info->circular_error},
        {"row_drift_px", qb__virtual_detector_drift(geometry)},
        {"source_nearest_mm", info->nearest},
        {"source_farthest_mm", info->farthest},
        {"source_z_range_mm", info->z_range},
        {"field_radius_mm", info->field_radius},
        {"field_height_mm", info->field_height},
        {"field_z_mm", info->field_z},
        {"field_height_at_rim_mm", info->field_height_rim},
        {"coverage_degrees", info->coverage},
        {"needed_degrees", info->needed},
        {"missing_degrees", info->missing},
        {"step_degrees", info->step},
        {"largest_gap_degrees", info->gap},
        {"gap_from_degrees", info->gap_from},
        {"gap_to_degrees", info->gap_to},
        {"repeated_views", (double)info->repeated},
        {"fan_wide_degrees", info->wide},
        {"fan_narrow_degrees", info->narrow},
    };
    bool cone = geometry->beam == QB_BEAM_CONE;
    cJSON_AddStringToObject(root, "beam", cone ? "cone" : "parallel");
    cJSON_AddBoolToObject(root, "resampled", cone && qb__virtual_detector_wanted(geometry));
    cJSON_AddBoolToObject(root, "circular", info->circular);
    cJSON_AddStringToObject(root, "weights", weights_name(info, geometry->beam));
    cJSON_AddStringToObject(root, "weights_are", weights_text(info, geometry->beam));
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) add_number(root, numbers[i].key, numbers[i].value);
}

static void add_volume(cJSON *root, const qb_grid *grid) {
    double n[3] = {(double)grid->n[0], (double)grid->n[1], (double)grid->n[2]};
    cJSON *volume = cJSON_AddObjectToObject(root, "volume");
    cJSON_AddItemToObject(volume, "size", cJSON_CreateDoubleArray(n, 3));
    cJSON_AddItemToObject(volume, "voxel_mm", cJSON_CreateDoubleArray(grid->voxel, 3));
    cJSON_AddItemToObject(volume, "offset_mm", cJSON_CreateDoubleArray(grid->offset, 3));
}

static void find_angle_problems(const qb_geometry *geometry, const qb_geometry_info *info, cJSON *list) {
    if (info->missing > 0)
        add_problem(list,
                    "limited angle: %.4g of the %.5g degrees needed are missing, from %.5g to "
                    "%.5g degrees" QB__CODE("limited-angle"),
                    info->missing, info->needed, info->gap_from, info->gap_to);
    if (info->repeated > 0)
        add_problem(
            list,
            "%zu of %zu views are at the angle of an earlier one: they share its weight" QB__CODE("repeated-view"),
            info->repeated, geometry->views);
}

static void find_cone_problems(const qb_geometry *geometry, const qb_geometry_info *info, cJSON *list) {
    char doubt[256], unfit[256];
    if (qb__geometry_doubt(geometry, info, doubt, sizeof doubt)) add_problem(list, "%s", doubt);
    if (qb__few_views(geometry, info, doubt, sizeof doubt)) add_problem(list, "%s", doubt);
    if (info->weights == QB_REDUNDANCY_PARKER && info->wide > 1.1 * info->narrow)
        add_problem(list,
                    "the detector is off to one side (fan %.4g and %.4g degrees) but the scan is no full turn: only "
                    "the smaller side's field is complete" QB__CODE("offset-short-scan"),
                    info->wide, info->narrow);
    if (qb__path_unfit(geometry, info, unfit, sizeof unfit)) add_problem(list, "%s" QB__CODE("source-path"), unfit);
}

static void find_volume_problems(const qb_geometry *geometry, const qb_geometry_info *info, const qb_grid *grid,
                                 bool asked, cJSON *list) {
    double reach = qb__grid_field(grid);
    char steep[256];
    if (qb__path_steep(geometry, grid->offset, steep, sizeof steep)) add_problem(list, "%s", steep);
    if (qb_geometry_check_grid(geometry, grid) != QB_OK)
        add_problem(list, "%s", qb_detail());
    else if (asked && reach > 1.01 * info->field_radius)
        add_problem(list,
                    "the volume reaches %.5g mm from the axis, all views see only %.5g: its rim is "
                    "incomplete" QB__CODE("outside-field"),
                    reach, info->field_radius);
}

/* Remove values that depend on weights, because this geometry has no weights. */
static void forget_field(cJSON *root) {
    static const char *const keys[] = {
        "field_radius_mm",     "field_height_mm",    "field_z_mm",      "field_height_at_rim_mm",
        "coverage_degrees",    "needed_degrees",     "missing_degrees", "step_degrees",
        "largest_gap_degrees", "gap_from_degrees",   "gap_to_degrees",  "repeated_views",
        "fan_wide_degrees",    "fan_narrow_degrees", "weights",         "weights_are"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) cJSON_DeleteItemFromObject(root, keys[i]);
}

qb_status qb_geometry_report(const qb_geometry *geometry, const qb_grid *grid, char **json) {
    QB__NEED(geometry);
    QB__NEED(json);
    qb_geometry_info info = {.struct_size = sizeof info};
    qb_grid usual;
    *json = NULL;
    QB__OR_RETURN(grid ? qb__grid_check(grid) : QB_OK);
    if (!grid) qb_grid_default(geometry, &usual);
    const qb_status status = qb__geometry_describe(geometry, grid ? qb__grid_field(grid) : 0, &info);
    const bool partly =
        status == QB_BAD_INPUT && info.pixel_u > 0; /* the positions of views are known, but not their field of view */
    if (status != QB_OK && !partly) return status;
    cJSON *root = cJSON_CreateObject(), *problems = NULL;
    add_info(root, geometry, &info);
    if (partly) {
        forget_field(root);
        problems = cJSON_AddArrayToObject(root, "problems");
        add_problem(problems, "%s", qb_detail());
        goto print;
    }
    add_volume(root, grid ? grid : &usual);
    problems = cJSON_AddArrayToObject(root, "problems");
    find_angle_problems(geometry, &info, problems);
    if (geometry->beam == QB_BEAM_CONE) find_cone_problems(geometry, &info, problems);
    find_volume_problems(geometry, &info, grid ? grid : &usual, grid != NULL, problems);
print:
    *json = cJSON_Print(root);
    cJSON_Delete(root);
    return *json ? QB_OK : qb__fail(QB_NO_MEMORY, "no memory for the report");
}
