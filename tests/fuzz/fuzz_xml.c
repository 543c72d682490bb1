/* SPDX-License-Identifier: MIT */
#include "fuzz.h"

const char *const fuzz_name = "xml";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_geometry(data, size);
    return 0;
}

bool fuzz_seed(size_t index, const char *path) {
#ifdef QB_HAVE_EXPAT
#define HEAD "<?xml version=\"1.0\"?>\n<!DOCTYPE RTKGEOMETRY>\n<RTKThreeDCircularGeometry version=\"3\">\n"
#define TAIL "</RTKThreeDCircularGeometry>\n"
#define SET(name, value) "<" name ">" value "</" name ">"
    static const char *const seeds[] = {
        HEAD SET("SourceToIsocenterDistance", "100") SET("SourceToDetectorDistance", "150")
            SET("Projection", SET("GantryAngle", "0") SET("SourceOffsetX", "1"))
                SET("Projection", SET("GantryAngle", "90") SET("OutOfPlaneAngle", "2")) TAIL,
        HEAD SET("SourceToIsocenterDistance", "100") SET("SourceToDetectorDistance", "0")
            SET("RadiusCylindricalDetector", "0") SET("Projection", SET("GantryAngle", "1e1")) TAIL,
        HEAD SET("Projection", SET("Matrix", "-150 0 0 0 0 -150 0 0 0 0 1 -100")) TAIL,
        HEAD SET("SourceToIsocenterDistance", "100") SET("SourceToDetectorDistance", "150")
            SET("Projection", SET("GantryAngle", "0") SET("InPlaneAngle", "5") SET("CollimationUInf", "1.79e308")
                                  SET("ProjectionOffsetY", "3")) TAIL,
    };
    if (index < 4) return fuzz_text_seed(seeds[index], path);
    return index == 4 && fuzz_geometry_seed(".xml", path);
#else
    (void)index, (void)path;
    return false;
#endif
}
