/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

#include "io/publish/staging.h"
#include "quickbeam/env.h"

/* The files of one run, which get their names together or not at all, wherever the run is killed. Only this module
 * gives names to files.
 *
 * Each output is made in a hidden folder next to its name (staging.h). One file, or one new folder, gets its name by
 * one rename. Anything that needs several steps is a set: when all of it is complete, the file `set` in the first
 * folder lists what belongs together; then all older files move away, the first output before the others; then all new
 * files move in, the first output last. So the first output exists only together with all the others. A failed step is
 * undone with the steps before it. A set whose process died is finished, or undone if no new file is in place, by the
 * next run that writes there or looks for the output (qb__recover). Nothing old is removed before all new files have
 * their names. */
typedef struct qb__publication qb__publication;

qb_status qb__publication_create(const qb_env *env, qb__publication **publication);
/* Path for writing the future file `path`: *fresh does not exist yet, and belongs to the publication. Links are
 * followed: the link stays and its target is replaced. QB_BAD_ARGUMENT for a path that is a pipe, a device or a
 * folder. */
qb_status qb__publication_file(qb__publication *publication, const char *path, const char **fresh);
/* An empty folder, whose files will be those of `folder`: it becomes that folder, or its files join those of the
 * existing folder. `label`: owner of the files (staging.h), only used during the call; NULL = none. */
qb_status qb__publication_folder(qb__publication *publication, const char *folder, const char *label,
                                 const char **fresh);
/* An empty folder that replaces the name as a whole, with an existing folder, as a file would. */
qb_status qb__publication_store(qb__publication *publication, const char *path, const char **fresh);
/* The first file or folder that is asked for next may come from an earlier run that left finished parts (staging.h):
 * then *fresh exists. `look` gets the hidden folder and decides whether it is the right one, before anything in it is
 * changed; after its failure nothing is. */
void qb__publication_resume(qb__publication *publication, qb_status (*look)(void *self, const char *folder),
                            void *self);
bool qb__publication_takes_up(const qb__publication *publication); /* true if it resumes an output; NULL-safe */
bool qb__publication_taken_up(const qb__publication *publication); /* true if there was one to resume; NULL-safe */
/* Give all files their names. The data of files must be on the disk already (fsync); folders are flushed here. Destroys
 * the publication, also after a failure: then nothing has changed. */
qb_status qb__publication_commit(qb__publication *publication);
/* Remove what was made, except a first output with finished parts; NULL-safe. */
void qb__publication_abort(qb__publication *publication);

/* Finish or undo the sets whose process died while it gave names to files in `folder`. With `leftovers`, other hidden
 * folders without an owner are removed and named to env, except those with finished parts. */
void qb__recover(const char *folder, bool leftovers, const qb_env *env);
/* qb__recover with leftovers, also for hidden folders with finished parts whose names begin with this prefix
 * (qb__staging_prefix). `spare`: keep them for a resumed run. `tell`: name the folders that stay. */
void qb__recover_for(const char *folder, const char *prefix, bool spare, bool tell, const qb_env *env);

/* QB_NO_SPACE, with both numbers, if `folder`, the destination of `path`, has less room than `bytes`, even after
 * removing what killed runs have left; nothing is removed if there is enough room. Of outputs that can be resumed only
 * that of `path` is removed; others are named to env. */
qb_status qb__recover_space(const char *folder, const char *path, uint64_t bytes, const qb_env *env);
const qb_env *qb__publication_env(const qb__publication *publication); /* NULL-safe */

/* Write a whole file, as a set of its own. */
qb_status qb__publish_bytes(const char *path, const void *data, size_t bytes);
/* Write the content into a file with a temporary name, flushed to the disk. `path` is for messages. */
qb_status qb__write_fresh(const char *fresh, const char *path, const void *data, size_t bytes);
