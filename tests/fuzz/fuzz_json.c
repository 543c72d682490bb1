/* SPDX-License-Identifier: MIT */
#include "fuzz.h"

const char *const fuzz_name = "json";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_geometry(data, size);
    return 0;
}

bool fuzz_seed(size_t index, const char *path) {
#define HEAD "{\"quickbeam_geometry\": 1, \"units\": \"mm\", \"rows\": 6, \"columns\": 8, "
    static const char *const seeds[] = {
        HEAD "\"beam\": \"cone\", \"sod\": 100, \"sdd\": 150, \"pixel_size\": [0.5, 0.5], \"offset\": "
             "[1, 2], \"angles_degrees\": {\"from\": 0, \"to\": 360, \"count\": 4}}",
        HEAD "\"beam\": \"cone\", \"sod\": 1e2, \"sdd\": 150, \"pixel_size\": [0.5, 0.5], "
             "\"tilt_degrees\": [1, 2, 3], \"jitter\": [0.1, 0.2, 1, 30], \"angles_degrees\": [0, 90, "
             "180.5, -20], \"radius\": 150}",
        HEAD "\"beam\": \"parallel\", \"pixel_size\": [0.5, 0.5], \"center\": 3.25, "
             "\"angles_degrees\": [0, 45, 90]}",
        HEAD "\"beam\": \"cone\", \"comment\": [[[{}]]], \"views\": [{\"source\": [0, -9, 0], "
             "\"detector\": [-3, 5, -2], \"u\": [1, 0, 0], \"v\": [0, 0, 1]}]}",
    };
#undef HEAD
    if (index < 4) return fuzz_text_seed(seeds[index], path);
    return index == 4 && fuzz_geometry_seed(".json", path);
}
