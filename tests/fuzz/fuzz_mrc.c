/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "fuzz.h"

const char *const fuzz_name = "mrc";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const qb_scan_options options = {.angles = "0:180"};
    fuzz_file(data, size, &options);
    return 0;
}

bool fuzz_seed(size_t index, const char *path) {
    static const int32_t sizes[2][4] = {{6, 5, 2, 1}, {6, 5, 2, 2}};
    uint8_t data[1024 + 6 * 5 * 2 * 4] = {0};
    if (index >= 5) return false;
    memcpy(data, sizes[index == 1], sizeof sizes[0]);
    memcpy(data + 28, sizes[0], 12); /* as many intervals */
    if (index == 2)                  /* the other byte order */
        for (size_t i = 0; i < 40; i += 4) {
            const uint8_t a = data[i], b = data[i + 1];
            data[i] = data[i + 3], data[i + 1] = data[i + 2], data[i + 2] = b, data[i + 3] = a;
        }
    if (index > 2) { /* two tilt angles before the images: of SerialEM, of FEI */
        const uint8_t records[2][4] = {{2, 0, 1, 0}, {0, 0, 2, 0}};
        memcpy(data + 128, records[index - 3], 4);
        data[92] = 16, data[1025] = 1, data[1031] = 0x41;
    }
    fuzz_write(path, data, 1024 + 6 * 5 * 2 * (size_t)(index == 1 ? 4 : 2) + (index > 2 ? 16 : 0));
    return true;
}
