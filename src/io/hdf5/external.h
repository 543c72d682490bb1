/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_EXTERNAL_H
#define QB_IO_EXTERNAL_H

#include <stdbool.h>

#include "quickbeam/status.h"

enum { QB__EXTERNAL_NAME = 4096 }; /* bytes of a file's name at most */

/* May `header`, a file, have its data in `file`? In its own folder and below it, elsewhere after qb_external_allow()
 * only. What is called so in the folder may be a link: somebody made it there. QB_BAD_INPUT, and what opening a folder
 * gives. */
qb_status qb__external_check(const char *header, const char *file);
/* Where the HDF5 library finds a file that `file` names: under the folder that the environment variable `prefix` gives,
 * beside the file, or where the program runs. False: nowhere. */
bool qb__external_find(const char *file, const char *name, const char *prefix, char path[QB__EXTERNAL_NAME]);

#endif
