/* SPDX-License-Identifier: MIT */
/* The part of the report about the scan: flats and mask, pictures after each step of the preparation, the axis, and the
 * sum of each view. */
#include "report_html.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "center/center_curve.h"
#include "prep/pictures.h"

enum { SIDE = 512 };

/* ---- pictures after each step ---- */

typedef struct steps {
    cJSON *list;
    const qb_scan_info *info;
} steps;

static double square(const qb_scan_info *info) {
    return fabs(info->pixel_size - info->pixel_v) < 1e-6 * info->pixel_size ? info->pixel_size : 0;
}

static void add_step(void *user, const qb_tool_picture *p) {
    const steps *s = user;
    cJSON *step = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(step, "images");
    char view[96], sinogram[96];
    snprintf(view, sizeof view, "view %zu", p->view);
    snprintf(sinogram, sizeof sinogram, "sinogram of row %zu%s", p->row,
             p->lines < s->info->views ? ", 360 views" : "");
    cJSON_AddStringToObject(step, "name", p->step);
    cJSON_AddStringToObject(step, "units", p->units);
    if (p->row1 - p->row0 < p->rows) {
        const double rows[2] = {(double)p->row0, (double)p->row1};
        cJSON_AddItemToObject(step, "rows", cJSON_CreateDoubleArray(rows, 2));
    }
    add_image(list, p->image,
              &(image){.title = view,
                       .units = p->units,
                       .axes = {"column", "row"},
                       .wide = p->columns,
                       .high = p->rows,
                       .mm = square(s->info),
                       .side = SIDE});
    add_image(list, p->sinogram,
              &(image){.title = sinogram,
                       .units = p->units,
                       .axes = {"column", "view"},
                       .wide = p->columns,
                       .high = p->lines,
                       .side = SIDE});
    cJSON_AddItemToArray(s->list, step);
}

/* ---- flats, darks, mask ---- */

static void add_fields(cJSON *root, qb_scan *scan) {
    const qb_scan_info *info = qb_scan_describe(scan);
    const size_t count = info->rows * info->columns;
    cJSON *list = cJSON_AddArrayToObject(root, "fields");
    float *flat = malloc(count * sizeof *flat), *dark = malloc(count * sizeof *dark);
    image m = {.units = "counts",
               .axes = {"column", "row"},
               .wide = info->columns,
               .high = info->rows,
               .mm = square(info),
               .side = SIDE};
    if (flat && dark && info->flats && qb_scan_fields(scan, 0, info->rows, flat, dark) == QB_OK) {
        m.title = "mean flat";
        add_image(list, flat, &m);
        m.title = "mean dark";
        if (info->darks) add_image(list, dark, &m);
    }
    free(flat);
    free(dark);
}

static void add_mask(cJSON *root, const cli *c, qb_scan *scan) {
    const qb_scan_info *info = qb_scan_describe(scan);
    const size_t count = info->rows * info->columns;
    cJSON *about = cJSON_AddObjectToObject(root, "mask");
    char words[200] = "";
    unsigned char *mask = malloc(count);
    float *kinds = malloc(count * sizeof *kinds);
    if (tell_mask(c, scan, words, sizeof words, about) == QB_OK) cJSON_AddStringToObject(about, "words", words);
    if (mask && kinds && *words && qb_scan_mask(scan, mask) == QB_OK) {
        qb_convert_to_float(mask, QB_U8, count, kinds);
        add_image(cJSON_GetObjectItem(root, "fields"), kinds,
                  &(image){.title = "mask",
                           .units = "",
                           .axes = {"column", "row"},
                           .wide = info->columns,
                           .high = info->rows,
                           .mm = square(info),
                           .kinds = true,
                           .side = SIDE});
    }
    free(mask);
    free(kinds);
}

/* ---- shifts of the views ---- */

