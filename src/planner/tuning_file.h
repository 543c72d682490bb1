/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/json.h"
#include "base/status.h"
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
