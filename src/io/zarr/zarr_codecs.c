/* SPDX-License-Identifier: MIT */
/* The codecs of a Zarr array: byte order, shards, checksums and one compressor. */
#include "base/status.h"
#include "io/zarr/zarr.h"

static const struct {
    const char *name;
    qb__codec_kind kind;
} codecs[] = {{"gzip", QB__CODEC_GZIP}, {"zlib", QB__CODEC_ZLIB},           {"numcodecs.zlib", QB__CODEC_ZLIB},
              {"zstd", QB__CODEC_ZSTD}, {"numcodecs.zstd", QB__CODEC_ZSTD}, {"blosc", QB__CODEC_BLOSC}};

qb_status qb__zarr_compressor(const char *path, const char *name, qb__zarr_array *a) {
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

/* The byte order of the codec `bytes` for numbers of `size` bytes. */
static qb_status order_of(const char *path, const cJSON *codec, size_t size, bool *big) {
    const char *word = qb__zarr_text(qb__zarr_item(codec, "configuration"), "endian");
    *big = strcmp(word, "big") == 0;
    if (*big || strcmp(word, "little") == 0 || (size == 1 && !*word)) return QB_OK;
    return qb__fail(QB_BAD_INPUT, "%s: its byte order is '%.40s': correct endian to little or big", path, word);
}

static qb_status index_codecs_of(const char *path, const cJSON *list, qb__zarr_array *a) {
    const cJSON *codec;
    cJSON_ArrayForEach(codec, list) {
        bool big = false;
        if (qb__zarr_is(codec, "crc32c")) {
            a->index_checked = true;
            continue;
        }
        QB__OR_RETURN(qb__zarr_is(codec, "bytes") ? order_of(path, codec, 8, &big) : QB_OK);
        if (!qb__zarr_is(codec, "bytes") || big)
            return qb__fail(QB_UNSUPPORTED, "%s: the index of its shards is by %.40s: save it by bytes and crc32c",
                            path, qb__zarr_text(codec, "name"));
    }
    return QB_OK;
}

static qb_status codecs_of(const char *path, const cJSON *list, bool inner, qb__zarr_array *a);

static qb_status shard_of(const char *path, const cJSON *about, qb__zarr_array *a) {
    a->sharded = true;
    const char *where = qb__zarr_text(about, "index_location");
    a->index_first = strcmp(where, "start") == 0;
    if (*where && !a->index_first && strcmp(where, "end") != 0)
        return qb__fail(QB_BAD_INPUT, "%s: its index_location is '%.40s': correct it to start or end", path, where);
    QB__OR_RETURN(
        qb__zarr_sizes(path, "chunk_shape of shards", qb__zarr_item(about, "chunk_shape"), a->axes, a->chunk));
    for (int i = 0; i < 3; i++) {
        if (a->file[i] % a->chunk[i] == 0) continue;
        return qb__fail(QB_BAD_INPUT, "%s: shards of %zu are no multiple of its chunks of %zu", path, a->file[i],
                        a->chunk[i]);
    }
    QB__OR_RETURN(index_codecs_of(path, qb__zarr_item(about, "index_codecs"), a));
    return codecs_of(path, qb__zarr_item(about, "codecs"), true, a);
}

static qb_status codecs_of(const char *path, const cJSON *list, bool inner, qb__zarr_array *a) {
    qb_status status = QB_OK;
    bool bytes = false;
    const cJSON *codec;
    cJSON_ArrayForEach(codec, list) {
        const bool shards = qb__zarr_is(codec, "sharding_indexed") && !inner && cJSON_GetArraySize(list) == 1;
        if (bytes && (shards || qb__zarr_is(codec, "bytes")))
            return qb__fail(QB_BAD_INPUT, "%s: its codecs name 'bytes' twice: correct them", path);
        bytes |= shards || qb__zarr_is(codec, "bytes");
        if (qb__zarr_is(codec, "bytes"))
            status = order_of(path, codec, qb_dtype_size(a->dtype), &a->swap);
        else if (shards)
            status = shard_of(path, qb__zarr_item(codec, "configuration"), a);
        else if (qb__zarr_is(codec, "crc32c"))
            a->checked = true;
        else
            status = qb__zarr_compressor(path, qb__zarr_word(codec), a);
        if (status != QB_OK) return status;
    }
    if (bytes) return QB_OK;
    return qb__fail(QB_BAD_INPUT, "%s: its codecs do not name 'bytes' or 'sharding_indexed': add what wrote it", path);
}

qb_status qb__zarr_codecs(const char *path, const cJSON *list, qb__zarr_array *a) {
    return codecs_of(path, list, false, a);
}
