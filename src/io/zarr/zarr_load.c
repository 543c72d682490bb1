/* SPDX-License-Identifier: MIT */
/* Reads the metadata of a Zarr folder. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/json.h"
#include "base/memory.h"
#include "base/status.h"
#include "io/formats.h"
#include "io/text.h"
#include "io/zarr/zarr.h"
#include "quickbeam/io.h"

enum { TEXT_MOST = 64 << 20 };

static const char *text_of(const cJSON *object, const char *key) {
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
    return text ? text : "";
}

static const cJSON *item_of(const cJSON *object, const char *key) {
    return cJSON_GetObjectItemCaseSensitive(object, key);
}

static bool has_name(const cJSON *codec, const char *name) {
    const char *word = cJSON_IsString(codec) ? cJSON_GetStringValue(codec) : text_of(codec, "name");
    return strcmp(word, name) == 0;
}

/* ---- sizes ---- */

/* Read the sizes of the last three axes; those before them must be 1. */
static qb_status sizes_of(const char *path, const char *name, const cJSON *list, int axes, size_t n[3]) {
    enum { MOST = 1 << 30 };
    for (int i = 0; i < 3; i++) n[i] = 1;
    if (cJSON_GetArraySize(list) != axes)
        return qb__fail(QB_BAD_INPUT, "%s: %s has %d numbers, not %d", path, name, cJSON_GetArraySize(list), axes);
    for (int i = 0; i < axes; i++) {
        const double value = cJSON_GetNumberValue(cJSON_GetArrayItem(list, i));
        const int axis = 3 - axes + i;
        if (!(value >= 1 && value <= MOST) || value != floor(value))
            return qb__fail(QB_BAD_INPUT, "%s: number %d of its %s is %g, not one from 1 to %d", path, i + 1, name,
                            value, MOST);
        if (axis < 0 && value > 1)
            return qb__fail(QB_UNSUPPORTED,
                            "%s: axis %d of %d has %s %.0f, and 1 is needed: save one time and one channel of it", path,
                            i + 1, axes, name, value);
        if (axis >= 0) n[axis] = (size_t)value;
    }
    return QB_OK;
}

static qb_status shape_of(const char *path, const cJSON *root, qb__zarr_array *a) {
    const cJSON *shape = item_of(root, "shape");
    a->axes = cJSON_GetArraySize(shape);
    if (a->axes < 1 || a->axes > QB__ZARR_AXES)
        return qb__fail(QB_UNSUPPORTED, "%s: an array of %d axes; 1 to %d can be read", path, a->axes, QB__ZARR_AXES);
    return sizes_of(path, "shape", shape, a->axes, a->shape);
}

/* ---- types ---- */

static const struct {
    const char *two, *three; /* names in versions 2 and 3 */
    qb_dtype dtype;
} types[] = {{"u1", "uint8", QB_U8},    {"i1", "int8", QB_I8},     {"u2", "uint16", QB_U16},
             {"i2", "int16", QB_I16},   {"u4", "uint32", QB_U32},  {"i4", "int32", QB_I32},
             {"f2", "float16", QB_F16}, {"f4", "float32", QB_F32}, {"f8", "float64", QB_F64}};

static qb_status type_of(const char *path, const char *name, qb__zarr_array *a) {
    const bool two = a->version == 2, sized = *name == '<' || *name == '>' || *name == '|';
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(two ? types[i].two : types[i].three, two && sized ? name + 1 : name) != 0) continue;
        a->dtype = types[i].dtype;
        a->swap = two && *name == '>';
        return QB_OK;
    }
    return qb__fail(QB_UNSUPPORTED, "%s: its type %.24s cannot be read: save it as integers of up to 32 bits or floats",
                    path, name);
}

static bool fits_type(double value, qb_dtype dtype) {
    const double most = qb__dtype_most(dtype);
    const bool is_signed = dtype == QB_I8 || dtype == QB_I16 || dtype == QB_I32;
    return isinf(most) || (value == floor(value) && value >= (is_signed ? -most - 1 : 0) && value <= most);
}

