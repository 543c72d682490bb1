/* SPDX-License-Identifier: MIT */
#include "fuzz.h"

const char *const fuzz_name = "matrices";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_geometry(data, size);
    return 0;
}

bool fuzz_seed(size_t index, const char *path) {
    static const char *const seeds[] = {
        "# a remark\n300 3.5 0 350, 0 2.5 300 250, 0 .01 0 1\n3.5 300 0 350 0 2.5 300 250 0.01 0 0 "
        "1 # end\n",
        "[[[2, 0, 0, 3.5], [0, 0, 2, 2.5], [0, 0, 0, 1]],\n [[0, 2, 0, 3.5], [0, 0, 2, 2.5], [0, "
        "0, 0, 1]]]\n",
        "-300;-3.5;0;-350;0;-2.5;-300;-250;0;-1e-2;0;-1\r\n",
    };
    if (index < 3) return fuzz_text_seed(seeds[index], path);
    return index < 5 && fuzz_geometry_seed(index == 3 ? ".txt" : ".csv", path);
}
