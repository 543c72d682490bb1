/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "fuzz.h"

const char *const fuzz_name = "vgi";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const qb_scan_options options = {.angles = "0:180"};
    fuzz_file(data, size, &options);
    return 0;
}

/* The text file next to the data; the data are missing. */
bool fuzz_seed(size_t index, const char *path) {
    static const char text[] =
        "{volume1}\n[representation]\nsize = 6 5 2\n[file1]\nSkipHeader = 0\nSize = 6 5 2\nName = a.vol\nDatatype = "
        "float\n"
        "BitsPerElement = 32\n{volumeprimitive12}\n[geometry]\nresolution = 0.1 0.2 0.3\nunit = mm\n";
    if (index) return false;
    fuzz_write(path, (const uint8_t *)text, strlen(text));
    return true;
}