/* Words for floats; version 3 may also state their bits, as 0x7fc00000. */
static bool float_of(const char *text, qb_dtype dtype, double *out) {
    const size_t bytes = qb_dtype_size(dtype);
    float single = 0;
    char *end = "";
    if (strcmp(text, "NaN") == 0)
        *out = NAN;
    else if (strcmp(text, "Infinity") == 0 || strcmp(text, "-Infinity") == 0)
        *out = *text == '-' ? -INFINITY : INFINITY;
    else if (strncmp(text, "0x", 2) == 0 && strlen(text) == 2 + 2 * bytes) {
        const uint64_t bits = strtoull(text, &end, 16);
        if (dtype == QB_F64)
            memcpy(out, &bits, sizeof bits);
        else
            qb_convert_to_float(&bits, dtype, 1, &single), *out = (double)single;
    } else
        return false;
    return *end == 0;
}

/* The value of missing chunks; null leaves it open. */
static qb_status fill_of(const char *path, const cJSON *fill, qb__zarr_array *a) {
    const char *text = cJSON_GetStringValue(fill);
    char shown[48] = "";
    if (!fill || cJSON_IsNull(fill)) return QB_OK;
    if (cJSON_IsNumber(fill)) a->fill = fill->valuedouble;
    if (text ? qb_dtype_is_float(a->dtype) && float_of(text, a->dtype, &a->fill)
             : cJSON_IsNumber(fill) && fits_type(a->fill, a->dtype))
        return QB_OK;
    cJSON_PrintPreallocated((cJSON *)fill, shown, sizeof shown, false);
    return qb__fail(QB_BAD_INPUT, "%s: its fill_value %.40s is no %s number: correct it, or write null", path, shown,
                    qb_dtype_name(a->dtype));
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
    const double stated = cJSON_GetNumberValue(item_of(root, "zarr_format"));
    if (stated == version) return QB_OK;
    if (isnan(stated))
        return qb__fail(QB_BAD_INPUT, "%s/%s: its zarr_format is missing: add %d", folder, file, version);
    return qb__fail(QB_UNSUPPORTED, "%s/%s: its zarr_format is %g, and %d is needed: save it in version 2 or 3 of Zarr",
                    folder, file, stated, version);
}

/* ---- codecs ---- */

static const struct {
    const char *name;
    qb__codec_kind kind;
} codecs[] = {{"gzip", QB__CODEC_GZIP}, {"zlib", QB__CODEC_ZLIB},           {"numcodecs.zlib", QB__CODEC_ZLIB},
              {"zstd", QB__CODEC_ZSTD}, {"numcodecs.zstd", QB__CODEC_ZSTD}, {"blosc", QB__CODEC_BLOSC}};

static qb_status codec_of(const char *path, const char *name, qb__zarr_array *a) {
    for (size_t i = 0; i < sizeof codecs / sizeof codecs[0]; i++) {
        if (strcmp(codecs[i].name, name) != 0) continue;
        if (a->codec != QB__CODEC_NONE)
            return qb__fail(QB_UNSUPPORTED, "%s: its chunks are compressed twice: save them by one codec", path);
        a->codec = codecs[i].kind;
        return qb__codec_needs(a->codec, path);
    }
    return qb__fail(QB_UNSUPPORTED, "%s: its codec %.40s cannot be read: save it by zstd, blosc or gzip, in C order",
                    path, name);
}

static qb_status index_codecs_of(const char *path, const cJSON *list, qb__zarr_array *a) {
    const cJSON *codec;
    cJSON_ArrayForEach(codec, list) {
        if (has_name(codec, "crc32c"))
            a->index_checked = true;
        else if (!has_name(codec, "bytes") || strcmp(text_of(item_of(codec, "configuration"), "endian"), "big") == 0)
            return qb__fail(QB_UNSUPPORTED, "%s: the index of its shards is by %.40s: save it by bytes and crc32c",
                            path, text_of(codec, "name"));
    }
    return QB_OK;
}

static qb_status codecs_of(const char *path, const cJSON *list, bool inner, qb__zarr_array *a);

static qb_status shard_of(const char *path, const cJSON *about, qb__zarr_array *a) {
    qb_status status;
    a->sharded = true;
    a->index_first = strcmp(text_of(about, "index_location"), "start") == 0;
    QB__TRY(sizes_of(path, "chunk_shape of shards", item_of(about, "chunk_shape"), a->axes, a->chunk));
    for (int i = 0; i < 3; i++) {
        if (a->file[i] % a->chunk[i] == 0) continue;
        status = qb__fail(QB_BAD_INPUT, "%s: shards of %zu are no multiple of its chunks of %zu", path, a->file[i],
                          a->chunk[i]);
        goto out;
    }
    QB__TRY(index_codecs_of(path, item_of(about, "index_codecs"), a));
    status = codecs_of(path, item_of(about, "codecs"), true, a);
out:
    return status;
}

