/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>
#ifdef QB_HAVE_ZLIB
#include <zlib.h>
#endif

#include "fuzz.h"

const char *const fuzz_name = "edf";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const qb_scan_options options = {.angles = "0:180"};
    const bool packed = size > 2 && memcmp(data, "\x1f\x8b", 2) == 0;
    char path[300];
    snprintf(path, sizeof path, "%s%s", fuzz_scratch(), packed ? ".gz" : "");
    fuzz_write(path, data, size);
    fuzz_read(path, &options);
    remove(path);
    return 0;
}

/* The same text as .edf.gz, not made shorter, so that changed bytes reach the header's reader. */
static bool put_packed(const char *text, const char *path) {
#ifdef QB_HAVE_ZLIB
    gzFile file = gzopen(path, "wb0");
    const bool good = file && gzwrite(file, text, (unsigned)strlen(text)) > 0;
    return file && gzclose(file) == Z_OK && good;
#else
    return fuzz_text_seed(text, path);
#endif
}

bool fuzz_seed(size_t index, const char *path) {
    enum { SEEDS = 4 };
    static const char *const seeds[SEEDS] = {
        "{\nHeaderID = EH:000001:000000:000000 ;\nImage = 1 ;\nByteOrder = LowByteFirst ;\nDataType = UnsignedShort "
        ";\nDim_1 = 6 ;\nDim_2 = 5 ;\nSize = 60 ;\n",
        "{ ByteOrder = HighByteFirst; DataType = FloatValue; Dim_1 = 3; Dim_2 = 2; ",
        "{ EDF_HeaderSize = 512; Num_Images = 2; DataType = UnsignedShort; Dim_1 = 5; Dim_2 = 3; ",
        "{ EDF_DataFormatVersion = 2.7; EDF_BinarySize = 0; DataType = UnsignedByte; Dim_1 = 6; Dim_2 = 5; ",
    };
    char text[1200];
    if (index >= 2 * SEEDS) return false;
    int n = snprintf(text, sizeof text, "%-510s}\n", seeds[index % SEEDS]); /* a block of the header, then the image */
    if (index % SEEDS == 3) n += snprintf(text + n, sizeof text - (size_t)n, "%-510s}\n", "{ Image = 1; ");
    for (int i = 0; i < 60; i++) text[n++] = (char)('0' + i % 10);
    text[n] = 0;
    return index < SEEDS ? fuzz_text_seed(text, path) : put_packed(text, path);
}
