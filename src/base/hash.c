/* SPDX-License-Identifier: MIT */
#include "base/hash.h"

#ifdef QB_HAVE_XXHASH
#define XXH_INLINE_ALL
#include <xxhash.h>

bool qb__hash_known(void) {
    return true;
}

uint64_t qb__hash(const void *data, size_t bytes, uint64_t seed) {
    return XXH3_64bits_withSeed(data, bytes, seed);
}
#else
bool qb__hash_known(void) {
    return false;
}

uint64_t qb__hash(const void *data, size_t bytes, uint64_t seed) {
    (void)data, (void)bytes, (void)seed;
    return 0;
}
#endif