static qb_status codecs_of(const char *path, const cJSON *list, bool inner, qb__zarr_array *a) {
    qb_status status = QB_OK;
    const cJSON *codec;
    cJSON_ArrayForEach(codec, list) {
        const cJSON *about = item_of(codec, "configuration");
        if (has_name(codec, "bytes"))
            a->swap = strcmp(text_of(about, "endian"), "big") == 0;
        else if (has_name(codec, "sharding_indexed") && !inner && cJSON_GetArraySize(list) == 1)
            status = shard_of(path, about, a);
        else if (has_name(codec, "crc32c"))
            a->checked = true;
        else
            status = codec_of(path, cJSON_IsString(codec) ? cJSON_GetStringValue(codec) : text_of(codec, "name"), a);
        if (status != QB_OK) return status;
    }
    return QB_OK;
}

/* ---- arrays ---- */

static qb_status array_3(const char *path, const cJSON *root, qb__zarr_array *a) {
    const cJSON *grid = item_of(root, "chunk_grid"), *keys = item_of(root, "chunk_key_encoding");
    qb_status status;
    a->version = 3;
    a->prefixed = !has_name(keys, "v2");
    if (keys && a->prefixed && !has_name(keys, "default")) {
        status = qb__fail(QB_UNSUPPORTED, "%s: its chunk_key_encoding is '%.40s': save it by 'default' or 'v2'", path,
                          text_of(keys, "name"));
        goto out;
    }
    QB__TRY(separator_of(path, item_of(item_of(keys, "configuration"), "separator"), a->prefixed ? '/' : '.', a));
    QB__TRY(shape_of(path, root, a));
    QB__TRY(type_of(path, text_of(root, "data_type"), a));
    QB__TRY(fill_of(path, item_of(root, "fill_value"), a));
    if (!has_name(grid, "regular")) {
        status = qb__fail(QB_UNSUPPORTED, "%s: its grid of chunks is %.24s, not regular", path, text_of(grid, "name"));
        goto out;
    }
    QB__TRY(sizes_of(path, "chunk_shape", item_of(item_of(grid, "configuration"), "chunk_shape"), a->axes, a->file));
    memcpy(a->chunk, a->file, sizeof a->chunk);
    status = codecs_of(path, item_of(root, "codecs"), false, a);
out:
    return status;
}

static qb_status array_2(const char *path, const cJSON *root, qb__zarr_array *a) {
    const char *order = text_of(root, "order");
    const cJSON *compressor = item_of(root, "compressor"), *filters = item_of(root, "filters");
    qb_status status;
    a->version = 2;
    QB__TRY(check_version(path, ".zarray", root, 2));
    QB__TRY(separator_of(path, item_of(root, "dimension_separator"), '.', a));
    QB__TRY(shape_of(path, root, a));
    QB__TRY(type_of(path, text_of(root, "dtype"), a));
    QB__TRY(fill_of(path, item_of(root, "fill_value"), a));
    QB__TRY(sizes_of(path, "chunks", item_of(root, "chunks"), a->axes, a->file));
    memcpy(a->chunk, a->file, sizeof a->chunk);
    if (item_of(root, "order") && strcmp(order, "C") != 0 && strcmp(order, "F") != 0)
        status = qb__fail(QB_BAD_INPUT, "%s: its order is '%.40s': correct it to C or F", path, order);
    else if (*order == 'F' && a->axes > 1)
        status = qb__fail(QB_UNSUPPORTED, "%s: its chunks are in Fortran order: save it in C order", path);
    else if (cJSON_GetArraySize(filters) > 0)
        status = qb__fail(QB_UNSUPPORTED, "%s: its chunks went through filters (%.24s): save it without", path,
                          text_of(cJSON_GetArrayItem(filters, 0), "id"));
    else if (cJSON_IsObject(compressor))
        status = codec_of(path, text_of(compressor, "id"), a);
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
    qb__free(text);
    qb__free(name);
    return status;
}

static qb_status load_3(const char *folder, cJSON *root, qb__zarr_array *a, bool *is_array, cJSON **attributes) {
    qb_status status = check_version(folder, "zarr.json", root, 3);
    *is_array = strcmp(text_of(root, "node_type"), "array") == 0;
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
