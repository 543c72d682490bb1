/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "fuzz.h"

const char *const fuzz_name = "mat";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const qb_scan_options options = {.angles = "0:180"};
    fuzz_file(data, size, &options);
    return 0;
}

static uint8_t *put(uint8_t *at, uint32_t a, uint32_t b) {
    for (int i = 0; i < 4; i++) at[i] = (uint8_t)(a >> 8 * i), at[4 + i] = (uint8_t)(b >> 8 * i);
    return at + 8;
}

/* An array of bytes, (4, 3, 2), and an array of doubles that is stored as bytes. */
bool fuzz_seed(size_t index, const char *path) {
    enum { HEADER = 128, MATRIX = 14, INT32 = 5, UINT32 = 6, UINT8 = 2, DOUBLES = 6, BYTES = 9, DATA = 24 };
    uint8_t data[HEADER + 88] = {0}, *at = data + HEADER;
    if (index >= 2) return false;
    memcpy(data, "MATLAB 5.0 MAT-file", 19);
    memcpy(data + 124, "\0\1IM", 4);
    at = put(at, MATRIX, 80);
    at = put(at, UINT32, 8);
    at = put(at, index ? DOUBLES : BYTES, 0);
    at = put(at, INT32, 12);
    at = put(at, 4, 3);
    at = put(at, 2, 0);
    at = put(at, 1 << 16 | 1, 'a');
    at = put(at, UINT8, DATA);
    for (int i = 0; i < DATA; i++) at[i] = (uint8_t)i;
    fuzz_write(path, data, sizeof data);
    return true;
}
