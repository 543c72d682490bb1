/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_ZARR_H
#define QB_IO_ZARR_H

#include "io/codec/codec.h"
#include "io/text.h"
#include "io/writer.h"

/* Zarr (zarr-specs.readthedocs.io): a folder of a JSON text and of files with chunks of an array; versions 2 and 3.
 * OME-Zarr (ngff.openmicroscopy.org) 0.4 and 0.5 say on top of them which arrays are one volume at several
 * resolutions. */
enum { QB__ZARR_AXES = 5, QB__ZARR_LEVELS = 8 };
#define QB__ZARR_FRESH ".new-" /* files without their names begin so */

/* One array. Axes before the last three have one index each. */
typedef struct qb__zarr_array {
    int version, axes; /* 2 or 3; 1 to QB__ZARR_AXES */
    qb_dtype dtype;
    size_t shape[3];
    size_t file[3];  /* numbers that one file holds along z, y, x */
    size_t chunk[3]; /* numbers that are compressed together; where a file is a shard there are several in it */
    bool sharded, index_first, index_checked;
    bool swap, checked; /* the numbers' byte order is not ours; a checksum follows each chunk */
    qb__codec_kind codec;
    char separator; /* between the numbers in a file's name */
    bool prefixed;  /* names begin with c */
    double fill;    /* value of missing chunks */
} qb__zarr_array;

/* Chunks in a file, and bytes of an unpacked one. */
size_t qb__zarr_chunks(const qb__zarr_array *array);
size_t qb__zarr_bytes(const qb__zarr_array *array);
/* FOLDER/c/Z/Y/X */
void qb__zarr_name(const qb__zarr_array *array, const char *folder, const size_t at[3], char *name, size_t room);

/* Levels of a volume, each half of the one before, as this program writes them; returns how many. */
int qb__zarr_levels(const qb_stack *stack, int version, qb__codec_kind codec, qb__zarr_array level[QB__ZARR_LEVELS]);

/* FOLDER/zarr.json, or .zarray, of an array. */
qb_status qb__zarr_put_array(const char *folder, const char *path, const qb__zarr_array *array, bool projections);
/* The same for the group that holds the levels; `json` is an object with our own notes. */
qb_status qb__zarr_put_group(const char *folder, const qb_writer *writer, const qb__zarr_array *level, int levels,
                             const char *json);

/* What a folder is: its attributes, NULL when it says none, which the caller deletes, and whether it is an array.
 * QB_NOT_FOUND: neither that nor a group. */
qb_status qb__zarr_load(const char *folder, qb__zarr_array *array, bool *is_array, cJSON **attributes);

/* `out` = the mean of 2 x 2 x 2 numbers of two images, the last of which may be missing (NULL): rows first..end - 1 of
 * an image that is half as large. Values that are no numbers do not count. */
void qb__zarr_halve(qb_dtype dtype, const void *a, const void *b, size_t rows, size_t columns, size_t first, size_t end,
                    void *out);

/* Packs the chunks of a layer of files: `data` are its images, densely or `stride` bytes apart. */
qb_status qb__zarr_put_layer(const qb__zarr_array *array, const char *folder, const char *path, size_t layer,
                             const void *data, size_t stride, size_t threads);
/* Its files are on the disk. */
qb_status qb__zarr_sync_layer(const qb__zarr_array *array, const char *folder, const char *path, size_t layer,
                              size_t threads);
/* What each thread of that holds. */
size_t qb__zarr_layer_memory(const qb__zarr_array *array);

#endif
