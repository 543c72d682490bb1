/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

#include "base/json.h"
#include "base/status.h"
#include "base/variant.h"
#include "quickbeam/env.h"

/* Path of the user's file; empty if there is no home folder. */
const char *qb__tuning_path(void);

/* The file at qb__tuning_path() as an array of rows, empty if there is none. QB_BAD_INPUT, with its name and the
 * remedy, if it exists but cannot be used: then it must not be overwritten. *rows belongs to the caller; NULL after a
 * failure. */
qb_status qb__tuning_read(cJSON **rows);
/* The current rows, parsed again only if the file has changed; NULL if it cannot be read. They are locked until
 * qb__tuning_return(). */
const cJSON *qb__tuning_borrow(void);
void qb__tuning_return(void);
/* Replace the file as a whole; a symbolic link stays. */
qb_status qb__tuning_write(const cJSON *rows);

/* Lock the file for reading, changing and writing, so that two programs that tune at once do not lose each other's
 * rows. */
int qb__tuning_lock(const qb_env *env);
void qb__tuning_unlock(int lock);

/* Key of a measurement: a row of the user's file, or of the built-in results. */
typedef struct qb__tuning_key {
    const char *device;     /* name of the device */
    const char *variant;    /* "bp_parallel_linear.alu" */
    size_t slices, columns; /* shape classes: rounded up to a power of two, slices at most 128 */
} qb__tuning_key;

enum { QB__TUNING_VALUES = QB__PARAMETERS_MAX };

typedef struct qb__tuning_entry {
    int values[QB__TUNING_VALUES];
    double giga_updates; /* a second */
} qb__tuning_entry;
