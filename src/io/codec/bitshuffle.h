/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

/* Codecs of codec.c that use the LZ4 library: chunks in the form of HDF5's filters 32008 (bitshuffle with LZ4) and
 * 32004 (LZ4). */
size_t qb__bitshuffle_most(size_t bytes);
size_t qb__bitshuffle_pack(size_t size, const void *in, size_t bytes, void *out, size_t room);
size_t qb__bitshuffle_unpack(size_t size, const void *in, size_t packed, void *out, size_t room);
size_t qb__lz4_most(size_t bytes);
size_t qb__lz4_pack(size_t size, const void *in, size_t bytes, void *out, size_t room);
size_t qb__lz4_unpack(size_t size, const void *in, size_t packed, void *out, size_t room);
