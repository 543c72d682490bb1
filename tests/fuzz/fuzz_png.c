/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "fuzz.h"

const char *const fuzz_name = "png";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const qb_scan_options options = {.angles = "0:180"};
    fuzz_file(data, size, &options);
    return 0;
}

static uint8_t *put_word(uint8_t *at, uint32_t value) {
    for (int i = 0; i < 4; i++) at[i] = (uint8_t)(value >> (24 - 8 * i));
    return at + 4;
}

static uint8_t *put_chunk(uint8_t *at, const char *name, const uint8_t *data, size_t bytes) {
    uint8_t *from = put_word(at, (uint32_t)bytes);
    uint32_t crc = 0xffffffff;
    memcpy(from, name, 4);
    if (bytes) memcpy(from + 4, data, bytes);
    for (size_t i = 0; i < 4 + bytes; i++) {
        crc ^= from[i];
        for (int k = 0; k < 8; k++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
    }
    return put_word(from + 4 + bytes, ~crc);
}

/* A picture of 4 x 3 pixels of 8 or 16 bits, not compressed. */
bool fuzz_seed(size_t index, const char *path) {
    const uint8_t bits = index ? 16 : 8, row = (uint8_t)(1 + 4 * bits / 8), bytes = (uint8_t)(3 * row);
    const uint8_t head[13] = {0, 0, 0, 4, 0, 0, 0, 3, bits, 0, 0, 0, 0};
    uint8_t data[64] = {0x78, 1, 1, bytes, 0, (uint8_t)~bytes, 0xff}, file[256] = "\x89PNG\r\n\x1a\n";
    uint32_t a = 1, b = 0;
    if (index >= 2) return false;
    for (int i = 0; i < bytes; i++) {
        data[7 + i] = (uint8_t)(i % row ? 9 * i : 0);
        a = (a + data[7 + i]) % 65521, b = (b + a) % 65521;
    }
    put_word(data + 7 + bytes, b << 16 | a);
    uint8_t *at = put_chunk(file + 8, "IHDR", head, sizeof head);
    at = put_chunk(at, "IDAT", data, 11 + (size_t)bytes);
    at = put_chunk(at, "IEND", NULL, 0);
    fuzz_write(path, file, (size_t)(at - file));
    return true;
}
