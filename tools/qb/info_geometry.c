/* SPDX-License-Identifier: MIT */
/* Describes a geometry: qb info -g GEOMETRY, or a circle from --sod, --sdd, --detector and --angles. */
#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

const qb_param info_params[] = {
    {"detector", QB_PARAM_NUMBERS, offsetof(info_options, detector), "COLUMNS[,ROWS]", NULL, NULL, 1, 1048576,
     "pixels of the geometry's detector where neither scan nor file says", 0},
    {"preview", QB_PARAM_TEXT, offsetof(info_options, preview), "FILE.svg", NULL, NULL, 0, 0,
     "draw the geometry: source path, detector, field of view, volume", 0},
    {"mask-out", QB_PARAM_TEXT, offsetof(info_options, mask_out), "FILE", NULL, NULL, 0, 0,
     "write which pixels were not measured: a picture (.png), or an image that reconstructions read as a mask; 1: "
     "masked, 2: stuck, 3: dead in the flats",
     0},
    QB_PARAMS_END(info_options),
};

bool wants_geometry(const cli *c) {
    const qb_geometry_options *g = &c->options.geometry;
    return g->geometry || g->sod > 0 || g->sdd > 0 || g->offset || g->tilt.count || g->jitter.count;
}

static qb_status pixels(double number, size_t *out) {
    if (number != floor(number))
        return complain(QB_BAD_ARGUMENT, "--detector %g is not a whole number of pixels", number);
    *out = (size_t)number;
    return QB_OK;
}

/* Takes the detector's pixels from the scan, or from --detector where there is no scan. */
static qb_status find_detector(const cli *c, const qb_scan_info *scan, qb_detector *detector) {
    const qb_numbers *given = &c->options.info.detector;
    const qb_numbers *pixel = &c->options.scan.pixels;
    *detector = (qb_detector){.pixel_u = scan ? scan->pixel_size : pixel->count ? pixel->value[0] : 0};
    detector->pixel_v = scan ? scan->pixel_v : pixel->count > 1 ? pixel->value[1] : detector->pixel_u;
    if (given->count > 2) return complain(QB_BAD_ARGUMENT, "--detector takes COLUMNS,ROWS");
    if (scan) {
        detector->rows = scan->rows;
        detector->columns = scan->columns;
        if (given->count)
            return complain(
                QB_BAD_ARGUMENT,
                "--detector is for geometries without a scan, and %s has %zu columns and %zu rows: leave it out",
                scan->path, scan->columns, scan->rows);
        return QB_OK;
    }
    if (!given->count) return QB_OK;
    qb_status status = pixels(given->value[0], &detector->columns);
    return status == QB_OK ? pixels(given->value[given->count > 1 ? 1 : 0], &detector->rows) : status;
}

/* Makes a circle that the command line describes in full. */
static qb_status make_circle(cli *c, const qb_detector *detector, qb_geometry *geometry) {
    const char *text = c->options.scan.angles;
    size_t views = 0;
    qb_status status = text ? qb_angles_count(text, &views) : QB_OK;
    if (status != QB_OK) return status;
    if (!views) return complain(QB_BAD_ARGUMENT, "a circle without a scan needs --angles FROM:TO:N or a file");
    if (!detector->columns) return complain(QB_BAD_ARGUMENT, "a circle without a scan needs --detector COLUMNS,ROWS");
    double *angles = malloc(views * sizeof *angles);
    if (!angles) return complain(QB_NO_MEMORY, "no memory for %zu angles", views);
    status = qb_angles_parse(text, views, angles);
    if (status == QB_OK) status = qb_geometry_make(&c->options.geometry, views, angles, detector, &c->env, geometry);
    free(angles);
    return status;
}

/* Loads a geometry whose number of pixels is unknown. Source and angles do not depend on it, so that a very large
 * detector is assumed. */
static qb_status load_without_pixels(cli *c, qb_detector detector, qb_geometry *geometry) {
    const char *file = c->options.geometry.geometry, *dot = strrchr(file, '.');
    detector.rows = detector.columns = (1 << 20) - 1;
    if (!(detector.pixel_u > 0) && dot && strcmp(dot, ".xml") == 0)
        /* Any pixel size does for an XML file; projection matrices need the true one */
        detector.pixel_u = detector.pixel_v = 1;
    return qb_geometry_make(&c->options.geometry, 0, NULL, &detector, &c->env, geometry);
}

