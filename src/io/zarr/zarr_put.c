/* SPDX-License-Identifier: MIT */
/* Writes the metadata of a Zarr folder. */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "io/formats.h"
#include "io/zarr/zarr.h"

static const char *const axis_names[2][3] = {{"z", "y", "x"}, {"view", "y", "x"}};

static qb_status put_text(const char *folder, const char *file, const char *path, qb__text *text) {
    char *name = qb__join(folder, file);
    qb_status status = name && !text->failed ? QB_OK : qb__fail(QB_NO_MEMORY, "%s: no memory for its header", path);
    if (status == QB_OK) status = qb__write_fresh(name, path, text->data, text->length);
    qb__free(name);
    qb__text_clear(text);
    return status;
}

static void add_sizes(qb__text *text, const char *name, const size_t n[3]) {
    qb__text_add(text, "\"%s\":[%zu,%zu,%zu]", name, n[0], n[1], n[2]);
}

/* ---- version 3 ---- */

static void add_codecs(qb__text *text, const qb__zarr_array *a) {
    static const char little[] = "{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}}";
    qb__text_add(text, "[%s", little);
    if (a->codec == QB__CODEC_GZIP)
        qb__text_add(text, ",{\"name\":\"gzip\",\"configuration\":{\"level\":%d}}", QB__CODEC_LEVEL);
    if (a->codec == QB__CODEC_ZSTD)
        qb__text_add(text, ",{\"name\":\"zstd\",\"configuration\":{\"level\":%d,\"checksum\":false}}", QB__CODEC_LEVEL);
    if (a->codec == QB__CODEC_BLOSC || a->codec == QB__CODEC_BITSHUFFLE)
        qb__text_add(text,
                     ",{\"name\":\"blosc\",\"configuration\":{\"cname\":\"lz4\",\"clevel\":5,\"shuffle\":\"%s\","
                     "\"typesize\":%zu,\"blocksize\":0}}",
                     a->codec == QB__CODEC_BLOSC ? "shuffle" : "bitshuffle", qb_dtype_size(a->dtype));
    qb__text_add(text, "]");
}

static void add_array_3(qb__text *text, const qb__zarr_array *a, bool projections) {
    const char *const *names = axis_names[projections];
    qb__text_add(text, "{\"zarr_format\":3,\"node_type\":\"array\",");
    add_sizes(text, "shape", a->shape);
    qb__text_add(text, ",\"data_type\":\"%s\",\"chunk_grid\":{\"name\":\"regular\",\"configuration\":{",
                 qb_dtype_name(a->dtype));
    add_sizes(text, "chunk_shape", a->file);
    qb__text_add(text,
                 "}},\"chunk_key_encoding\":{\"name\":\"default\",\"configuration\":{\"separator\":\"/\"}},"
                 "\"fill_value\":%s,\"codecs\":[{\"name\":\"sharding_indexed\",\"configuration\":{",
                 qb_dtype_is_float(a->dtype) ? "0.0" : "0");
    add_sizes(text, "chunk_shape", a->chunk);
    qb__text_add(text, ",\"codecs\":");
    add_codecs(text, a);
    qb__text_add(text,
                 ",\"index_codecs\":[{\"name\":\"bytes\",\"configuration\":{\"endian\":\"little\"}},{\"name\":"
                 "\"crc32c\"}],\"index_location\":\"end\"}}],\"attributes\":{},\"dimension_names\":[\"%s\",\"%s\","
                 "\"%s\"],\"storage_transformers\":[]}\n",
                 names[0], names[1], names[2]);
}

/* ---- version 2 ---- */

static char letter(qb_dtype dtype) {
    if (qb_dtype_is_float(dtype)) return 'f';
    return qb_dtype_name(dtype)[0];
}

static void add_compressor(qb__text *text, const qb__zarr_array *a) {
    switch (a->codec) {
    case QB__CODEC_GZIP: qb__text_add(text, "{\"id\":\"gzip\",\"level\":%d}", QB__CODEC_LEVEL); break;
    case QB__CODEC_ZSTD: qb__text_add(text, "{\"id\":\"zstd\",\"level\":%d}", QB__CODEC_LEVEL); break;
    case QB__CODEC_BLOSC:
    case QB__CODEC_BITSHUFFLE:
        qb__text_add(text, "{\"id\":\"blosc\",\"cname\":\"lz4\",\"clevel\":5,\"shuffle\":%d,\"blocksize\":0}",
                     a->codec == QB__CODEC_BLOSC ? 1 : 2);
        break;
    default: qb__text_add(text, "null");
    }
}

