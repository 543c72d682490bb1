/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"

/* The input is the parameters; slices and angles that fit the seeds lie next to them. */
const char *const fuzz_name = "mbirct";

enum { VIEWS = 4, CHANNELS = 5, SLICES = 2 };

static void write_sidecar(const char *path, const char *end, const void *data, size_t size) {
    char name[160];
    snprintf(name, sizeof name, "%s%s", path, end);
    if (data)
        fuzz_write(name, data, size);
    else
        remove(name);
}

static void read_as(const char *path, const char *end, const uint8_t *data, size_t size) {
    static const qb_scan_options options = {.views = NULL};
    char name[160];
    snprintf(name, sizeof name, "%s%s", path, end);
    fuzz_write(name, data, size);
    fuzz_read(name, &options);
    remove(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const float slice[VIEWS * CHANNELS] = {1, 2, 3};
    static const char *const files[] = {"_slice0001.2Dsinodata", "_slice0002.2Dsinodata", "_slice0001.2Dimgdata",
                                        "_slice0002.2Dimgdata"};
    static const char angles[] = "0\n0.7\n1.4\n2.1\n";
    char folder[64], path[80]; /* a folder of our own, since the seeds contain the name of the angles */
    snprintf(folder, sizeof folder, "/tmp/qb-fuzz-%ld", (long)getpid());
    snprintf(path, sizeof path, "%s/scan", folder);
    if (mkdir(folder, 0700) != 0 && errno != EEXIST) abort();
    for (int i = 0; i < 4; i++) write_sidecar(path, files[i], slice, sizeof slice);
    write_sidecar(folder, "/angles.txt", angles, sizeof angles - 1);
    read_as(path, ".sinoparams", data, size);
    read_as(path, ".imgparams", data, size);
    for (int i = 0; i < 4; i++) write_sidecar(path, files[i], NULL, 0);
    write_sidecar(folder, "/angles.txt", NULL, 0);
    rmdir(folder);
    return 0;
}

bool fuzz_seed(size_t index, const char *path) {
    static const char *const seeds[] = {
        "Geometry: parallel\nNChannels: 5\nNViews: 4\nNSlices: 2\nDeltaChannel: 0.5\nCenterOffset: 0.25\nDeltaSlice: "
        "0.5\n"
        "FirstSliceNumber: 1\nViewAngleList: angles.txt\n",
        "Geometry: fan-flat\nDistSourceDetector: 9\nMagnification: 1.5\nNChannels: 5\nNViews: 4\nNSlices: "
        "2\nDeltaChannel: 0.5\n"
        "DeltaSlice: 0.5\nFirstSliceNumber: 1\nViewAngleList: angles.txt\n",
        "Nx: 5\nNy: 4\nNz: 2\nFirstSliceNumber: 1\nDeltaxy: 0.5\nDeltaZ: 0.5\nROIRadius: 2\n",
    };
    return index < sizeof seeds / sizeof *seeds && fuzz_text_seed(seeds[index], path);
}
