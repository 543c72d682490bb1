/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "quickbeam/status.h"

/* List of the staging folders of unfinished outputs (staging.h). qb_abandon() removes them when the process must end
 * before their writers return. Thread-safe. */
bool qb__staging_list_add(const char *name);  /* a copy is kept; false = no memory */
void qb__staging_list_drop(const char *name); /* once for each qb__staging_list_add; NULL-safe */

/* Call these before and after renames of which all or none must happen. QB_CANCELLED if the process is already
 * ending. */
qb_status qb__staging_list_publish(void);
void qb__staging_list_published(void);

/* Wait for running renames, with a time limit, allow no new ones, and remove all folders. */
void qb__staging_list_abandon(void (*remove)(const char *name));