static void add_moved(cJSON *root, const qb_scan_info *info) {
    const double degrees = 57.29577951308232;
    cJSON *moved = info->shifts ? cJSON_AddArrayToObject(root, "moved") : NULL;
    for (int way = 0; moved && way < 3; way++) {
        cJSON *list = cJSON_CreateArray();
        for (size_t i = 0; i < info->views; i++) {
            const double turn = info->turns ? info->turns[i] * degrees : 0;
            cJSON_AddItemToArray(list, cJSON_CreateNumber(way < 2 ? info->shifts[2 * i + (size_t)way] : turn));
        }
        cJSON_AddItemToArray(moved, list);
    }
}

/* ---- the axis, and the sums ---- */

/* Finds the column of the axis that the job used, and the distances; sod 0: parallel rays. False where the views do not
 * lie on a circle. */
static bool find_axis(const qb_scan_info *info, const qb_geometry *geometry, const cJSON *plan, const cJSON *done,
                      double *sod, double *sdd, double *axis) {
    const double middle = 0.5 * ((double)info->columns - 1);
    const cJSON *column = cJSON_GetObjectItem(done, "column");
    qb_geometry_info about = {.struct_size = sizeof about};
    if (!column) column = cJSON_GetObjectItem(plan, "column");
    *sod = *sdd = 0;
    *axis = cJSON_IsNumber(column) ? column->valuedouble : middle;
    if (!info->angles) return false;
    if (!geometry) return cJSON_IsNumber(column);
    if (qb_geometry_describe(geometry, &about) != QB_OK || !about.circular || !(info->pixel_size > 0)) return false;
    *sod = about.sod, *sdd = about.sod * about.magnification;
    *axis = middle - about.offset_u / about.pixel_u;
    return true;
}

static void add_curve(cJSON *root, const cli *c, qb_scan *scan, const qb_geometry *geometry, const cJSON *plan,
                      const cJSON *done) {
    const qb_scan_info *info = qb_scan_describe(scan);
    const qb_env quiet = {
        .struct_size = sizeof quiet, .threads = c->env.threads, .max_ram = c->env.max_ram, .cancel = c->env.cancel};
    double sod, sdd, axis;
    qb_tool_curve curve;
    if (!find_axis(info, geometry, plan, done, &sod, &sdd, &axis)) return;
    if (qb_tool_curve_of(scan, &c->options.prep, sod, sdd, axis, &quiet, &curve) != QB_OK) return;
    cJSON *json = cJSON_AddObjectToObject(root, "axis"), *sums = cJSON_AddObjectToObject(root, "sums");
    cJSON_AddNumberToObject(json, "used", axis);
    cJSON_AddBoolToObject(json, "cone", sod > 0);
    cJSON_AddItemToObject(json, "column", cJSON_CreateDoubleArray(curve.column, curve.points));
    cJSON_AddItemToObject(json, "mismatch", cJSON_CreateDoubleArray(curve.mismatch, curve.points));
    cJSON_AddItemToObject(sums, "angle", cJSON_CreateDoubleArray(curve.angle, (int)curve.views));
    cJSON_AddItemToObject(sums, "sum", cJSON_CreateDoubleArray(curve.sum, (int)curve.views));
    cJSON_AddNumberToObject(sums, "noise", curve.scatter);
    if (isfinite(curve.swing)) cJSON_AddNumberToObject(sums, "swing", curve.swing);
    qb_tool_curve_clear(&curve);
}

void report_scan_add(cJSON *root, const cli *c, qb_scan *scan, const qb_geometry *geometry, const cJSON *plan,
                     const cJSON *done) {
    const qb_scan_info *info = qb_scan_describe(scan);
    cJSON *json = cJSON_AddObjectToObject(root, "scan");
    const steps s = {cJSON_AddArrayToObject(root, "steps"), info};
    cJSON_AddNumberToObject(json, "flats", (double)info->flats);
    cJSON_AddNumberToObject(json, "darks", (double)info->darks);
    cJSON_AddNumberToObject(json, "pixel", info->pixel_size);
    add_fields(root, scan);
    add_mask(root, c, scan);
    add_moved(root, info);
    qb_tool_prepare_pictures(scan, geometry, &c->options.prep, &c->env, add_step, (void *)&s);
    add_curve(root, c, scan, geometry, plan, done);
}
