/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_NAME_ANGLES_H
#define QB_IO_NAME_ANGLES_H

#include <stddef.h>

#include "quickbeam/scan.h"

/* Angles in the names of the files of a series, one image each: `pattern` is a name in which {} stands for the number and * for
 * anything. Into angles[views], as the numbers are. QB_BAD_ARGUMENT for a pattern without {}, QB_BAD_INPUT with the name that does not
 * fit. */
qb_status qb__angles_of_names(const char *path, const char *pattern, size_t views, double *angles);

#endif