static void add_array_2(qb__text *text, const qb__zarr_array *a) {
    const size_t size = qb_dtype_size(a->dtype);
    qb__text_add(text, "{\"zarr_format\":2,");
    add_sizes(text, "shape", a->shape);
    qb__text_add(text, ",");
    add_sizes(text, "chunks", a->file);
    qb__text_add(text, ",\"dtype\":\"%c%c%zu\",\"compressor\":", size == 1 ? '|' : '<', letter(a->dtype), size);
    add_compressor(text, a);
    qb__text_add(text, ",\"fill_value\":%s,\"order\":\"C\",\"filters\":null,\"dimension_separator\":\"/\"}\n",
                 qb_dtype_is_float(a->dtype) ? "0.0" : "0");
}

qb_status qb__zarr_put_array(const char *folder, const char *path, const qb__zarr_array *a, bool projections) {
    qb__text text = {0};
    if (a->version == 3)
        add_array_3(&text, a, projections);
    else
        add_array_2(&text, a);
    return put_text(folder, a->version == 3 ? "zarr.json" : ".zarray", path, &text);
}

/* ---- metadata of the whole ---- */

static cJSON *transform(const char *type, const double n[3]) {
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "type", type);
    cJSON_AddItemToObject(object, type, cJSON_CreateDoubleArray(n, 3));
    return object;
}

/* Add a level. The centre of a block of 2 x 2 x 2 voxels is shifted by half a voxel. */
static void add_level(cJSON *list, const qb_stack *s, int level) {
    const double step = (double)(1 << level);
    char name[16];
    double scale[3], first[3];
    for (int i = 0; i < 3; i++) {
        const double voxel = s->voxel[2 - i] > 0 ? s->voxel[2 - i] : 1;
        scale[i] = step * voxel;
        first[i] = s->offset[2 - i] - 0.5 * ((double)s->shape[i] - 1) * voxel + 0.5 * (step - 1) * voxel;
    }
    snprintf(name, sizeof name, "%d", level);
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "path", name);
    cJSON *both = cJSON_AddArrayToObject(object, "coordinateTransformations");
    cJSON_AddItemToArray(both, transform("scale", scale));
    cJSON_AddItemToArray(both, transform("translation", first));
    cJSON_AddItemToArray(list, object);
}

static cJSON *multiscales(const qb_writer *writer, int levels, bool named) {
    const qb_stack *s = &writer->stack;
    const bool projections = qb__stack_is_projections(s);
    cJSON *list = cJSON_CreateArray(), *object = cJSON_CreateObject();
    cJSON_AddItemToArray(list, object);
    if (named) cJSON_AddStringToObject(object, "version", "0.4");
    cJSON_AddStringToObject(object, "name", qb__last_part(writer->path));
    cJSON *axes = cJSON_AddArrayToObject(object, "axes");
    for (int i = 0; i < 3; i++) {
        cJSON *axis = cJSON_CreateObject();
        cJSON_AddStringToObject(axis, "name", axis_names[projections][i]);
        if (i > 0 || !projections) cJSON_AddStringToObject(axis, "type", "space");
        if ((i > 0 || !projections) && s->voxel[2 - i] > 0) cJSON_AddStringToObject(axis, "unit", "millimeter");
        cJSON_AddItemToArray(axes, axis);
    }
    cJSON *sets = cJSON_AddArrayToObject(object, "datasets");
    for (int i = 0; i < levels; i++) add_level(sets, s, i);
    if (levels > 1) cJSON_AddStringToObject(object, "type", "mean");
    return list;
}

static qb_status put_object(const char *folder, const char *file, const char *path, cJSON *object) {
    char *printed = NULL;
    qb__text text = {0};
    QB__OR_RETURN(qb__json_text(object, "the header of a Zarr group", &printed));
    qb__text_add(&text, "%s\n", printed);
    cJSON_free(printed);
    return put_text(folder, file, path, &text);
}

qb_status qb__zarr_put_group(const char *folder, const qb_writer *writer, const qb__zarr_array *level, int levels,
                             const char *json) {
    const bool three = level->version == 3;
    cJSON *notes = cJSON_Parse(json), *root = cJSON_CreateObject(), *attributes = root;
    if (!notes) {
        cJSON_Delete(root);
        return qb__fail(QB_NO_MEMORY, "%s: no memory for its header", writer->path);
    }
    if (three) {
        cJSON_AddNumberToObject(root, "zarr_format", 3);
        cJSON_AddStringToObject(root, "node_type", "group");
        attributes = cJSON_AddObjectToObject(root, "attributes");
    }
    cJSON *ome = three ? cJSON_AddObjectToObject(attributes, "ome") : attributes;
    if (three) cJSON_AddStringToObject(ome, "version", "0.5");
    cJSON_AddItemToObject(ome, "multiscales", multiscales(writer, levels, !three));
    cJSON_AddItemToObject(attributes, "quickbeam", notes);
    if (three) return put_object(folder, "zarr.json", writer->path, root);
    qb_status status = put_object(folder, ".zattrs", writer->path, root);
    cJSON *group = cJSON_CreateObject();
    cJSON_AddNumberToObject(group, "zarr_format", 2);
    if (status == QB_OK) return put_object(folder, ".zgroup", writer->path, group);
    cJSON_Delete(group);
    return status;
}
