/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"

const char *const fuzz_name = "sim";

/* A few bytes may ask for years of computing, so only small scans are read. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[128];
    qb_scan *scan;
    snprintf(path, sizeof path, "/tmp/qb-fuzz-%ld.sim", (long)getpid());
    fuzz_write(path, data, size);
    if (qb_scan_open(path, NULL, NULL, &scan) == QB_OK) {
        const qb_scan_info *info = qb_scan_describe(scan);
        const bool little = info->stored < 1000 && info->rows < 1000 && info->columns < 1000 &&
                            info->stored * info->rows * info->columns < 100000;
        qb_scan_close(scan);
        if (little) fuzz_read(path, NULL);
    }
    remove(path);
    return 0;
}

#define SCAN "{\"quickbeam_simulated_scan\": 1, \"attenuation\": 0.02, \"seed\": 3, \"voxel\": [1, 1, 1], "

bool fuzz_seed(size_t index, const char *path) {
    static const char *const seeds[] = {
        SCAN "\"phantom\": \"spheres\", \"size\": [5, 5, 3], \"geometry\": {\"quickbeam_geometry\": 1, \"units\": "
             "\"mm\", \"beam\": \"cone\", "
             "\"rows\": 3, \"columns\": 5, \"pixel_size\": [1, 1], \"sod\": 60, \"sdd\": 90, \"angles_degrees\": [0, "
             "90, 180, 270]}}",
        SCAN "\"phantom\": \"disc\", \"size\": [4, 4, 2], \"geometry\": {\"quickbeam_geometry\": 1, \"units\": \"mm\", "
             "\"beam\": \"parallel\", "
             "\"rows\": 2, \"columns\": 4, \"pixel_size\": [1, 1], \"center\": 1.5, \"angles_degrees\": [0, 60, 120]}}",
    };
    return index < sizeof seeds / sizeof *seeds && fuzz_text_seed(seeds[index], path);
}
