/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "device/backend.h"

/* Compiled programs on disk, one file per key. The cache is optional: a program that cannot be read from it is
 * compiled. */

/* 128-bit hash of the bytes so far; start with QB__HASH_START. It does not resist attacks, which the private folder
 * prevents. */
typedef struct qb__hash {
    uint64_t word[2];
} qb__hash;
#define QB__HASH_START ((qb__hash){{0xcbf29ce484222325u, 0x84222325cbf29ce4u}})
void qb__hash_add(qb__hash *hash, const void *bytes, size_t count);

/* True with the program in *binary (qb__alloc). A file with a wrong size or checksum is removed. */
bool qb__cache_read(const uint64_t key[2], qb__binary *binary);
/* False if it could not be stored. */
bool qb__cache_write(const uint64_t key[2], const qb__binary *binary);
void qb__cache_remove(const uint64_t key[2]);
