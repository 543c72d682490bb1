/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "quickbeam/status.h"

/* 64-bit XXH3, the same as `xxhsum -H3` prints for a file; not available without xxhash. It detects changes, not
 * forgery. */
bool qb__hash_known(void);
/* QB_UNSUPPORTED, with a message about --resume, without xxhash. */
qb_status qb__hash_for_resume(void);
uint64_t qb__hash(const void *data, size_t bytes, uint64_t seed); /* 0 if xxhash is not built in */
/* Hash of a whole file, read from the beginning. */
qb_status qb__hash_file(const char *path, uint64_t *hash);
