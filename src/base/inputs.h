/* SPDX-License-Identifier: MIT */
#ifndef QB_BASE_INPUTS_H
#define QB_BASE_INPUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/json.h"
#include "quickbeam/env.h"

/* The files that something was read from: a scan, a geometry, a job. They are held by device and
 * inode, since one file may have many names, so that no output takes the place of one of them. */
typedef struct qb__input {
    dev_t device;
    ino_t inode;
    char *path; /* the name it was read by */
    uint64_t bytes, hash;
    bool hashed; /* hash is of its contents (base/hash.h) */
    bool advice; /* such as a tuning file: it says how to compute, not what, and may differ between runs of one job */
} qb__input;

typedef struct qb__inputs {
    qb__input *file; /* [count], sorted once collecting has ended */
    size_t count, room;
    bool lost;                        /* some, for want of memory */
    const struct qb__inputs *also[2]; /* lists of others that count too; not owned, may be NULL */
    struct qb__inputs *outer;         /* while collecting: whoever collected before */
} qb__inputs;

/* Between the two every file that this thread looks at in order to read it joins the list, and the
 * lists of those that are collecting around it. */
void qb__inputs_begin(qb__inputs *inputs);
void qb__inputs_end(qb__inputs *inputs);
void qb__inputs_release(qb__inputs *inputs);

/* What readers call for each file, with what stat said of it. Nothing happens unless somebody
 * collects. */
void qb__input_seen(const char *path, const struct stat *about);
/* The tuning file was read: nothing may overwrite it, but a change of it does not make another job. */
void qb__input_advice(const char *path, const struct stat *about);
/* All its bytes, where a reader has them at hand: they are hashed. */
void qb__input_read(const char *path, const void *data, size_t bytes);

/* Hash the files of a list that has ended, each read once more, and tell those who collect around it. Nothing
 * where they are more than `most` bytes together: a large file, of which little was wanted. */
qb_status qb__inputs_hash(const qb__inputs *inputs, uint64_t most);

/* [{path, bytes, xxh3}] of all of them, sorted, paths whole; of folders with many of them {path, files,
 * bytes}. xxh3 where the contents were at hand. What lacks memory is remembered (base/json.h). */
cJSON *qb__inputs_list(const qb__inputs *inputs);
/* `path` as an absolute path; release with qb__free. NULL: no memory. */
char *qb__absolute(const char *path);

/* QB_BAD_ARGUMENT, with both names, when a file written as `path` would take the place of one of
 * these; QB_NO_MEMORY when the list is not whole. */
qb_status qb__inputs_protect(const qb__inputs *inputs, const char *path);
/* qb__inputs_protect for each of env->writes; env may be NULL. */
qb_status qb__inputs_protect_all(const qb__inputs *inputs, const qb_env *env);

#endif
