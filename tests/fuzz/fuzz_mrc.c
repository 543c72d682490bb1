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
    if (index >= 3) return false;
    memcpy(data, sizes[index & 1], sizeof sizes[0]);
    memcpy(data + 28, sizes[0], 12); /* as many intervals */
    if (index == 2)                  /* the other byte order */
        for (size_t i = 0; i < 40; i += 4) {
            const uint8_t a = data[i], b = data[i + 1];
            data[i] = data[i + 3], data[i + 1] = data[i + 2], data[i + 2] = b, data[i + 3] = a;
        }
    fuzz_write(path, data, 1024 + 6 * 5 * 2 * (size_t)(index == 1 ? 4 : 2));
    return true;
}
