/* SPDX-License-Identifier: MIT */
/* Reads the metadata of a Zarr folder. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/status.h"
#include "io/formats.h"
#include "io/text.h"
#include "io/zarr/zarr.h"

enum { TEXT_MOST = 64 << 20 };

static qb_status shape_of(const char *path, const cJSON *root, qb__zarr_array *a) {
    const cJSON *shape = qb__zarr_item(root, "shape");
    a->axes = cJSON_GetArraySize(shape);
    if (a->axes < 1 || a->axes > QB__ZARR_AXES)
        return qb__fail(QB_UNSUPPORTED, "%s: an array of %d axes; 1 to %d can be read", path, a->axes, QB__ZARR_AXES);
    return qb__zarr_sizes(path, "shape", shape, a->axes, a->shape);
}

/* ---- words ---- */

/* The separator of numbers in names of files. */
static qb_status separator_of(const char *path, const cJSON *item, char usual, qb__zarr_array *a) {
    const char *text = cJSON_GetStringValue(item);
    a->separator = usual;
    if (!item || cJSON_IsNull(item)) return QB_OK;
    if (!text || (strcmp(text, "/") != 0 && strcmp(text, ".") != 0))
        return qb__fail(QB_BAD_INPUT, "%s: its separator of chunk names is '%.40s': correct it to '.' or '/'", path,
                        text ? text : "no text");
    a->separator = *text;
    return QB_OK;
}

static qb_status check_version(const char *folder, const char *file, const cJSON *root, int version) {
    const double stated = cJSON_GetNumberValue(qb__zarr_item(root, "zarr_format"));
    if (stated == version) return QB_OK;
    if (isnan(stated))
        return qb__fail(QB_BAD_INPUT, "%s/%s: its zarr_format is missing: add %d", folder, file, version);
    return qb__fail(QB_UNSUPPORTED, "%s/%s: its zarr_format is %g, and %d is needed: save it in version 2 or 3 of Zarr",
                    folder, file, stated, version);
}

/* ---- arrays ---- */

static qb_status check_transformers(const char *path, const cJSON *list) {
    const int count = cJSON_GetArraySize(list);
    if (count < 1) return QB_OK;
    return qb__fail(QB_UNSUPPORTED,
                    "%s: its chunks are stored through %d storage_transformers, the first is '%.40s': "
                    "save it without",
                    path, count, qb__zarr_word(cJSON_GetArrayItem(list, 0)));
}

static qb_status array_3(const char *path, const cJSON *root, qb__zarr_array *a) {
    const cJSON *grid = qb__zarr_item(root, "chunk_grid"), *keys = qb__zarr_item(root, "chunk_key_encoding");
    qb_status status;
    a->version = 3;
    a->prefixed = !qb__zarr_is(keys, "v2");
    if (keys && a->prefixed && !qb__zarr_is(keys, "default"))
        QB__TRY(qb__fail(QB_UNSUPPORTED, "%s: its chunk_key_encoding is '%.40s': save it by 'default' or 'v2'", path,
                         qb__zarr_text(keys, "name")));
    QB__TRY(separator_of(path, qb__zarr_item(qb__zarr_item(keys, "configuration"), "separator"),
                         a->prefixed ? '/' : '.', a));
    QB__TRY(shape_of(path, root, a));
    QB__TRY(qb__zarr_type(path, qb__zarr_word(qb__zarr_item(root, "data_type")), a));
    QB__TRY(qb__zarr_fill(path, qb__zarr_item(root, "fill_value"), a));
    if (!qb__zarr_is(grid, "regular")) {
        status =
            qb__fail(QB_UNSUPPORTED, "%s: its grid of chunks is %.24s, not regular", path, qb__zarr_text(grid, "name"));
        goto out;
    }
    QB__TRY(qb__zarr_sizes(path, "chunk_shape", qb__zarr_item(qb__zarr_item(grid, "configuration"), "chunk_shape"),
                           a->axes, a->file));
    memcpy(a->chunk, a->file, sizeof a->chunk);
    QB__TRY(check_transformers(path, qb__zarr_item(root, "storage_transformers")));
    status = qb__zarr_codecs(path, qb__zarr_item(root, "codecs"), a);
out:
    return status;
}

