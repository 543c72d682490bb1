/* SPDX-License-Identifier: MIT */
#include "fuzz.h"

const char *const fuzz_name = "nii";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const qb_scan_options options = {.angles = "0:180"};
    fuzz_file(data, size, &options);
    return 0;
}

bool fuzz_seed(size_t index, const char *path) { return index < 2 && fuzz_put(path, index ? QB_F32 : QB_U16, false); }
