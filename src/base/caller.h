/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

#include "quickbeam/status.h"

/* Structs of programs that were compiled with another version of quickbeam. Their first field, struct_size, is the size
 * that the program knows; 0 means the size of the first version. (Options: base/params.h; qb_env: base/comm.h.) */

/* Check a struct that is to be filled in: QB_BAD_ARGUMENT if it has less than `first` bytes or too many; `what` is the
 * name of its type. */
qb_status qb__result_check(const void *result, size_t first, const char *what);
/* Copy a struct of `size` bytes, as this library knows it, into the caller's struct. Only the fields that the caller
 * knows are copied; fields that only the caller knows become 0; struct_size stays. */
void qb__result_give(const void *found, size_t size, size_t first, void *result);