static qb_status array_2(const char *path, const cJSON *root, qb__zarr_array *a) {
    const char *order = qb__zarr_text(root, "order");
    const cJSON *compressor = qb__zarr_item(root, "compressor"), *filters = qb__zarr_item(root, "filters");
    qb_status status;
    a->version = 2;
    QB__TRY(check_version(path, ".zarray", root, 2));
    QB__TRY(separator_of(path, qb__zarr_item(root, "dimension_separator"), '.', a));
    QB__TRY(shape_of(path, root, a));
    QB__TRY(qb__zarr_type(path, qb__zarr_text(root, "dtype"), a));
    QB__TRY(qb__zarr_fill(path, qb__zarr_item(root, "fill_value"), a));
    QB__TRY(qb__zarr_sizes(path, "chunks", qb__zarr_item(root, "chunks"), a->axes, a->file));
    memcpy(a->chunk, a->file, sizeof a->chunk);
    if (qb__zarr_item(root, "order") && strcmp(order, "C") != 0 && strcmp(order, "F") != 0)
        status = qb__fail(QB_BAD_INPUT, "%s: its order is '%.40s': correct it to C or F", path, order);
    else if (*order == 'F' && a->axes > 1)
        status = qb__fail(QB_UNSUPPORTED, "%s: its chunks are in Fortran order: save it in C order", path);
    else if (cJSON_GetArraySize(filters) > 0)
        status = qb__fail(QB_UNSUPPORTED, "%s: its chunks went through filters (%.24s): save it without", path,
                          qb__zarr_text(cJSON_GetArrayItem(filters, 0), "id"));
    else if (cJSON_IsObject(compressor))
        status = qb__zarr_compressor(path, qb__zarr_text(compressor, "id"), a);
out:
    return status;
}

/* Each chunk is searched by its name: many chunks of a few values would take hours, even if they do not exist. */
static qb_status check_small_chunks(const char *path, const qb__zarr_array *a, size_t bytes) {
    const size_t most = (size_t)1 << 20, small = 4096;
    double chunks = 1;
    for (int i = 0; i < 3; i++) chunks *= (double)qb__ceil_div(a->shape[i], a->chunk[i]);
    if (bytes >= small || chunks <= (double)most) return QB_OK;
    return qb__fail(QB_BAD_INPUT, "%s: it has %.3g chunks of %zu bytes each: store it in chunks of %zu bytes or more",
                    path, chunks, bytes, small);
}

static qb_status check_bytes(const char *path, const qb__zarr_array *a) {
    const size_t most = (size_t)1 << 31;
    size_t bytes, all;
    if (!qb__mul(a->chunk[0], a->chunk[1], a->chunk[2], &bytes) ||
        !qb__mul(bytes, qb_dtype_size(a->dtype), 1, &bytes) || bytes >= most)
        return qb__fail(QB_BAD_INPUT, "%s: its chunks of %zu x %zu x %zu are too large", path, a->chunk[0], a->chunk[1],
                        a->chunk[2]);
    if (!qb__mul(a->file[0] / a->chunk[0], a->file[1] / a->chunk[1], a->file[2] / a->chunk[2], &all) || all > most / 64)
        return qb__fail(QB_BAD_INPUT, "%s: its shards hold %zu x %zu x %zu chunks, which are too many", path,
                        a->file[0] / a->chunk[0], a->file[1] / a->chunk[1], a->file[2] / a->chunk[2]);
    if (!qb__mul(a->shape[0], a->shape[1], a->shape[2], &all) || !qb__mul(all, qb_dtype_size(a->dtype), 1, &all))
        return qb__fail(QB_BAD_INPUT, "%s: its shape %zu x %zu x %zu is too large", path, a->shape[0], a->shape[1],
                        a->shape[2]);
    return check_small_chunks(path, a, bytes);
}

/* ---- folders ---- */

