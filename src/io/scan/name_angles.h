/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

#include "quickbeam/scan.h"

/* Angles in the file names of a series with one image per file: `pattern` is a name in which {} stands for the number
 * and * for any text. Into angles[views], unconverted. QB_BAD_ARGUMENT for a pattern without {}, QB_BAD_INPUT with the
 * name that does not match. */
qb_status qb__angles_of_names(const char *path, const char *pattern, size_t views, double *angles);
