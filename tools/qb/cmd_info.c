/* SPDX-License-Identifier: MIT */
#include <cjson/cJSON.h>
#include <math.h>
#include <string.h>

#include "cli.h"

static const double degrees = 57.29577951308232;

/* Without the rounding of vectors: a millionth of a mm or a degree is 0. */
static double rounded(double value) { return fabs(value) < 1e-6 ? 0 : value; }

static void angle_range(const qb_scan_info *info, double *low, double *high) {
    *low = INFINITY;
    *high = -INFINITY;
    for (size_t i = 0; i < info->views; i++) {
        *low = fmin(*low, info->angles[i] * degrees);
        *high = fmax(*high, info->angles[i] * degrees);
    }
}

/* Position of source and detector of a cone-beam scan, as far as its file states them. */
typedef struct placing {
    double sod, sdd;    /* distances from the source to the axis and to the detector, mm, means; 0 = unknown */
    double offset[2];   /* offset of the detector, mm */
    bool ideal, silent; /* ideal: no fault but the offset; silent: print nothing about an unknown position */
} placing;

/* A geometry that the file holds view by view. */
static placing placing_of_views(const qb_scan_info *info) {
    const double EXACT = 1e-6; /* of a pixel */
    const qb_detector detector = {
        .rows = info->rows, .columns = info->columns, .pixel_u = info->pixel_size, .pixel_v = info->pixel_v};
    const qb_env quiet = {0};
    qb_geometry geometry = {0};
    qb_geometry_info about = {.struct_size = sizeof about};
    placing p = {.silent = true};
    if (qb_scan_geometry(info, NULL, &detector, &quiet, &geometry) == QB_OK &&
        qb_geometry_describe(&geometry, &about) == QB_OK)
        p = (placing){about.sod,
                      about.sdd,
                      {rounded(about.offset_u), rounded(about.offset_v)},
                      about.circular_error < EXACT,
                      false};
    qb_geometry_destroy(&geometry);
    return p;
}

static placing find_placing(const cli *c, const qb_scan_info *info) {
    const double *offset = info->detector_offset;
    const bool straight = info->detector_tilt == 0 && info->detector_lean == 0;
    if (info->sod > 0)
        return (placing){info->sod, info->sdd, {offset[0], offset[1]}, straight && isfinite(offset[0]), false};
    if (info->geometry_from) return placing_of_views(info);
    return (placing){.silent = info->beam != QB_BEAM_CONE || wants_geometry(c)};
}

static void print_placing(const placing *p) {
    if (!(p->sod > 0)) {
        if (!p->silent) printf("  source      the file does not say where: qb fdk takes -g FILE, or --sod and --sdd\n");
        return;
    }
    printf("  source      %.6g mm from the axis, %.6g mm from the detector, where qb fdk finds it\n", p->sod, p->sdd);
    printf("  detector    %.6g mm behind the axis, magnified %.6g times", p->sdd - p->sod, p->sdd / p->sod);
    if (p->ideal && (p->offset[0] != 0 || p->offset[1] != 0))
        printf(", its middle at %.6g,%.6g mm", p->offset[0], p->offset[1]);
    puts("");
}

static cJSON *as_json(const qb_scan *scan, const qb_scan_info *info, const placing *at) {
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "path", info->path);
    cJSON_AddStringToObject(root, "kind", "scan");
    cJSON_AddStringToObject(root, "format", info->format);
    cJSON_AddStringToObject(root, "dtype", qb_dtype_name(info->dtype));
    if (*info->files) cJSON_AddStringToObject(root, "files", info->files);
    cJSON_AddNumberToObject(root, "views", (double)info->views);
    cJSON_AddNumberToObject(root, "stored_views", (double)info->stored);
    cJSON_AddNumberToObject(root, "rows", (double)info->rows);
    cJSON_AddNumberToObject(root, "columns", (double)info->columns);
    if (info->image) cJSON_AddStringToObject(root, "images", info->image);
    cJSON_AddStringToObject(root, "quantity", qb_quantity_name(info->quantity));
    cJSON_AddStringToObject(root, "quantity_from", info->quantity_from);
    if (info->beam) cJSON_AddStringToObject(root, "beam", qb_beam_name(info->beam));
    if (at->sod > 0) {
        cJSON_AddNumberToObject(root, "sod_mm", at->sod);
        cJSON_AddNumberToObject(root, "sdd_mm", at->sdd);
        cJSON_AddNumberToObject(root, "magnification", at->sdd / at->sod);
        if (at->ideal) cJSON_AddItemToObject(root, "detector_offset_mm", cJSON_CreateDoubleArray(at->offset, 2));
    }
    if (info->energy > 0) cJSON_AddNumberToObject(root, "energy_kev", info->energy);
    if (info->distance > 0) cJSON_AddNumberToObject(root, "object_to_detector_mm", info->distance);
    cJSON_AddNumberToObject(root, "flats", (double)info->flats);
    cJSON_AddNumberToObject(root, "darks", (double)info->darks);
    if (info->flats_how) cJSON_AddStringToObject(root, "flat_fields", info->flats_how);
    if (info->angles) {
        double low, high;
        angle_range(info, &low, &high);
        cJSON_AddNumberToObject(root, "first_angle_deg", info->angles[0] * degrees);
        cJSON_AddNumberToObject(root, "last_angle_deg", info->angles[info->views - 1] * degrees);
        cJSON_AddNumberToObject(root, "lowest_angle_deg", low);
        cJSON_AddNumberToObject(root, "highest_angle_deg", high);
        cJSON_AddStringToObject(root, "angles_from", info->angles_from);
    }
    if (info->pixel_size > 0) cJSON_AddNumberToObject(root, "pixel_size_mm", info->pixel_size);
    if (info->pixel_v > 0 && info->pixel_v != info->pixel_size)
        cJSON_AddNumberToObject(root, "pixel_v_mm", info->pixel_v);
    if (!isnan(info->center)) cJSON_AddNumberToObject(root, "center", info->center);
    if (!isnan(info->center)) cJSON_AddBoolToObject(root, "center_holds", info->center_holds);
    cJSON_AddNumberToObject(root, "looked_views", (double)info->looked_views);
    if (info->taller) cJSON_AddStringToObject(root, "taller_than_detector", info->taller);
    cJSON *problems = cJSON_AddArrayToObject(root, "problems");
    cJSON *kinds = cJSON_AddArrayToObject(root, "problem_kinds");
    for (size_t i = 0; i < info->problems; i++) {
        cJSON_AddItemToArray(problems, cJSON_CreateString(qb_scan_problem(scan, i)));
        cJSON_AddItemToArray(kinds, cJSON_CreateString(qb_problem_name(qb_scan_problem_kind(scan, i))));
    }
    char *findings = NULL;
    if (qb_scan_findings(scan, &findings) == QB_OK) cJSON_AddItemToObject(root, "findings", cJSON_Parse(findings));
    qb_text_free(findings);
    return root;
}

