/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Opening shared libraries at run time. An opened library is never closed, because drivers do not survive it. */

/* Open the first of `names` (ended by NULL) that can be opened. The environment variable `override`, or else
 * qb_library_path_set, names the only file or folder to try; an empty text means: do without. NULL, with the reason in
 * `why`, if none opens. */
void *qb__library_open(const char *override, const char *const *names, char *why, size_t why_size);

/* Open a file in the folder of the library that the library will ask for by name only, so that the loader finds it:
 * libraries of a Python wheel do not name their own folder. Does nothing if there is no such file. */
void qb__library_neighbour(void *library, const char *name);

/* Fill a table of function pointers, one per name, in order. False if one is missing, with its name in *missing. Names
 * that begin with '?' are optional and may stay NULL. */
bool qb__library_symbols(void *library, const char *const *names, size_t count, void *table, const char **missing);
