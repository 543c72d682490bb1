/* SPDX-License-Identifier: MIT */
#include "fuzz.h"

const char *const fuzz_name = "mha";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const qb_scan_options options = {.angles = "0:180"};
    fuzz_file(data, size, &options);
    return 0;
}

bool fuzz_seed(size_t index, const char *path) {
    static const qb_dtype types[] = {QB_U8, QB_U16, QB_F32, QB_F64};
    return index < 4 && fuzz_put(path, types[index], false);
}