static void as_text(const qb_scan *scan, const qb_scan_info *info, const placing *at, const char *axis,
                    const char *mask) {
    printf("%s\n", info->path);
    printf("  format      %s, %s\n", info->format, qb_dtype_name(info->dtype));
    char of[32] = "";
    if (info->views != info->stored) snprintf(of, sizeof of, "%zu of ", info->views);
    printf("  scan        %s%zu view%s of %zu row%s x %zu column%s, %.1f MiB\n", of, info->stored,
           plural((double)info->stored), info->rows, plural((double)info->rows), info->columns,
           plural((double)info->columns),
           (double)info->views * (double)info->rows * (double)info->columns * (double)qb_dtype_size(info->dtype) /
               1048576.0);
    if (info->image) printf("  images      %s\n", info->image);
    if (info->shifts) printf("  shifts      %sof each view are taken out\n", info->turns ? "and turns " : "");
    if (*info->files) printf("  files       %s\n", info->files);
    printf("  values      %s (%s)\n", qb_quantity_name(info->quantity), info->quantity_from);
    if (info->beam) printf("  beam        %s (stated in the file)\n", qb_beam_name(info->beam));
    if (info->energy > 0) printf("  energy      %.6g keV\n", info->energy);
    if (info->beam == QB_BEAM_CONE || info->sod > 0)
        print_placing(at);
    else if (info->distance > 0)
        printf("  detector    %.6g mm behind the object\n", info->distance);
    printf("  fields      %zu flat%s, %zu dark%s%s%s\n", info->flats, plural((double)info->flats), info->darks,
           plural((double)info->darks), info->flats_how ? "; " : "", info->flats_how ? info->flats_how : "");
    if (info->angles) {
        double low, high;
        angle_range(info, &low, &high);
        printf("  angles      %.4f to %.4f degrees (%s)\n", rounded(low), rounded(high), info->angles_from);
    }
    if (info->pixel_size > 0 && info->pixel_v == info->pixel_size)
        printf("  pixel       %g mm (%s)\n", info->pixel_size, info->pixel_from);
    if (info->pixel_size > 0 && info->pixel_v != info->pixel_size)
        printf("  pixel       %g x %g mm (%s)\n", info->pixel_size, info->pixel_v, info->pixel_from);
    if (info->looked_views < info->views)
        printf("  looked at   %zu of %zu views for faults of single views\n", info->looked_views, info->views);
    if (*mask) printf("  not measured  %s\n", mask);
    if (info->taller)
        printf("  object      taller than the detector %s: end slices of qb fdk are incomplete, sirt and cgls need "
               "--size with more slices\n",
               info->taller);
    if (!isnan(info->center))
        printf("  axis        column %g, as the file states%s\n", info->center,
               info->center_holds ? "" : " (--center stated goes by it)");
    for (size_t i = 0; i < info->problems; i++) printf("  problem     %s\n", qb_scan_problem(scan, i));
    if (*axis) printf("  problem     %s\n", axis);
    if (info->problems == 0 && !*axis) printf("  no problems found\n");
}

/* Prints one object on stdout and deletes it. */
static qb_status print_object(cli *c, cJSON *root) {
    char *text = cJSON_Print(root);
    cJSON_Delete(root);
    return give_result(c, text);
}

