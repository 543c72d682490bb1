/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_STAGING_LIST_H
#define QB_IO_STAGING_LIST_H

#include <stdbool.h>

#include "quickbeam/status.h"

/* The hidden folders in which unfinished outputs lie (staging.h): what qb_abandon() removes when the process must end
 * before whoever writes them comes back. Any thread. */
bool qb__staging_list_add(const char *name);  /* a copy is kept; false = no memory */
void qb__staging_list_drop(const char *name); /* as often as it was added; NULL-safe */

/* Around renames of which all or none must happen. QB_CANCELLED when it is too late for the first. */
qb_status qb__staging_list_publish(void);
void qb__staging_list_published(void);

/* Waits, not for ever, until no more renames are under way, lets none begin any more, and has all removed. */
void qb__staging_list_abandon(void (*remove)(const char *name));

#endif
