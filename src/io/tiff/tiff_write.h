/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

#include "base/inputs.h"
#include "io/writer.h"
#include "quickbeam/io.h"

/* A series of files, one for each image: FOLDER/PREFIX00042SUFFIX. They are written into the staging folder `part`,
 * owned by the publication, until all are complete. */
typedef struct qb__series {
    char *folder;
    const char *part;
    char *prefix, *suffix;
    int digits;
} qb__series;

/* Begins a series for a folder or for name_%05d.tif and adds it to the file set. Refuses a folder that contains files
 * of other names, and a folder in which images first .. first + count - 1 would replace only some of the images: old
 * and new ones would look like one series. `word`: beginning of the file names if `path` is a folder. */
qb_status qb__series_begin(const char *path, const char *word, size_t first, size_t count, qb__publication *set,
                           qb__series *series);
/* QB_BAD_ARGUMENT if one of those images would replace an input file. */
qb_status qb__series_protect_inputs(const char *path, const char *word, size_t first, size_t count,
                                    const qb__inputs *inputs);
/* Whether `file` is the name of one of those images, or a link to it. */
qb_status qb__series_holds(const char *path, const char *word, size_t first, size_t count, const char *file,
                           bool *holds);
/* Whether two series would use the same image names in the same folder. */
qb_status qb__series_meet(const char *a, const char *word_a, const char *b, const char *word_b, bool *meet);
enum { QB__NAME_ROOM = 4096 };
/* Opens a series in the staging folder `part`, which another process has created. */
qb_status qb__series_join(const char *path, const char *word, const char *part, qb__series *series);
/* Splits the name of a series into folder, prefix, suffix and digits. Call qb__series_release also after a failure. */
qb_status qb__series_split(const char *path, const char *word, qb__series *series);
/* The label of the series' staging folder, inside a folder that exists (staging.h). */
void qb__series_label_of(const qb__series *series, char label[QB__NAME_ROOM]);
qb_status qb__series_label(const char *path, const char *word, char label[QB__NAME_ROOM]);
/* The name of image `number` in the staging folder. */
void qb__series_name(const qb__series *series, size_t number, char name[QB__NAME_ROOM]);
void qb__series_release(qb__series *series);
/* Writes images first .. end - 1 with several threads; `put` writes the file of one image. */
typedef qb_status qb__series_put(qb_writer *writer, size_t image, const void *data);
qb_status qb__series_write(qb_writer *writer, size_t first, size_t end, const void *data, qb__series_put *put);
/* Whether the files of the given images (a bit each) exist and have at least `least` bytes. */
bool qb__series_has(const qb_writer *writer, const qb__series *series, const unsigned char *images, uint64_t least);

/* OME-TIFF. qb__tiff_is_ome: whether the name ends like OME-TIFF. qb__tiff_ome_check: QB_BAD_ARGUMENT if OME-TIFF
 * cannot hold the stack. qb__tiff_ome_text: its XML description; the caller frees *text with qb__free. */
bool qb__tiff_is_ome(const char *path);
qb_status qb__tiff_ome_check(const char *path, const qb_stack *stack, bool series);
qb_status qb__tiff_ome_text(const qb_stack *stack, const char *lines, const char *json, char **text);

/* Writes uncompressed grey-level TIFF without a library: a header, images in one piece each, and then a directory of a
 * few numbers per image. */
typedef struct qb__tiff_layout {
    bool big; /* BigTIFF: 64-bit offsets */
    qb_dtype dtype;
    size_t rows, columns;
    double pixel; /* mm, 0 = unknown */
} qb__tiff_layout;

enum { QB__TIFF_DATA = 64, QB__TIFF_IFD_MOST = 512 };

/* The first 16 bytes of a file whose first directory is at `directory`. */
size_t qb__tiff_header(const qb__tiff_layout *layout, uint64_t directory, unsigned char out[16]);
/* The directory, at `at`, of the image at `data`; the next one is at `next` (0: last). The description of `length`
 * bytes, with its 0, is at `text`; length 0: none. */
size_t qb__tiff_directory(const qb__tiff_layout *layout, uint64_t at, uint64_t data, uint64_t text, size_t length,
                          uint64_t next, unsigned char out[QB__TIFF_IFD_MOST]);
/* Bytes of qb__tiff_directory. */
size_t qb__tiff_directory_bytes(const qb__tiff_layout *layout, size_t length);
