/* SPDX-License-Identifier: MIT */
#include "live_frame.h"

#include <cjson/cJSON.h>
#include <string.h>

enum { HEADER_MOST = 1 << 16 };

static bool type_named(const char *name, qb_dtype *dtype) {
    static const qb_dtype types[] = {QB_U8, QB_U16, QB_I16, QB_U32, QB_F32};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(qb_dtype_name(types[i]), name) == 0) return *dtype = types[i], true;
    return false;
}

static bool count_of(const cJSON *number, double most, size_t *out) {
    const double value = cJSON_IsNumber(number) ? number->valuedouble : -1;
    if (!(value >= 0 && value <= most)) return false;
    *out = (size_t)value;
    return (double)*out == value;
}

bool view_frame_read(const char *text, size_t size, view_frame *f) {
    cJSON *root = size <= HEADER_MOST ? cJSON_ParseWithLength(text, size) : NULL;
    const cJSON *shape = cJSON_GetObjectItem(root, "shape"), *type = cJSON_GetObjectItem(root, "type");
    const cJSON *index = cJSON_GetObjectItem(cJSON_GetObjectItem(root, "image_attributes"), "scan_index");
    size_t which = 0;
    f->dtype = QB_U16;
    const bool good = count_of(cJSON_GetObjectItem(root, "frame"), 1e15, &f->number) &&
                      count_of(cJSON_GetArrayItem(shape, 0), 1 << 20, &f->rows) &&
                      count_of(cJSON_GetArrayItem(shape, 1), 1 << 20, &f->columns) &&
                      count_of(index, VIEW_KINDS - 1, &which) && f->rows && f->columns &&
                      (!cJSON_IsString(type) || type_named(type->valuestring, &f->dtype));
    f->kind = (view_kind)which;
    cJSON_Delete(root);
    return good;
}