/* Makes the geometry. *pixels_known becomes false where nothing states the number of pixels. */
static qb_status make_geometry(cli *c, const qb_scan_info *scan, qb_geometry *geometry, bool *pixels_known) {
    qb_detector detector;
    *pixels_known = true;
    const char *file = c->options.geometry.geometry;
    qb_status status = find_detector(c, scan, &detector);
    if (status != QB_OK) return status;
    if (!file && !scan) return make_circle(c, &detector, geometry);
    if (scan) return qb_scan_geometry(scan, &c->options.geometry, &detector, &c->env, geometry);
    status = qb_geometry_make(&c->options.geometry, 0, NULL, &detector, &c->env, geometry);
    if (status != QB_BAD_ARGUMENT) return status;
    *pixels_known = false;
    return detector.columns ? status : load_without_pixels(c, detector, geometry);
}

/* Values below 1e-9 are rounding errors (about 1e-13 mm) and become 0. */
static double rounded(const cJSON *report, const char *key) {
    const cJSON *item = cJSON_GetObjectItem(report, key);
    if (!cJSON_IsNumber(item)) return NAN;
    return fabs(item->valuedouble) < 1e-9 ? 0 : item->valuedouble;
}

static double element(const cJSON *report, const char *key, int index) {
    return cJSON_GetArrayItem(cJSON_GetObjectItem(report, key), index)->valuedouble;
}

static void print_path(const cJSON *r) {
    double near = rounded(r, "source_nearest_mm"), far = rounded(r, "source_farthest_mm");
    double z = rounded(r, "source_z_range_mm");
    if (far - near <= 1e-6 * far && z <= 1e-6 * far)
        printf("  source      on a circle of radius %.6g mm, %.6g mm from the detector\n", near, rounded(r, "sdd_mm"));
    else
        printf("  source      %.6g to %.6g mm from the axis, over %.6g mm along it; %.6g mm from the "
               "detector\n",
               near, far, z, rounded(r, "sdd_mm"));
    printf("  magnified   %.6g times at the axis\n", rounded(r, "magnification"));
}

static void print_detector(const cJSON *r) {
    double radius = rounded(r, "detector_radius_mm"), n = rounded(r, "columns"), m = rounded(r, "rows");
    double u = rounded(r, "pixel_u_mm"), v = rounded(r, "pixel_v_mm");
    printf("  detector    %.0f columns x %.0f rows of %.6g x %.6g mm: %.6g x %.6g mm, ", n, m, u, v, n * u, m * v);
    if (radius > 0)
        printf("curved, radius %.6g mm\n", radius);
    else
        printf("flat\n");
    printf("  its centre  %.6g, %.6g mm off the principal ray\n", rounded(r, "offset_u_mm"), rounded(r, "offset_v_mm"));
    if (cJSON_IsTrue(cJSON_GetObjectItem(r, "circular")))
        printf("  faults      none: an ideal circle to %.1e pixels\n", rounded(r, "circular_error_px"));
    else
        printf("  faults      tilt, jitter or offsets: up to %.4g pixels off an ideal circle\n",
               rounded(r, "circular_error_px"));
    if (cJSON_IsTrue(cJSON_GetObjectItem(r, "resampled")))
        printf("  rows        %s, %.4g pixels off a level line: qb fdk resamples the views\n",
               radius > 0 ? "curved" : "turned", rounded(r, "row_drift_px"));
}

static void print_angles(const cJSON *r, bool cone) {
    printf("  views       %.0f over %.6g degrees, %.4g apart", rounded(r, "views"), rounded(r, "coverage_degrees"),
           rounded(r, "step_degrees"));
    if (rounded(r, "missing_degrees") > 0)
        printf("; %.4g of the %.6g needed are missing", rounded(r, "missing_degrees"), rounded(r, "needed_degrees"));
    else if (rounded(r, "needed_degrees") > 0)
        printf("; %.6g are needed", rounded(r, "needed_degrees"));
    putchar('\n');
    if (cone)
        printf("  fan         %.4g degrees to the wider side, %.4g to the other\n", rounded(r, "fan_wide_degrees"),
               rounded(r, "fan_narrow_degrees"));
}

static void print_volume(const cJSON *r) {
    printf("  field       all views see a cylinder of radius %.5g mm, %.5g mm high at the axis, %.5g "
           "at its rim\n",
           rounded(r, "field_radius_mm"), rounded(r, "field_height_mm"), rounded(r, "field_height_at_rim_mm"));
    const cJSON *v = cJSON_GetObjectItem(r, "volume");
    printf("  volume      %.0f x %.0f x %.0f voxels of %.5g x %.5g x %.5g mm about (%.5g, %.5g, "
           "%.5g)\n",
           element(v, "size", 0), element(v, "size", 1), element(v, "size", 2), element(v, "voxel_mm", 0),
           element(v, "voxel_mm", 1), element(v, "voxel_mm", 2), element(v, "offset_mm", 0), element(v, "offset_mm", 1),
           element(v, "offset_mm", 2));
    printf("  weights     %s\n", cJSON_GetStringValue(cJSON_GetObjectItem(r, "weights_are")));
}

