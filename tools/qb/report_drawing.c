/* SPDX-License-Identifier: MIT */
/* The drawing of source, detector and volume in the report. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report_html.h"

static char *read_text(const char *path) {
    FILE *file = fopen(path, "re");
    char *text = NULL;
    if (!file) return NULL;
    fseek(file, 0, SEEK_END);
    const long size = ftell(file);
    rewind(file);
    if (size > 0 && (text = calloc((size_t)size + 1, 1)) && fread(text, 1, (size_t)size, file) != (size_t)size)
        text[0] = 0;
    fclose(file);
    return text;
}

static bool three(const cJSON *object, const char *name, double out[3]) {
    const cJSON *list = cJSON_GetObjectItem(object, name);
    for (int i = 0; i < 3 && cJSON_GetArraySize(list) == 3; i++) out[i] = cJSON_GetArrayItem(list, i)->valuedouble;
    return cJSON_GetArraySize(list) == 3;
}

/* The grid of the plan; NULL if the plan states none. */
static const qb_grid *grid_of(const cJSON *plan, qb_grid *grid) {
    double n[3];
    if (!three(plan, "size", n) || !three(plan, "voxel", grid->voxel) || !three(plan, "offset", grid->offset))
        return NULL;
    for (int i = 0; i < 3; i++) grid->n[i] = (size_t)n[i];
    return grid;
}

void report_drawing_add(cJSON *root, qb_scan *scan, const qb_geometry *given, const cJSON *plan, const cJSON *done) {
    const qb_scan_info *info = qb_scan_describe(scan);
    char path[PATH_MAX];
    const char *folder = getenv("TMPDIR");
    snprintf(path, sizeof path, "%s/qb-report-XXXXXX.svg", folder && *folder ? folder : "/tmp");
    qb_geometry own = {0};
    qb_grid grid;
    const cJSON *found = cJSON_GetObjectItem(done, "column");
    if (!found) found = cJSON_GetObjectItem(plan, "column");
    const double axis = cJSON_IsNumber(found) ? found->valuedouble : (double)(info->columns - 1) / 2;
    if (!given && !(info->pixel_size > 0)) return; /* the drawing is in mm, so the pixel size must be known */
    if (!given && info->angles &&
        qb_geometry_parallel(info->views, info->angles, info->rows, info->columns,
                             info->pixel_size > 0 ? info->pixel_size : 1, axis, &own) != QB_OK)
        return;
    const int file = given || own.views ? mkstemps(path, 4) : -1;
    if (file >= 0) {
        close(file);
        char *drawing =
            qb_geometry_picture(path, given ? given : &own, grid_of(plan, &grid)) == QB_OK ? read_text(path) : NULL;
        const char *svg = drawing ? strstr(drawing, "<svg") : NULL;
        if (svg) cJSON_AddStringToObject(root, "drawing", svg);
        free(drawing);
        unlink(path);
    }
    qb_geometry_destroy(&own);
}
