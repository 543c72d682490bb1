/* SPDX-License-Identifier: MIT */
#ifndef QB_BASE_HASH_H
#define QB_BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "quickbeam/status.h"

/* XXH3 of 64 bits, what `xxhsum -H3` prints for a file; not there in a build without xxhash. For telling
 * contents apart, not against forgery. */
bool qb__hash_known(void);
uint64_t qb__hash(const void *data, size_t bytes, uint64_t seed); /* 0 when it is not known */
/* Hash of a whole file, read in pieces from its beginning. */
qb_status qb__hash_file(const char *path, uint64_t *hash);

#endif
