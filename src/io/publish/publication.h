/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_PUBLICATION_H
#define QB_IO_PUBLICATION_H

#include <stdint.h>

#include "io/publish/staging.h"
#include "quickbeam/env.h"

/* The files of one run, which get their names together or not at all, wherever the run is killed.
 * This is the only place that gives names to files.
 *
 * Each is made in a hidden folder beside its name (staging.h). One file, or one new folder, gets its
 * name by one rename. What takes more steps is a set: once all of it is whole, the file `set` of
 * the first folder says what belongs together; then everything older moves away, the first output
 * before the others; then everything new moves in, the first output last. So the first output is
 * there only together with all the others. A step that fails is undone with those before it; a set
 * whose process died is finished, or undone where nothing new is in place yet, by the next run that
 * writes there, or that looks for the output (qb__recover). Nothing older is removed before all that
 * is new has its name. */
typedef struct qb__publication qb__publication;

qb_status qb__publication_create(const qb_env *env, qb__publication **publication);
/* Where to write what will be the file at `path`: *fresh does not exist yet, and is the
 * publication's. Links are followed, so that a link stays and what it leads to is replaced.
 * QB_BAD_ARGUMENT for a path that is a pipe, a device or a folder. */
qb_status qb__publication_file(qb__publication *publication, const char *path, const char **fresh);
/* An empty folder, whose files will be those of `folder`: it becomes that where there is none, and
 * they join the others in it where there is one. `label`, whose they are then (staging.h), is lent for the call; NULL = none. */
qb_status qb__publication_folder(qb__publication *publication, const char *folder, const char *label,
                                 const char **fresh);
/* An empty folder, which takes the name as a whole; a folder that is there goes then, as an older file would. */
qb_status qb__publication_store(qb__publication *publication, const char *path, const char **fresh);
/* The first file or folder that is asked for next is, where a run that is over left it with something done (staging.h),
 * that one: *fresh is there then. Whether it is what is wanted `look` says, given the hidden folder, before anything in it
 * is touched; nothing is where that fails. */
void qb__publication_resume(qb__publication *publication, qb_status (*look)(void *self, const char *folder),
                            void *self);
bool qb__publication_takes_up(const qb__publication *publication); /* whether it resumes a kept output; NULL-safe */
bool qb__publication_taken_up(const qb__publication *publication); /* and there was one; NULL-safe */
/* Give all their names; what was written to files is on the disk already (fsync), folders are
 * flushed here. Destroys the publication, also on failure: then nothing has changed. */
qb_status qb__publication_commit(qb__publication *publication);
/* Remove what was made, but the first of which something is done; NULL-safe. */
void qb__publication_abort(qb__publication *publication);

/* Finish or undo the sets whose process died while it gave their names to files in `folder`. With
 * `leftovers`, other hidden folders that nobody owns any more are removed, and named to env, but for those in which
 * something is done. */
void qb__recover(const char *folder, bool leftovers, const qb_env *env);
/* qb__recover with leftovers, also of hidden folders with finished parts whose names begin with this prefix (qb__staging_prefix). `spare`:
 * a resumed run keeps these. `tell`: name the folders that stay. */
void qb__recover_for(const char *folder, const char *prefix, bool spare, bool tell, const qb_env *env);

/* QB_NO_SPACE, naming both numbers, when `folder`, where `path` is to be put, has less room than `bytes`, even once what killed
 * runs left there is removed: nothing is while there is enough. Of what can be gone on with only that of `path` goes; the rest
 * is named to env. */
qb_status qb__recover_space(const char *folder, const char *path, uint64_t bytes, const qb_env *env);
const qb_env *qb__publication_env(const qb__publication *publication); /* NULL-safe */

/* A whole file, as a set of its own. */
qb_status qb__publish_bytes(const char *path, const void *data, size_t bytes);
/* Write the content into a file without a final name, flushed to the disk. `path` is for messages. */
qb_status qb__write_fresh(const char *fresh, const char *path, const void *data, size_t bytes);

#endif
