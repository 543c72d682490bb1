/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>

#include "fuzz.h"

const char *const fuzz_name = "fits";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const qb_scan_options options = {.angles = "0:180"};
    fuzz_file(data, size, &options);
    return 0;
}

/* Images in the first header, or after an empty one. */
bool fuzz_seed(size_t index, const char *path) {
    enum { BLOCK = 2880 };
    static const char *const cards[] = {"SIMPLE  =                    T", "BITPIX  =                   16",
                                        "NAXIS   =                    3", "NAXIS1  =                    6",
                                        "NAXIS2  =                    5", "NAXIS3  =                    2",
                                        "BZERO   =                32768", "END"};
    uint8_t data[3 * BLOCK];
    if (index >= 2) return false;
    memset(data, ' ', sizeof data);
    uint8_t *at = data;
    if (index) {
        memcpy(at, cards[0], 30), memcpy(at + 80, cards[1], 30), memcpy(at + 160, "NAXIS   =                    0", 30);
        memcpy(at + 240, "END", 3);
        at += BLOCK;
    }
    for (size_t i = 0; i < sizeof cards / sizeof *cards; i++) memcpy(at + 80 * i, cards[i], strlen(cards[i]));
    if (index) memcpy(at, "XTENSION= 'IMAGE   '          ", 30);
    fuzz_write(path, data, sizeof data);
    return true;
}