/* Read a JSON file of the folder; *root is NULL if there is no such file. */
static qb_status read_json(const char *folder, const char *file, cJSON **root) {
    char *name = qb__join(folder, file), *text = NULL;
    *root = NULL;
    if (!name) return qb__fail(QB_NO_MEMORY, "%s: no memory for its name", folder);
    const bool there = access(name, F_OK) == 0;
    uint64_t bytes;
    qb_status status = there ? qb__file_size(name, &bytes) : QB_OK;
    if (there && status == QB_OK) status = qb__read_text(name, TEXT_MOST, &text);
    if (text) {
        status = qb__json_parse(text, root);
        if (status == QB_BAD_INPUT)
            status = qb__fail(QB_BAD_INPUT, "%s is not valid JSON: it may be incomplete, copy it again", name);
        if (status == QB_OK && !cJSON_IsObject(*root)) status = qb__fail(QB_BAD_INPUT, "%s is not a JSON object", name);
    }
    if (status != QB_OK) {
        cJSON_Delete(*root);
        *root = NULL;
    }
    QB__FREE(text, name);
    return status;
}

/* Version 3 forbids to read what has members that are not known, unless they say that they need not be understood. */
static qb_status check_members(const char *folder, const cJSON *root) {
    static const char *const known[] = {"zarr_format", "node_type", "attributes",           "consolidated_metadata",
                                        "shape",       "data_type", "chunk_grid",           "chunk_key_encoding",
                                        "fill_value",  "codecs",    "storage_transformers", "dimension_names"};
    const cJSON *item;
    cJSON_ArrayForEach(item, root) {
        bool fine = cJSON_IsFalse(qb__zarr_item(item, "must_understand"));
        for (size_t i = 0; i < sizeof known / sizeof *known; i++) fine |= strcmp(item->string, known[i]) == 0;
        if (!fine)
            return qb__fail(QB_UNSUPPORTED,
                            "%s/zarr.json: its '%.40s' is not known, so it must not be read: save it "
                            "without",
                            folder, item->string);
    }
    return QB_OK;
}

static qb_status load_3(const char *folder, cJSON *root, qb__zarr_array *a, bool *is_array, cJSON **attributes) {
    const char *type = qb__zarr_text(root, "node_type");
    qb_status status = check_version(folder, "zarr.json", root, 3);
    *is_array = strcmp(type, "array") == 0;
    if (status == QB_OK && !*is_array && strcmp(type, "group") != 0)
        status = qb__fail(QB_BAD_INPUT, "%s/zarr.json: its node_type is '%.40s': correct it to array or group", folder,
                          type);
    if (status == QB_OK) status = check_members(folder, root);
    if (status == QB_OK && *is_array) status = array_3(folder, root, a);
    if (status == QB_OK) *attributes = cJSON_DetachItemFromObject(root, "attributes");
    cJSON_Delete(root);
    return status;
}

qb_status qb__zarr_load(const char *folder, qb__zarr_array *a, bool *is_array, cJSON **attributes) {
    cJSON *root, *group = NULL;
    *a = (qb__zarr_array){.axes = 0};
    *is_array = false;
    *attributes = NULL;
    qb_status status = read_json(folder, "zarr.json", &root);
    if (status == QB_OK && root) {
        status = load_3(folder, root, a, is_array, attributes);
        return status == QB_OK && *is_array ? check_bytes(folder, a) : status;
    }
    if (status == QB_OK) status = read_json(folder, ".zarray", &root);
    if (status == QB_OK && root) {
        *is_array = true;
        status = array_2(folder, root, a);
        if (status == QB_OK) status = check_bytes(folder, a);
    } else if (status == QB_OK) {
        status = read_json(folder, ".zgroup", &group);
        if (status == QB_OK && !group)
            status = qb__fail(QB_NOT_FOUND, "%s holds none of zarr.json, .zarray and .zgroup: it is not Zarr", folder);
        else if (status == QB_OK)
            status = check_version(folder, ".zgroup", group, 2);
    }
    if (status == QB_OK) status = read_json(folder, ".zattrs", attributes);
    cJSON_Delete(root);
    cJSON_Delete(group);
    return status;
}
