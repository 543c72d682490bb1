/* SPDX-License-Identifier: MIT */
#pragma once

#include <string.h>

#include "base/json.h"
#include "io/codec/codec.h"
#include "io/formats.h"
#include "io/text.h"
#include "io/writer.h"

/* Zarr (zarr-specs.readthedocs.io), versions 2 and 3. An array is a folder with a JSON text and files of chunks.
 * OME-Zarr (ngff.openmicroscopy.org) 0.4 and 0.5 adds which arrays are one volume at several resolutions. */
enum { QB__ZARR_AXES = 5, QB__ZARR_LEVELS = 8 };
#define QB__ZARR_FRESH ".new-" /* prefix of files that do not have their final names yet */

/* One array. If there are more than three axes, those before the last three have length 1. */
typedef struct qb__zarr_array {
    int version, axes; /* 2 or 3; 1 to QB__ZARR_AXES */
    qb_dtype dtype;
    size_t shape[3];
    size_t file[3];  /* numbers in one file along z, y, x */
    size_t chunk[3]; /* numbers that are compressed together; a file that is a shard holds several chunks */
    bool sharded, index_first, index_checked;
    bool swap, checked; /* swap: the byte order is not that of this computer; checked: a checksum follows each chunk */
    qb__codec_kind codec;
    char separator; /* separates the numbers in a file name */
    bool prefixed;  /* file names begin with c */
    double fill;    /* value of missing chunks */
} qb__zarr_array;

/* Number of chunks in a file; bytes of an uncompressed chunk. */
size_t qb__zarr_chunks(const qb__zarr_array *array);
size_t qb__zarr_bytes(const qb__zarr_array *array);
/* The file name FOLDER/c/Z/Y/X of the chunks at `at`. */
void qb__zarr_name(const qb__zarr_array *array, const char *folder, const size_t at[3], char *name, size_t room);

/* Plans the resolution levels of a volume: each has half the resolution of the one before. Returns their number. */
int qb__zarr_levels(const qb_stack *stack, int version, qb__codec_kind codec, qb__zarr_array level[QB__ZARR_LEVELS]);

/* Writes FOLDER/zarr.json or .zarray for an array. */
qb_status qb__zarr_put_array(const char *folder, const char *path, const qb__zarr_array *array, bool projections);
/* Writes the same file for the group that holds the levels. `json`: an object with our own notes. */
qb_status qb__zarr_put_group(const char *folder, const qb_writer *writer, const qb__zarr_array *level, int levels,
                             const char *json);

/* Reads the metadata of a folder. *is_array: whether it is an array. *attributes: its attributes, which the caller
 * deletes; NULL if there are none. QB_NOT_FOUND: the folder is neither an array nor a group. */
qb_status qb__zarr_load(const char *folder, qb__zarr_array *array, bool *is_array, cJSON **attributes);

/* Halves the resolution: out = the mean of 2 x 2 x 2 numbers of the images a and b. b may be NULL: there is no further
 * image. Computes rows first..end - 1 of the image of half size. NaN values are left out of the mean. */
void qb__zarr_halve(qb_dtype dtype, const void *a, const void *b, size_t rows, size_t columns, size_t first, size_t end,
                    void *out);

/* Work that the threads of qb__zarr_put_layer do between chunks; worker < threads. */
typedef struct qb__zarr_more {
    size_t count;
    qb_status (*run)(void *context, size_t piece, size_t worker);
    void *context;
} qb__zarr_more;
/* Compresses and writes the chunks of one layer of files. `data`: the images of the layer, `stride` bytes apart.
 * `memory`: qb__zarr_layer_memory() for each thread. */
qb_status qb__zarr_put_layer(const qb__zarr_array *array, const char *folder, const char *path, size_t layer,
                             const void *data, size_t stride, size_t threads, char *memory, const qb__zarr_more *more);
/* Waits until the files of a layer are on disk. */
qb_status qb__zarr_sync_layer(const qb__zarr_array *array, const char *folder, const char *path, size_t layer,
                              size_t threads);
/* Bytes of memory that each thread of qb__zarr_put_layer needs. */
size_t qb__zarr_layer_memory(const qb__zarr_array *array);

typedef struct qb__zarr {
    qb__source base;
    qb__zarr_array array;
    char *folder; /* folder of the array */
    char fill[8]; /* value of missing chunks */
} qb__zarr;

qb_status qb__zarr_read(qb__source *source, const qb__region *region, void *out);
/* Memory per thread for reading. */
size_t qb__zarr_read_memory(const qb__zarr_array *array);

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
