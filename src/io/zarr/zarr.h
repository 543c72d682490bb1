/* SPDX-License-Identifier: MIT */
#pragma once

#include "io/codec/codec.h"
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
