/* SPDX-License-Identifier: MIT */
#include "fuzz.h"

const char *const fuzz_name = "nrrd";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const qb_scan_options options = {.angles = "0:180"};
    fuzz_file(data, size, &options);
    return 0;
}

bool fuzz_seed(size_t index, const char *path) {
    static const char *const seeds[] = {
        ("NRRD0005\ntype: uint16\ndimension: 3\nsizes: 6 5 1\nspace directions: (0.5,0,0) (0,0.5,0) (0,0,0.5)\nspace "
         "origin: (1,2,3)\nspace units: \"mm\" \"mm\" \"mm\"\nendian: little\nencoding: raw\n\n"
         "012345678901234567890123456789012345678901234567890123456789"),
        ("NRRD0004\ntype: uchar\ndimension: 2\nsizes: 6 2\nspacings: 0.1 0.2\nencoding: raw\nbyte skip: "
         "-1\n\n012345678901"),
        "NRRD0001\n# packed\ntype: float\ndimension: 1\nsizes: 4\nencoding: gzip\nendian: big\n\nx",
    };
    if (index < 3) return fuzz_text_seed(seeds[index], path);
    return index == 3 && fuzz_put(path, QB_F32, false);
}
