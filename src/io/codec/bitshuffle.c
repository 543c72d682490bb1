/* SPDX-License-Identifier: MIT */
/* LZ4 blocks in the form of HDF5's filters 32004 (LZ4) and 32008 (bitshuffle), and bit shuffling: bit b of all numbers
 * of a block, then bit b + 1 of all. (K. Masui et al., Astronomy and Computing 12, 2015) */
#include "io/codec/codec.h"

#include <lz4.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/memory.h"

enum { HEADER = 12, LENGTH = 4, BLOCK = 8192, EIGHT = 8, LEAST = 128, LARGEST = 1 << 30 };

static void put_big(unsigned char *to, uint64_t value, int bytes) {
    for (int i = bytes; i-- > 0; value >>= 8) to[i] = (unsigned char)value;
}

static uint64_t big(const unsigned char *from, int bytes) {
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++) value = value << 8 | from[i];
    return value;
}

/* Transposes eight bytes as an 8 x 8 square of bits. */
static inline uint64_t turn(uint64_t x) {
    uint64_t t = (x ^ (x >> 7)) & 0x00AA00AA00AA00AAu;
    x ^= t ^ (t << 7);
    t = (x ^ (x >> 14)) & 0x0000CCCC0000CCCCu;
    x ^= t ^ (t << 14);
    t = (x ^ (x >> 28)) & 0x00000000F0F0F0F0u;
    return x ^ t ^ (t << 28);
}

/* `count` is a multiple of eight; the lowest byte of `x` is the first number's. */
static inline void shuffle(const unsigned char *in, size_t count, size_t size, unsigned char *out) {
    const size_t row = count / EIGHT;
    for (size_t i = 0; i < row; i++) {
        for (size_t b = 0; b < size; b++) {
            uint64_t x = 0;
            for (size_t j = 0; j < EIGHT; j++) x |= (uint64_t)in[(EIGHT * i + j) * size + b] << 8 * j;
            x = turn(x);
            for (size_t k = 0; k < EIGHT; k++) out[(EIGHT * b + k) * row + i] = (unsigned char)(x >> 8 * k);
        }
    }
}

static inline void restore(const unsigned char *in, size_t count, size_t size, unsigned char *out) {
    const size_t row = count / EIGHT;
    for (size_t i = 0; i < row; i++) {
        for (size_t b = 0; b < size; b++) {
            uint64_t x = 0;
            for (size_t k = 0; k < EIGHT; k++) x |= (uint64_t)in[(EIGHT * b + k) * row + i] << 8 * k;
            x = turn(x);
            for (size_t j = 0; j < EIGHT; j++) out[(EIGHT * i + j) * size + b] = (unsigned char)(x >> 8 * j);
        }
    }
}

/* Constant sizes, so that the compiler unrolls the loops. */
static void shuffle_block(const unsigned char *in, size_t count, size_t size, unsigned char *out) {
    if (size == 4)
        shuffle(in, count, 4, out);
    else if (size == 2)
        shuffle(in, count, 2, out);
    else
        shuffle(in, count, size, out);
}

static void restore_block(const unsigned char *in, size_t count, size_t size, unsigned char *out) {
    if (size == 4)
        restore(in, count, 4, out);
    else if (size == 2)
        restore(in, count, 2, out);
    else
        restore(in, count, size, out);
}

static size_t numbers_in_block(size_t size) { return qb__larger(BLOCK / size / EIGHT * EIGHT, LEAST); }

size_t qb__bitshuffle_most(size_t bytes) {
    return HEADER + bytes + bytes / 128 + 16 * (bytes / (BLOCK / 2) + 2) + BLOCK;
}

