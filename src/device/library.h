/* SPDX-License-Identifier: MIT */
#ifndef QB_DEVICE_LIBRARY_H
#define QB_DEVICE_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>

/* Opening shared libraries at run time. A library once opened stays open: drivers do not survive
 * being closed. */

/* The first of `names` (ended by NULL) that opens. What the environment variable `override` says, or
 * else qb_library_path_set, is the only file tried, or the folder where they are; nothing means: do
 * without. NULL when none opens, the reason in `why`. */
void *qb__library_open(const char *override, const char *const *names, char *why, size_t why_size);

/* A file beside the library that it will ask for by name alone, which the loader then finds: a wheel's libraries do not
 * say that their own folder is where to look. Nothing where there is none. */
void qb__library_neighbour(void *library, const char *name);

/* Fills a table of function pointers, one per name, in order. False when one is missing; its name
 * in *missing. Names that begin with '?' may be missing and leave NULL. */
bool qb__library_symbols(void *library, const char *const *names, size_t count, void *table, const char **missing);

#endif
