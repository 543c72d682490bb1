/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/json.h"
#include "quickbeam/env.h"

/* The files from which a scan, a geometry or a job was read, so that no output replaces one of them. They are
 * identified by device and inode, because a file may have several names. */
typedef struct qb__input {
    dev_t device;
    ino_t inode;
    char *path; /* name that was used for reading */
    uint64_t bytes, hash;
    bool hashed; /* `hash` is the hash of the contents (base/hash.h) */
    /* a file such as the tuning file: it affects how to compute, not what, and may differ between runs of one job */
    bool advice;
} qb__input;

typedef struct qb__inputs {
    qb__input *file; /* [count], sorted when collecting has ended */
    size_t count, room;
    bool lost;                        /* the list is incomplete because memory ran out */
    const struct qb__inputs *also[2]; /* other lists that belong to this one; not owned, may be NULL */
    struct qb__inputs *outer;         /* the collector that was active before */
} qb__inputs;

/* Between begin and end, every file that this thread opens for reading is added to the list, and to the lists of the
 * outer collectors. */
void qb__inputs_begin(qb__inputs *inputs);
void qb__inputs_end(qb__inputs *inputs);
void qb__inputs_release(qb__inputs *inputs);

/* Readers call this for each file with the result of stat. It does nothing if no collector is active. */
void qb__input_seen(const char *path, const struct stat *about);
/* The tuning file was read: no output may replace it, but a change of it does not make another job. */
void qb__input_advice(const char *path, const struct stat *about);
/* The whole contents of a file, if the reader has them in memory: they are hashed. */
void qb__input_read(const char *path, const void *data, size_t bytes);

/* Hash the files of a finished list and add them to the outer collectors. Each file is read again. Does nothing if the
 * files are larger than `most` bytes together, because then only a part of them was read. */
qb_status qb__inputs_hash(const qb__inputs *inputs, uint64_t most);

/* [{path, bytes, xxh3}] of all files, sorted, with absolute paths; folders with many files as {path, files, bytes}.
 * xxh3 only if the contents were hashed. A lack of memory is remembered (base/json.h). */
cJSON *qb__inputs_list(const qb__inputs *inputs);
/* `path` as an absolute path; release with qb__free. NULL if memory ran out. */
char *qb__absolute(const char *path);

/* QB_BAD_ARGUMENT, with both names, if an output `path` would replace one of these files; QB_NO_MEMORY if the list is
 * incomplete. */
qb_status qb__inputs_protect(const qb__inputs *inputs, const char *path);
/* Calls qb__inputs_protect for each of env->writes; env may be NULL. */
qb_status qb__inputs_protect_all(const qb__inputs *inputs, const qb_env *env);
