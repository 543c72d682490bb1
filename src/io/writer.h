/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_WRITER_H
#define QB_IO_WRITER_H

#include "io/publish/paths.h"
#include "io/writer_kind.h"

/* As qb_writer_create and qb_writer_commit, but the file gets its name together with the others of
 * `set`, whose commit is the caller's; or, where set is NULL, is made as `part` and stays there. */
qb_status qb__writer_create(qb__publication *set, const char *part, const char *path, const qb_stack *stack,
                            qb_writer **writer);
/* qb_writer_write, for which images that are in their place already (data NULL) count as written. */
qb_status qb__writer_write(qb_writer *writer, size_t first, size_t end, const void *data);
/* Whole and on the disk. Destroys the writer, also on failure. */
qb_status qb__writer_finish(qb_writer *writer, const char *provenance);

/* For the ranks of one job: the one that created says where, others join, write and are flushed, and the first has
 * `written` of all before it finishes. A joined writer gives no names and is to be aborted. */
qb_status qb__writer_locate(const qb_writer *writer, qb__writer_location *place);
qb_status qb__writer_join(const qb__writer_location *place, const char *path, const qb_stack *stack,
                          qb_writer **writer);
qb_status qb__writer_flush(qb_writer *writer);
size_t qb__writer_marks(const qb_writer *writer); /* bytes of `written` */

/* All images that were written are on the disk; more may follow. */
qb_status qb__writer_sync(const qb_writer *writer);
/* The hidden folder (staging.h) that it writes into, whole; qb__free it. */
qb_status qb__writer_staging(const qb_writer *writer, char **folder);
/* Whether what such a stack becomes at `path` can be gone on with; else why not. */
const char *qb__writer_for_good(const char *path, const qb_stack *stack);
/* Whether the format of that name can state the axis of a parallel beam. */
bool qb__writer_keeps_axis(const char *path);
/* Of what was taken up those images are there; else QB_BAD_INPUT. They count as written from now on. */
qb_status qb__writer_has(const qb_writer *writer, const unsigned char *images);
void qb__writer_count(qb_writer *writer, size_t first, size_t end);

/* Threads as many as `env` computes with. */
void qb__writer_limit(qb_writer *writer, const qb_env *env);
/* Images to where they belong in writer->fd. */
qb_status qb__write_images(qb_writer *writer, size_t first, size_t end, const void *data);
/* Whether images are compressed by that name of --compress; and those of a writer. */
bool qb__compresses(const char *compress);
bool qb__packs(const qb_writer *writer);
bool qb__stack_is_projections(const qb_stack *stack);

/* Can a picture be written there? Its folder exists and may be written to, and this build has PNG. */
qb_status qb__preview_check(const char *path);
/* The values that a picture shows black and white: 0.5 and 99.5 percentiles of those that are numbers. */
qb_status qb__grey_window(const float *values, size_t count, double *low, double *high);
/* qb_preview_write as one of a set. */
qb_status qb__preview_write(qb__publication *set, const char *path, const float *image, size_t nx, size_t ny,
                            double low, double high);

/* Everything about the stack and its provenance as one JSON object; release with qb__free. */
qb_status qb__stack_json(const qb_writer *writer, const char *provenance, char **text);
/* Write that object into PATH.json, which appears together with the data. */
qb_status qb__write_sidecar(qb_writer *writer, const char *provenance);

#endif
