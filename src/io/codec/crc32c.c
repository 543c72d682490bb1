/* SPDX-License-Identifier: MIT */
/* Castagnoli's checksum (RFC 3720, appendix B.4), bits from the lowest on. A simple loop, because only short texts need
 * it. */
#include "io/codec/codec.h"

uint32_t qb__crc32c(const void *data, size_t bytes) {
    const uint32_t polynomial = 0x82f63b78u;
    const unsigned char *at = data;
    uint32_t crc = ~0u;
    for (size_t i = 0; i < bytes; i++) {
        crc ^= at[i];
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? polynomial : 0);
    }
    return ~crc;
}
