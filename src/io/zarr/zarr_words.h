/* SPDX-License-Identifier: MIT */
#pragma once

#include <string.h>

#include "base/json.h"
#include "io/zarr/zarr.h"

/* The metadata of an array, as JSON. */
static inline const char *qb__zarr_text(const cJSON *object, const char *key) {
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
    return text ? text : "";
}

static inline const cJSON *qb__zarr_item(const cJSON *object, const char *key) {
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

/* The name of a codec, a type ...: a text, or a member of an object. */
static inline const char *qb__zarr_word(const cJSON *item) {
    return cJSON_IsString(item) ? cJSON_GetStringValue(item) : qb__zarr_text(item, "name");
}

static inline bool qb__zarr_is(const cJSON *item, const char *name) { return strcmp(qb__zarr_word(item), name) == 0; }

/* Reads the sizes of the last three axes; those before them must be 1. `name`: what they are, for the message. */
qb_status qb__zarr_sizes(const char *path, const char *name, const cJSON *list, int axes, size_t n[3]);
/* Reads the type's name into array->dtype and array->swap; array->version must be set. */
qb_status qb__zarr_type(const char *path, const char *name, qb__zarr_array *array);
/* Reads the value of missing chunks; null leaves it open. The type must be set. */
qb_status qb__zarr_fill(const char *path, const cJSON *fill, qb__zarr_array *array);
/* Reads the codecs of version 3, a list. Type, shape and array->file must be set. */
qb_status qb__zarr_codecs(const char *path, const cJSON *list, qb__zarr_array *array);
/* Reads the name of the only compressor. */
qb_status qb__zarr_compressor(const char *path, const char *name, qb__zarr_array *array);
