/* SPDX-License-Identifier: MIT */
#ifndef QB_DEVICE_CACHE_H
#define QB_DEVICE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "device/backend.h"

/* Compiled programs on disk, one file a key. The cache is a convenience: what cannot be read or
 * written is compiled. */

/* 128 bits over the bytes so far; begin with QB__HASH_START. Not against malice: the folder is
 * private. */
typedef struct qb__hash {
    uint64_t word[2];
} qb__hash;
#define QB__HASH_START ((qb__hash){{0xcbf29ce484222325u, 0x84222325cbf29ce4u}})
void qb__hash_add(qb__hash *hash, const void *bytes, size_t count);

/* True with the program in *binary (qb__alloc). A file that is short, long, or fails its checksum
 * is removed. */
bool qb__cache_read(const uint64_t key[2], qb__binary *binary);
/* False when it is not kept. */
bool qb__cache_write(const uint64_t key[2], const qb__binary *binary);
void qb__cache_remove(const uint64_t key[2]);

#endif
