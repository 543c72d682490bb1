/* SPDX-License-Identifier: MIT */
/* The geometry of a scan inside the provenance of the file that holds its images. */
#include <math.h>

#include "base/json.h"
#include "base/status.h"
#include "geometry/circle.h"
#include "io/formats.h"
#include "io/geometry/geometry_file.h"

static const char key[] = "scan_geometry", down_key[] = "scan_rows_down", follow_key[] = "scan_angles_follow_geometry";

bool qb__angles_follow(const qb_geometry *geometry, const double *radians) {
    double most = 0;
    for (size_t i = 0; i < geometry->views; i++) {
        const double d = radians[i] - qb__view_angle(geometry->beam, &geometry->view[i]);
        most = fmax(most, fabs(d - 2 * M_PI * round(d / (2 * M_PI))));
    }
    return most < 1e-5;
}

void qb__geometry_keep(const qb_geometry *geometry, const double *radians, cJSON *provenance) {
    qb__text text = {0};
    cJSON *object = NULL;
    if (qb__geometry_to_json(geometry, &text) == QB_OK && !text.failed) qb__json_parse(text.data, &object);
    qb__text_clear(&text);
    cJSON_AddItemToObject(provenance, key, qb__json_kept(object));
    if (radians && qb__angles_follow(geometry, radians)) cJSON_AddTrueToObject(provenance, follow_key);
}

void qb__circle_keep(const qb__kept_circle *c, const qb_detector *detector, size_t views, const double *radians,
                     cJSON *provenance) {
    const double pixel[2] = {detector->pixel_u, detector->pixel_v > 0 ? detector->pixel_v : detector->pixel_u},
                 tilt[3] = {c->tilt[0], c->tilt[1], 0};
    cJSON *object = cJSON_AddObjectToObject(provenance, key);
    cJSON_AddNumberToObject(object, "quickbeam_geometry", 1);
    cJSON_AddStringToObject(object, "units", "mm");
    cJSON_AddStringToObject(object, "beam", "cone");
    cJSON_AddNumberToObject(object, "rows", (double)detector->rows);
    cJSON_AddNumberToObject(object, "columns", (double)detector->columns);
    cJSON_AddItemToObject(object, "pixel_size", cJSON_CreateDoubleArray(pixel, 2));
    cJSON_AddNumberToObject(object, "sod", c->sod);
    cJSON_AddNumberToObject(object, "sdd", c->sdd);
    if (isfinite(c->offset[0])) cJSON_AddItemToObject(object, "offset", cJSON_CreateDoubleArray(c->offset, 2));
    if (tilt[0] != 0 || tilt[1] != 0) cJSON_AddItemToObject(object, "tilt_degrees", cJSON_CreateDoubleArray(tilt, 3));
    cJSON *list = cJSON_AddArrayToObject(object, "angles_degrees");
    for (size_t i = 0; i < views; i++) cJSON_AddItemToArray(list, cJSON_CreateNumber(radians[i] * (180 / M_PI)));
    if (c->rows_down) cJSON_AddTrueToObject(provenance, down_key);
}

static double number(const cJSON *object, const char *name, int index, double missing) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    if (index >= 0) item = cJSON_GetArrayItem(item, index);
    return cJSON_IsNumber(item) ? item->valuedouble : missing;
}

static qb__kept_circle circle_of(const cJSON *object) {
    return (qb__kept_circle){.sod = number(object, "sod", -1, 0),
                             .sdd = number(object, "sdd", -1, 0),
                             .offset = {number(object, "offset", 0, NAN), number(object, "offset", 1, NAN)},
                             .tilt = {number(object, "tilt_degrees", 0, 0), number(object, "tilt_degrees", 1, 0)}};
}

qb_status qb__geometry_kept(const char *path, qb_geometry *geometry, qb__kept_circle *circle) {
    const qb__format *format;
    cJSON *provenance = NULL;
    *geometry = (qb_geometry){0};
    qb_status status = qb__format_to_read(path, &format);
    if (status == QB_OK && format->provenance) status = format->provenance(path, &provenance);
    const cJSON *object = status == QB_OK ? cJSON_GetObjectItemCaseSensitive(provenance, key) : NULL;
    *circle = circle_of(object);
    circle->rows_down = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(provenance, down_key));
    circle->angles_follow = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(provenance, follow_key));
    if (object) status = qb__geometry_of_json(object, geometry);
    cJSON_Delete(provenance);
    return status;
}
