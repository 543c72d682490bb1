/* SPDX-License-Identifier: MIT */
#ifndef QB_BASE_CALLER_H
#define QB_BASE_CALLER_H

#include <stddef.h>

#include "quickbeam/status.h"

/* Structs of programs that were compiled with another version of quickbeam: what they begin with, struct_size,
 * says how much of them there is, 0 that it is as much as their first version had. (Options: base/params.h; qb_env: base/comm.h.) */

/* QB_BAD_ARGUMENT where `result`, a struct to be filled in, cannot be one: less than `first` bytes, or too
 * many; `what` is its type's name. */
qb_status qb__result_check(const void *result, size_t first, const char *what);
/* What was found, a struct of `size` bytes as this library knows it, as far as the caller's goes; what the
 * library does not know becomes zero, and struct_size stays. */
void qb__result_give(const void *found, size_t size, size_t first, void *result);

#endif