size_t qb__bitshuffle_pack(size_t size, const void *in, size_t bytes, void *out, size_t room) {
    enum { SIZE_MOST = BLOCK / LEAST };
    unsigned char block[BLOCK], *to = out, *const end = to + room;
    const unsigned char *from = in;
    if (size > SIZE_MOST || bytes % size || room < HEADER) return 0;
    const size_t each = numbers_in_block(size);
    size_t left = bytes / size;
    put_big(to, bytes, 8);
    put_big(to + 8, each * size, 4);
    to += HEADER;
    for (size_t count; (count = qb__smaller(left, each) / EIGHT * EIGHT); left -= count, from += count * size) {
        shuffle_block(from, count, size, block);
        if (end - to < LENGTH + LZ4_COMPRESSBOUND(BLOCK)) return 0;
        const int packed = LZ4_compress_default((const char *)block, (char *)to + LENGTH, (int)(count * size),
                                                LZ4_compressBound((int)(count * size)));
        if (packed <= 0) return 0;
        put_big(to, (uint64_t)packed, LENGTH);
        to += LENGTH + packed;
    }
    if ((size_t)(end - to) < left * size) return 0;
    memcpy(to, from, left * size);
    return (size_t)(to - (unsigned char *)out) + left * size;
}

/* The length of a block, and a check that it lies inside; NULL: it does not. */
static const unsigned char *next_block(const unsigned char *at, const unsigned char *end, size_t *packed) {
    if (end - at < LENGTH) return NULL;
    *packed = (size_t)big(at, LENGTH);
    return *packed <= (size_t)(end - at) - LENGTH ? at + LENGTH : NULL;
}

size_t qb__bitshuffle_unpack(size_t size, const void *in, size_t packed, void *out, size_t room) {
    const unsigned char *at = in, *const end = at + packed;
    unsigned char *to = out, block[2 * BLOCK];
    if (packed < HEADER || !size) return 0;
    const uint64_t bytes = big(at, 8), each = big(at + 8, 4) / size;
    if (bytes > room || bytes % size || !each || each % EIGHT || each * size > sizeof block) return 0;
    at += HEADER;
    size_t left = (size_t)bytes / size;
    for (size_t count, length; (count = qb__smaller(left, (size_t)each) / EIGHT * EIGHT); left -= count) {
        at = next_block(at, end, &length);
        const int plain = (int)(count * size);
        if (!at || LZ4_decompress_safe((const char *)at, (char *)block, (int)length, plain) != plain) return 0;
        restore_block(block, count, size, to);
        to += count * size;
        at += length;
    }
    if ((size_t)(end - at) < left * size) return 0;
    memcpy(to, at, left * size);
    return (size_t)bytes;
}

size_t qb__lz4_most(size_t bytes) { return HEADER + LENGTH + bytes + bytes / 255 + 16; }

/* One block, which is stored unchanged if it does not become smaller. */
size_t qb__lz4_pack(size_t size, const void *in, size_t bytes, void *out, size_t room) {
    unsigned char *to = out;
    (void)size;
    if (bytes > LARGEST || room < qb__lz4_most(bytes)) return 0;
    const int got = LZ4_compress_default(in, (char *)to + HEADER + LENGTH, (int)bytes, LZ4_compressBound((int)bytes));
    const bool smaller = got > 0 && (size_t)got < bytes;
    const size_t packed = smaller ? (size_t)got : bytes;
    if (!smaller) memcpy(to + HEADER + LENGTH, in, bytes);
    put_big(to, bytes, 8);
    put_big(to + 8, bytes, 4);
    put_big(to + HEADER, packed, LENGTH);
    return HEADER + LENGTH + packed;
}

/* A block that does not become smaller is stored unchanged. */
size_t qb__lz4_unpack(size_t size, const void *in, size_t packed, void *out, size_t room) {
    const unsigned char *at = in, *const end = at + packed;
    (void)size;
    if (packed < HEADER) return 0;
    const uint64_t bytes = big(at, 8), each = big(at + 8, 4);
    if (bytes > room || !each || each > LARGEST) return 0;
    at += HEADER;
    for (size_t done = 0, length; done < bytes; done += qb__smaller((size_t)each, (size_t)bytes - done)) {
        const size_t plain = qb__smaller((size_t)each, (size_t)bytes - done);
        at = next_block(at, end, &length);
        if (!at || length > LARGEST) return 0;
        if (length == plain)
            memcpy((char *)out + done, at, plain);
        else if (LZ4_decompress_safe((const char *)at, (char *)out + done, (int)length, (int)plain) != (int)plain)
            return 0;
        at += length;
    }
    return (size_t)bytes;
}
