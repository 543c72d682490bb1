/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_TIFF_WRITE_H
#define QB_IO_TIFF_WRITE_H

#include "base/inputs.h"
#include "io/tiff/tiff_ifd.h"
#include "io/writer.h"

/* Where the files of a stack go. FOLDER/PREFIX00042SUFFIX each; written into `part`, the
 * publication's, until all are there. */
typedef struct qb__series {
    char *folder;
    const char *part;
    char *prefix, *suffix;
    int digits;
} qb__series;

/* From a folder or a name_%05d.tif; takes its place in the set. A folder with files of other names in
 * it is refused, and one with images of which first .. first + count - 1 would replace only some:
 * old and new would look like one series. `word` begins the names in a folder. */
qb_status qb__series_begin(const char *path, const char *word, size_t first, size_t count, qb__publication *set,
                           qb__series *series);
/* QB_BAD_ARGUMENT when one of those images would take the place of an input. */
qb_status qb__series_protect_inputs(const char *path, const char *word, size_t first, size_t count,
                                    const qb__inputs *inputs);
/* Whether `file` is, or leads to, the name of one of those images. */
qb_status qb__series_holds(const char *path, const char *word, size_t first, size_t count, const char *file,
                           bool *holds);
/* Whether two series name their images alike in one folder. */
qb_status qb__series_meet(const char *a, const char *word_a, const char *b, const char *word_b, bool *meet);
enum { QB__NAME_ROOM = 4096 };
/* The series that another process has begun, written into `part`. */
qb_status qb__series_join(const char *path, const char *word, const char *part, qb__series *series);
/* Folder, prefix, suffix and digits of the series that `path` names. Release also after a failure. */
qb_status qb__series_split(const char *path, const char *word, qb__series *series);
/* What marks the hidden folder of a series in a folder that exists (staging.h). */
void qb__series_label_of(const qb__series *series, char label[QB__NAME_ROOM]);
qb_status qb__series_label(const char *path, const char *word, char label[QB__NAME_ROOM]);
/* The name of image `number` in the staging folder. */
void qb__series_name(const qb__series *series, size_t number, char name[QB__NAME_ROOM]);
void qb__series_release(qb__series *series);
/* Images first .. end - 1 by `put`, which writes the file of one, by several threads. */
typedef qb_status qb__series_put(qb_writer *writer, size_t image, const void *data);
qb_status qb__series_write(qb_writer *writer, size_t first, size_t end, const void *data, qb__series_put *put);
/* Whether the files of those images, a bit each, are there and as long as that at least. */
bool qb__series_has(const qb_writer *writer, const qb__series *series, const unsigned char *images, uint64_t least);

/* Whether a file is OME-TIFF by its name; QB_BAD_ARGUMENT when that cannot hold the stack; its description, qb__free
 * it. */
bool qb__tiff_is_ome(const char *path);
qb_status qb__tiff_ome_check(const char *path, const qb_stack *stack, bool series);
qb_status qb__tiff_ome_text(const qb_stack *stack, const char *lines, const char *json, char **text);

#endif
