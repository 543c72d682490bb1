/* SPDX-License-Identifier: MIT */
#include <cjson/cJSON.h>
#include <math.h>

#include "cli.h"

static const double degrees = 57.29577951308232;

static void angle_range(const qb_scan_info *info, double *low, double *high) {
    *low = INFINITY;
    *high = -INFINITY;
    for (size_t i = 0; i < info->views; i++) {
        *low = fmin(*low, info->angles[i] * degrees);
        *high = fmax(*high, info->angles[i] * degrees);
    }
}

static qb_status as_json(cli *c, const qb_scan *scan, const qb_scan_info *info) {
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "path", info->path);
    cJSON_AddStringToObject(root, "format", info->format);
    cJSON_AddStringToObject(root, "dtype", qb_dtype_name(info->dtype));
    cJSON_AddNumberToObject(root, "views", (double)info->views);
    cJSON_AddNumberToObject(root, "rows", (double)info->rows);
    cJSON_AddNumberToObject(root, "columns", (double)info->columns);
    cJSON_AddStringToObject(root, "quantity", qb_quantity_name(info->quantity));
    cJSON_AddStringToObject(root, "quantity_from", info->quantity_from);
    cJSON_AddNumberToObject(root, "flats", (double)info->flats);
    cJSON_AddNumberToObject(root, "darks", (double)info->darks);
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
    if (!isnan(info->center)) cJSON_AddNumberToObject(root, "center", info->center);
    cJSON *problems = cJSON_AddArrayToObject(root, "problems");
    for (size_t i = 0; i < info->problems; i++)
        cJSON_AddItemToArray(problems, cJSON_CreateString(qb_scan_problem(scan, i)));
    char *text = cJSON_Print(root);
    cJSON_Delete(root);
    return give_result(c, text);
}

static void as_text(const qb_scan *scan, const qb_scan_info *info) {
    printf("%s\n", info->path);
    printf("  format      %s, %s\n", info->format, qb_dtype_name(info->dtype));
    printf("  scan        %zu views of %zu rows x %zu columns, %.1f MiB\n", info->views, info->rows,
           info->columns,
           (double)info->views * (double)info->rows * (double)info->columns *
               (double)qb_dtype_size(info->dtype) / 1048576.0);
    printf("  values      %s (%s)\n", qb_quantity_name(info->quantity), info->quantity_from);
    printf("  fields      %zu flats, %zu darks\n", info->flats, info->darks);
    if (info->angles) {
        double low, high;
        angle_range(info, &low, &high);
        printf("  angles      %.4f to %.4f degrees (%s)\n", low, high, info->angles_from);
    }
    if (info->pixel_size > 0) printf("  pixel       %g mm (%s)\n", info->pixel_size, info->pixel_from);
    if (!isnan(info->center)) printf("  axis        column %g, as the file states\n", info->center);
    for (size_t i = 0; i < info->problems; i++) printf("  problem     %s\n", qb_scan_problem(scan, i));
    if (info->problems == 0) printf("  no problems found\n");
}

qb_status cmd_info(cli *c) {
    qb_scan *scan;
    qb_status status = qb_scan_open(c->argument[0], &c->options.scan, &c->env, &scan);
    if (status != QB_OK) return status;
    status = qb_scan_inspect(scan, &c->env);
    if (status == QB_OK) {
        const qb_scan_info *info = qb_scan_describe(scan);
        if (c->options.run.json) {
            status = as_json(c, scan, info);
        } else {
            as_text(scan, info);
        }
    }
    qb_scan_close(scan);
    return status;
}
