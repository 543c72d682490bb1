/* SPDX-License-Identifier: MIT */
#include "base/caller.h"

#include <string.h>

#include "base/status.h"

enum { MOST_BYTES = 1 << 16 }; /* larger than any struct of the library */

static size_t size_of(const void *result, size_t first) {
    const size_t size = *(const size_t *)result;
    return size ? size : first;
}

qb_status qb__result_check(const void *result, size_t first, const char *what) {
    const size_t size = size_of(result, first);
    if (size >= first && size <= MOST_BYTES) return QB_OK;
    return qb__fail(QB_BAD_ARGUMENT,
                    "a %s of %zu bytes, its first version had %zu: set its struct_size to sizeof(%s), or to 0", what,
                    size, first, what);
}

void qb__result_give(const void *found, size_t size, size_t first, void *result) {
    enum { HEAD = sizeof(size_t) };
    const size_t has = size_of(result, first), both = has < size ? has : size;
    memcpy((char *)result + HEAD, (const char *)found + HEAD, both - HEAD);
    memset((char *)result + both, 0, has - both);
}
