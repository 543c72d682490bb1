/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_STORE_H
#define QB_IO_STORE_H

#include <stdbool.h>

#include "quickbeam/status.h"

/* Whether a folder has the header of a Zarr array or group. */
bool qb__is_zarr(const char *folder);
/* QB_BAD_ARGUMENT where `path` is something that such a folder must not take the place of: a file, or a folder of other things. */
qb_status qb__store_check(const char *path);

#endif
