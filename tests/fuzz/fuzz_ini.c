/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"

/* The input is a scanner's settings; images that fit the seeds lie beside them. */
const char *const fuzz_name = "ini";

/* Publishing it flushes disks: that is done once, and what came of it is kept. */
static void put_image(const char *path) {
    static uint8_t bytes[4096];
    static size_t size;
    if (size) {
        fuzz_write(path, bytes, size);
        return;
    }
    if (!fuzz_put(path, QB_U16, false)) abort();
    FILE *file = fopen(path, "rb");
    size = file ? fread(bytes, 1, sizeof bytes, file) : 0;
    if (!size || size == sizeof bytes || fclose(file) != 0) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const names[] = {"s.xtekct", "s.log", "s.pca"};
    char folder[64], path[96], image[96]; /* a folder of our own: the images' name is in the seeds */
    snprintf(folder, sizeof folder, "/tmp/qb-fuzz-ini-%ld", (long)getpid());
    snprintf(image, sizeof image, "%s/s_0001.tif", folder);
    if (mkdir(folder, 0700) != 0 && errno != EEXIST) abort();
    put_image(image);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        fuzz_write(path, data, size);
        fuzz_read(path, NULL);
        remove(path);
    }
    remove(image);
    rmdir(folder);
    return 0;
}

bool fuzz_seed(size_t index, const char *path) {
    static const char *const seeds[] = {
        ("[XTekCT]\nName=s\nSrcToObject=60\nSrcToDetector=90\nDetectorPixelsX=6\nDetectorPixelsY=5\nDetectorPixelSizeX="
         "0.5\nDetectorPixelSizeY=0.5\nCentreOfRotationTop=0.1\nCentreOfRotationBottom=0\nWhiteLevel="
         "60000\nProjections="
         "4"
         "\nInitialAngle=10\nAngularStep=90\n"),
        ("[Acquisition]\nFilename Prefix=s_\nNumber of Files=4\nNumber of Rows=5\nNumber of Columns=6\nImage Pixel "
         "Size "
         "(um)=333.3\nObject to Source (mm)=60\nCamera to Source (mm)=90\nOptical Axis (line)=2\nDepth "
         "(bits)=16\nRotation"
         " Step (deg)=90\nRotation Direction=CC\n"),
        ("[Geometry]\nFDD=90\nFOD=60\n[CT]\nNumberImages=4\nRotationSector=360\n[Image]\nDimX=6\nDimY=5\n[Detector]\n"
         "PixelsizeX=0.5\nPixelsizeY=0.5\n"),
    };
    return index < sizeof seeds / sizeof *seeds && fuzz_text_seed(seeds[index], path);
}
