/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "quickbeam/status.h"

/* True if a folder has the header of a Zarr array or group. */
bool qb__is_zarr(const char *folder);
/* QB_BAD_ARGUMENT if `path` is something that a Zarr folder must not replace: a file, or a folder with other
 * contents. */
qb_status qb__store_check(const char *path);
