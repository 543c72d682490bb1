/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "quickbeam/status.h"

/* A stream or folder of a compound file. */
typedef struct qb__ole2_entry {
    uint32_t folder; /* number of its parent folder */
    uint32_t number; /* its own number */
    uint32_t start;  /* its first sector */
    bool stream;
    uint64_t bytes;
    char name[32]; /* lower case, "?" for characters beyond ASCII */
} qb__ole2_entry;

/* All entries below the root, sorted by folder and name. */
typedef struct qb__ole2_names {
    qb__ole2_entry root, *entry;
    size_t count;
} qb__ole2_names;

/* From `count` raw entries of 128 bytes. Version 3 has 32-bit sizes. QB_BAD_INPUT if the tree meets an entry twice, or
 * leads outside. */
qb_status qb__ole2_names_load(const char *path, const unsigned char *raw, size_t count, bool version3,
                              qb__ole2_names *names);
void qb__ole2_names_release(qb__ole2_names *names);
/* The stream "Folder/Name"; NULL: it does not exist. */
const qb__ole2_entry *qb__ole2_names_find(const qb__ole2_names *names, const char *name);
