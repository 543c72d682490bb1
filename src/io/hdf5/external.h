/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "quickbeam/status.h"

enum { QB__EXTERNAL_NAME = 4096 }; /* longest file name */

/* Check that `header`, a file, may have its data in `file`: inside its own folder, or elsewhere after
 * qb_external_allow(). A name inside the folder may be a symbolic link, because its owner made it. QB_BAD_INPUT, and
 * errors of opening a folder. */
qb_status qb__external_check(const char *header, const char *file);
/* Where the HDF5 library finds the file that `file` names: in the folder of the environment variable `prefix`, in the
 * folder of the file, or in the working folder. False: nowhere. */
bool qb__external_find(const char *file, const char *name, const char *prefix, char path[QB__EXTERNAL_NAME]);