static void print_report(const cJSON *r, const char *name) {
    bool cone = strcmp(cJSON_GetStringValue(cJSON_GetObjectItem(r, "beam")), "cone") == 0;
    bool pixels_known = cJSON_GetObjectItem(r, "columns") != NULL;
    /* The report has a volume only where it could compute the field of view */
    const bool field_known = cJSON_GetObjectItem(r, "volume") != NULL;
    printf("%s\n  beam        %s\n", name, cone ? "cone" : "parallel");
    if (field_known || !pixels_known)
        print_angles(r, cone && pixels_known);
    else
        printf("  views       %.0f\n", rounded(r, "views"));
    if (cone) print_path(r);
    if (pixels_known) print_detector(r);
    if (field_known) print_volume(r);
    const cJSON *problem, *problems = cJSON_GetObjectItem(r, "problems");
    cJSON_ArrayForEach(problem, problems) printf("  problem     %s\n", problem->valuestring);
    if (cJSON_GetArraySize(problems) == 0) printf("  no problems found\n");
}

/* Removes all entries that depend on the unknown detector. */
static void forget_pixels(cJSON *report) {
    static const char *const keys[] = {"rows",
                                       "columns",
                                       "pixel_u_mm",
                                       "pixel_v_mm",
                                       "detector_radius_mm",
                                       "circular",
                                       "circular_error_px",
                                       "row_drift_px",
                                       "resampled",
                                       "field_radius_mm",
                                       "field_height_mm",
                                       "field_z_mm",
                                       "field_height_at_rim_mm",
                                       "needed_degrees",
                                       "missing_degrees",
                                       "fan_wide_degrees",
                                       "fan_narrow_degrees",
                                       "weights",
                                       "weights_are",
                                       "volume",
                                       "problems"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) cJSON_DeleteItemFromObject(report, keys[i]);
    cJSON_AddItemToArray(
        cJSON_AddArrayToObject(report, "problems"),
        cJSON_CreateString("the file does not say how many pixels there are, nor how large they are: with "
                           "--detector COLUMNS,ROWS and --pixel-size MM the field of view, the weights and "
                           "the volume are checked too"));
}

static const char *name_of(const cli *c) {
    return c->options.geometry.geometry ? c->options.geometry.geometry : "circle";
}

/* Puts the report into *root, or prints it on stdout where `root` is NULL. */
static qb_status tell(const cli *c, const qb_geometry *geometry, const qb_grid *grid, bool pixels_known, cJSON **root) {
    char *json = NULL;
    qb_status status = qb_geometry_report(geometry, grid, &json);
    if (status != QB_OK) return status;
    cJSON *report = cJSON_Parse(json);
    qb_text_free(json);
    if (!report) return complain(QB_NO_MEMORY, "no memory for the report");
    if (!pixels_known) forget_pixels(report);
    if (root) {
        cJSON_AddStringToObject(report, "path", name_of(c));
        *root = report;
        return QB_OK;
    }
    print_report(report, name_of(c));
    cJSON_Delete(report);
    return QB_OK;
}

static const char *beam_words(qb_beam beam) { return beam == QB_BEAM_CONE ? "a cone" : "parallel"; }

qb_status info_geometry(cli *c, const qb_scan_info *scan, cJSON **root) {
    qb_geometry geometry = {0};
    qb_grid grid;
    const qb_grid_options *volume = &c->options.grid;
    const char *picture = c->options.info.preview;
    bool asked = volume->size.count || volume->voxels.count || volume->offset.count || volume->like, pixels_known;
    qb_status status = make_geometry(c, scan, &geometry, &pixels_known);
    if (status == QB_OK && !pixels_known && (asked || picture))
        status = complain(QB_BAD_ARGUMENT,
                          "%s does not say how many pixels there are, nor how large they are: give "
                          "--detector COLUMNS,ROWS and --pixel-size MM",
                          c->options.geometry.geometry);
    if (status == QB_OK && scan && scan->beam && scan->beam != geometry.beam)
        status = complain(QB_BAD_INPUT, "%s states that its beam is %s, %s is for %s", scan->path,
                          beam_words(scan->beam), name_of(c), beam_words(geometry.beam));
    if (status == QB_OK) {
        qb_grid_default(&geometry, &grid);
        status = qb_grid_make(volume, &grid);
    }
    if (status == QB_OK && picture) status = qb_geometry_picture(picture, &geometry, &grid);
    if (status == QB_OK) status = tell(c, &geometry, asked ? &grid : NULL, pixels_known, root);
    qb_geometry_destroy(&geometry);
    return status;
}
