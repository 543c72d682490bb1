/* SPDX-License-Identifier: MIT */
#ifndef QB_PLANNER_TUNING_FILE_H
#define QB_PLANNER_TUNING_FILE_H

#include "base/json.h"
#include "base/status.h"
#include "quickbeam/env.h"

/* The user's file; empty when there is no home. */
const char *qb__tuning_path(void);

/* The file at qb__tuning_path() as an array of rows, empty where there is none. QB_BAD_INPUT, with
 * its name and the remedy, when it is there but cannot be used: it must not be written over then.
 * *rows is the caller's; NULL on failure. */
qb_status qb__tuning_read(cJSON **rows);
/* The rows as they are now, parsed again only when the file has changed; NULL when it cannot be
 * read. Nobody else has them until qb__tuning_return(). */
const cJSON *qb__tuning_borrow(void);
void qb__tuning_return(void);
/* The file changes as a whole; a link to it stays. */
qb_status qb__tuning_write(const cJSON *rows);

/* Reading, changing and writing belong together: two programs that tune at once must not lose one
 * another's rows. */
int qb__tuning_lock(const qb_env *env);
void qb__tuning_unlock(int lock);

#endif