static qb_status tell_json(cli *c, const qb_scan *scan, const qb_scan_info *info, const placing *at, const char *axis,
                           cJSON *mask) {
    cJSON *root = as_json(scan, info, at), *geometry = NULL;
    cJSON_AddItemToObject(root, "not_measured", mask);
    if (*axis) {
        cJSON_AddItemToArray(cJSON_GetObjectItem(root, "problems"), cJSON_CreateString(axis));
        cJSON_AddItemToArray(cJSON_GetObjectItem(root, "problem_kinds"),
                             cJSON_CreateString(qb_problem_name(QB_PROBLEM_OTHER)));
    }
    qb_status status = wants_geometry(c) ? info_geometry(c, info, &geometry) : QB_OK;
    if (geometry) cJSON_AddItemToObject(root, "geometry", geometry);
    if (status == QB_OK) return print_object(c, root);
    cJSON_Delete(root);
    return status;
}

static qb_status info_scan(cli *c) {
    qb_scan *scan;
    qb_status status = qb_scan_open(c->argument[0], &c->options.scan, &c->env, &scan);
    if (status != QB_OK) return status;
    const qb_scan_info *info = qb_scan_describe(scan);
    if (is_volume(c, info)) {
        qb_scan_close(scan);
        return info_volume(c);
    }
    status = qb_scan_inspect(scan, &c->env);
    if (status == QB_OK) status = qb_scan_check(scan, &c->env);
    const placing at = status == QB_OK ? find_placing(c, info) : (placing){.silent = true};
    char axis[200] = "";
    if (status == QB_OK) axis_differs(c, scan, axis, sizeof axis);
    cJSON *mask = cJSON_CreateObject();
    char words[200] = "";
    if (status == QB_OK) status = tell_mask(c, scan, words, sizeof words, mask);
    if (status == QB_OK && c->options.run.json) {
        status = tell_json(c, scan, info, &at, axis, mask);
        mask = NULL;
    } else if (status == QB_OK) {
        as_text(scan, info, &at, axis, words);
        if (wants_geometry(c)) status = info_geometry(c, info, NULL);
    }
    cJSON_Delete(mask);
    qb_scan_close(scan);
    return status;
}

/* Refuses options that would have no effect. */
static qb_status check_options(const cli *c) {
    const qb_grid_options *volume = &c->options.grid;
    const char *idle = c->options.info.preview          ? "preview"
                       : c->options.info.detector.count ? "detector"
                       : volume->size.count             ? "size"
                       : volume->voxels.count           ? "voxel"
                       : volume->offset.count           ? "offset"
                       : volume->like                   ? "like"
                                                        : NULL;
    const char *picture = c->options.info.preview, *geometry = c->options.geometry.geometry;
    if (same_file(picture, geometry) || same_file(picture, c->count ? c->argument[0] : NULL))
        return complain(QB_BAD_ARGUMENT, "--preview %s would overwrite what is read", picture);
    if (!wants_geometry(c) && c->count == 0)
        return complain(QB_BAD_ARGUMENT, "of what? usage: qb info %s (see qb info --help)", c->verb->arguments);
    if (c->count == 0 && c->options.info.mask_out)
        return complain(QB_BAD_ARGUMENT, "--mask-out is about a scan: name one");
    if (!wants_geometry(c) && idle)
        return complain(QB_BAD_ARGUMENT, "--%s is about a geometry: give -g FILE, or --sod and --sdd", idle);
    return QB_OK;
}

/* Is this XML file the settings of a scanner, and not a geometry? Every second byte of UTF-16 is 0. */
static bool is_scan(const char *path) {
    char text[1 << 16];
    FILE *file = fopen(path, "rbe");
    const size_t n = file ? fread(text, 1, sizeof text - 1, file) : 0;
    size_t used = 0;
    if (file) fclose(file);
    for (size_t i = 0; i < n; i++)
        if (text[i]) text[used++] = text[i];
    text[used] = 0;
    return strstr(text, "<Geometrie") || strstr(text, "<ConeBeamScanParameter");
}

/* Makes `qb info geometry.xml` the same as `qb info -g geometry.xml`. */
static qb_status take_geometry(cli *c) {
    const char *dot = c->count ? strrchr(c->argument[0], '.') : NULL;
    if (c->options.geometry.geometry || !dot) return QB_OK;
    if (strcmp(dot, ".xml") != 0 && strcmp(dot, ".json") != 0) return QB_OK;
    if (is_scan(c->argument[0])) return QB_OK;
    c->count = 0;
    return qb_param_set(qb_param_find(qb_geometry_params, "geometry"), &c->options.geometry, c->argument[0]);
}

qb_status cmd_info(cli *c) {
    cJSON *root = NULL;
    qb_status status = take_geometry(c);
    if (status == QB_OK) status = check_options(c);
    if (status != QB_OK || c->count) return status == QB_OK ? info_scan(c) : status;
    status = info_geometry(c, NULL, c->options.run.json ? &root : NULL);
    return status == QB_OK && root ? print_object(c, root) : status;
}
