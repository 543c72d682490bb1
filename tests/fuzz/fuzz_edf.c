/* SPDX-License-Identifier: MIT */
#include <stdio.h>

#include "fuzz.h"

const char *const fuzz_name = "edf";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const qb_scan_options options = {.angles = "0:180"};
    fuzz_file(data, size, &options);
    return 0;
}

bool fuzz_seed(size_t index, const char *path) {
    static const char *const seeds[] = {
        "{\nHeaderID = EH:000001:000000:000000 ;\nImage = 1 ;\nByteOrder = LowByteFirst ;\nDataType = UnsignedShort "
        ";\nDim_1 = 6 ;\nDim_2 = 5 ;\nSize = 60 ;\n",
        "{ ByteOrder = HighByteFirst; DataType = FloatValue; Dim_1 = 3; Dim_2 = 2; ",
        "{ EDF_HeaderSize = 512; Num_Images = 2; DataType = UnsignedShort; Dim_1 = 5; Dim_2 = 3; ",
        "{ EDF_DataFormatVersion = 2.7; EDF_BinarySize = 0; DataType = UnsignedByte; Dim_1 = 6; Dim_2 = 5; ",
    };
    char text[1200];
    if (index >= sizeof seeds / sizeof *seeds) return false;
    int n = snprintf(text, sizeof text, "%-510s}\n", seeds[index]); /* a block of the header, then the image */
    if (index == 3) n += snprintf(text + n, sizeof text - (size_t)n, "%-510s}\n", "{ Image = 1; "); /* of the image */
    for (int i = 0; i < 60; i++) text[n++] = (char)('0' + i % 10);
    text[n] = 0;
    return fuzz_text_seed(text, path);
}
