/* SPDX-License-Identifier: MIT */
#include "fuzz.h"

const char *const fuzz_name = "jp2";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const qb_scan_options options = {.angles = "0:180"};
    fuzz_file(data, size, &options);
    return 0;
}

/* Pictures of 4 x 3 pixels, without loss: a bare stream of 8 bits, and 16 bits in boxes. */
static const uint8_t bare[] = {0xff, 0x4f, 0xff, 0x51, 0,    0x29, 0,    0,    0,    0,    0,    4,    0,    0,
                               0,    3,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    4,
                               0,    0,    0,    3,    0,    0,    0,    0,    0,    0,    0,    0,    0,    1,
                               7,    1,    1,    0xff, 0x52, 0,    0x0c, 0,    0,    0,    1,    0,    0,    4,
                               4,    0,    1,    0xff, 0x5c, 0,    4,    0x40, 0x40, 0xff, 0x90, 0,    0x0a, 0,
                               0,    0,    0,    0,    0x1e, 0,    1,    0xff, 0x93, 0xdf, 0x80, 0x68, 6,    0xaf,
                               0x66, 0xed, 0xd1, 0xc7, 0x21, 0x1a, 0xb9, 0x77, 0x97, 0xf2, 0xbb, 0xff, 0xd9},
                     boxes[] = {0,    0,    0,    0x0c, 0x6a, 0x50, 0x20, 0x20, 0x0d, 0x0a, 0x87, 0x0a, 0,    0,
                                0,    0x14, 0x66, 0x74, 0x79, 0x70, 0x6a, 0x70, 0x32, 0x20, 0,    0,    0,    0,
                                0x6a, 0x70, 0x32, 0x20, 0,    0,    0,    0x2d, 0x6a, 0x70, 0x32, 0x68, 0,    0,
                                0,    0x16, 0x69, 0x68, 0x64, 0x72, 0,    0,    0,    3,    0,    0,    0,    4,
                                0,    1,    0x0f, 7,    0,    0,    0,    0,    0,    0x0f, 0x63, 0x6f, 0x6c, 0x72,
                                1,    0,    0,    0,    0,    0,    0x11, 0,    0,    0,    0x74, 0x6a, 0x70, 0x32,
                                0x63, 0xff, 0x4f, 0xff, 0x51, 0,    0x29, 0,    0,    0,    0,    0,    4,    0,
                                0,    0,    3,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,
                                4,    0,    0,    0,    3,    0,    0,    0,    0,    0,    0,    0,    0,    0,
                                1,    0x0f, 1,    1,    0xff, 0x52, 0,    0x0c, 0,    0,    0,    1,    0,    0,
                                4,    4,    0,    1,    0xff, 0x5c, 0,    4,    0x40, 0x80, 0xff, 0x90, 0,    0x0a,
                                0,    0,    0,    0,    0,    0x29, 0,    1,    0xff, 0x93, 0xdf, 0xf8, 0x90, 0xb8,
                                6,    0xc5, 0x68, 0xe6, 0x7f, 0x6d, 0x6b, 0xd4, 0x18, 0x90, 0xb4, 0xc7, 0x6f, 0x7b,
                                0xfa, 0xb6, 0x18, 3,    0xa8, 0xda, 0x56, 0xc3, 0x91, 0xff, 0xd9};

bool fuzz_seed(size_t index, const char *path) {
    if (index >= 2) return false;
    fuzz_write(path, index ? boxes : bare, index ? sizeof boxes : sizeof bare);
    return true;
}
