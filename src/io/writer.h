/* SPDX-License-Identifier: MIT */
#pragma once

#include "io/publish/paths.h"
#include "io/writer_kind.h"

/* Like qb_writer_create and qb_writer_commit, but the file gets its name together with the others of `set`, which the
 * caller commits. If `set` is NULL, the file is made as `part` and keeps that name. */
qb_status qb__writer_create(qb__publication *set, const char *part, const char *path, const qb_stack *stack,
                            qb_writer **writer);
/* qb_writer_write; data NULL: the images are in place already and count as written. */
qb_status qb__writer_write(qb_writer *writer, size_t first, size_t end, const void *data);
/* Complete the file and flush it to the disk. Destroys the writer, also after a failure. */
qb_status qb__writer_finish(qb_writer *writer, const char *provenance);

/* For the ranks of one job: the first creates the file and tells its place; others join, write and flush; the first
 * collects `written` of all before it finishes. A joined writer is ended by abort. */
qb_status qb__writer_locate(const qb_writer *writer, qb__writer_location *place);
qb_status qb__writer_join(const qb__writer_location *place, const char *path, const qb_stack *stack,
                          qb_writer **writer);
qb_status qb__writer_flush(qb_writer *writer);
size_t qb__writer_marks(const qb_writer *writer); /* bytes of `written` */

/* Flush all written images to the disk; more may follow. */
qb_status qb__writer_sync(const qb_writer *writer);
/* The absolute path of the hidden folder (staging.h) into which it writes; release with qb__free. */
qb_status qb__writer_staging(const qb_writer *writer, char **folder);
/* Whether an output of such a stack at `path` can be resumed; else the reason. */
const char *qb__writer_for_good(const char *path, const qb_stack *stack);
/* True if the format of that name can store the axis of a parallel beam. */
bool qb__writer_keeps_axis(const char *path);
bool qb__writer_keeps_mask(const char *path); /* the pixels that were not measured */
/* Check that the images of a resumed file exist, else QB_BAD_INPUT. They count as written from now on. */
qb_status qb__writer_has(const qb_writer *writer, const unsigned char *images);
void qb__writer_count(qb_writer *writer, size_t first, size_t end);

/* Use as many threads as `env`. */
void qb__writer_limit(qb_writer *writer, const qb_env *env);
/* Write images to their positions in writer->fd. */
qb_status qb__write_images(qb_writer *writer, size_t first, size_t end, const void *data);
/* True if --compress with that name compresses images; and the same for a writer. */
bool qb__compresses(const char *compress);
bool qb__packs(const qb_writer *writer);
bool qb__stack_is_projections(const qb_stack *stack);

/* Check that a picture can be written there: its folder exists and is writable, and this build has PNG. */
qb_status qb__preview_check(const char *path);
/* Black and white of a picture: the 0.5 and 99.5 percentiles of the finite values. */
qb_status qb__grey_window(const float *values, size_t count, double *low, double *high);
/* qb_preview_write as one file of a set. */
qb_status qb__preview_write(qb__publication *set, const char *path, const float *image, size_t nx, size_t ny,
                            double low, double high);

/* The stack's description and provenance as one JSON object; release with qb__free. */
qb_status qb__stack_json(const qb_writer *writer, const char *provenance, char **text);
/* Write that object into PATH.json, which is published together with the data. */
qb_status qb__write_sidecar(qb_writer *writer, const char *provenance);
