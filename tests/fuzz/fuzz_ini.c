/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"

/* The input is a scanner's settings next to images that fit the seeds; then the angle file of Nikon settings. */
const char *const fuzz_name = "ini";

static const char nikon[] =
    "[XTekCT]\nName=s\nSrcToObject=60\nSrcToDetector=90\nDetectorPixelsX=6\nDetectorPixelsY=5\nDetectorPixelSizeX="
    "0.5\nDetectorPixelSizeY=0.5\nCentreOfRotationTop=0.1\nCentreOfRotationBottom=0\nWhiteLevel=60000\nProjections=4\n"
    "InitialAngle=10\nAngularStep=90\n";

static const char *const below[] = {"", "/Radiographs", "/Projection", "/Projections"};
enum { BELOW = sizeof below / sizeof *below };

static void remove_images(void) {
    char path[320], image[400];
    for (size_t i = BELOW; i-- > 0;) {
        snprintf(path, sizeof path, "%s%s", fuzz_folder(), below[i]);
        snprintf(image, sizeof image, "%s/s_0001.tif", path);
        remove(image);
        rmdir(path);
    }
}

/* No reader changes them, so they are made once in a process. */
static void put_images(const char *folder) {
    static bool made;
    char path[320], image[400];
    for (size_t i = 0; i < BELOW && !made; i++) {
        snprintf(path, sizeof path, "%s%s", folder, below[i]);
        if (mkdir(path, 0700) != 0 && errno != EEXIST) abort();
        snprintf(image, sizeof image, "%s/s_0001.tif", path);
        if (!fuzz_put(image, QB_U16, false)) abort();
    }
    if (!made && !&fuzz_replays) atexit(remove_images);
    made = true;
}

static void read_angles(const char *folder, const uint8_t *data, size_t size) {
    char settings[320], angles[320];
    snprintf(settings, sizeof settings, "%s/s.xtekct", folder);
    snprintf(angles, sizeof angles, "%s/s.ang", folder);
    fuzz_write(settings, (const uint8_t *)nikon, sizeof nikon - 1);
    fuzz_write(angles, data, size);
    fuzz_read(settings, NULL);
    remove(settings);
    remove(angles);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const names[] = {"s.xtekct", "s.log", "s.pca", "s.nsipro", "s.xml", "s.txt"};
    const char *folder = fuzz_folder(); /* of our own, since the seeds contain the name of the images */
    char path[320];
    put_images(folder);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        fuzz_write(path, data, size);
        fuzz_read(path, NULL);
        remove(path);
    }
    read_angles(folder, data, size);
    if (&fuzz_replays) remove_images();
    return 0;
}

bool fuzz_seed(size_t index, const char *path) {
    static const char *const seeds[] = {
        nikon,
        ("[Acquisition]\nFilename Prefix=s_\nNumber of Files=4\nNumber of Rows=5\nNumber of Columns=6\nImage Pixel "
         "Size "
         "(um)=333.3\nObject to Source (mm)=60\nCamera to Source (mm)=90\nOptical Axis (line)=2\nDepth "
         "(bits)=16\nRotation"
         " Step (deg)=90\nRotation Direction=CC\n"),
        ("[Geometry]\nFDD=90\nFOD=60\n[CT]\nNumberImages=4\nRotationSector=360\n[Image]\nDimX=6\nDimY=5\n[Detector]\n"
         "PixelsizeX=0.5\nPixelsizeY=0.5\n"),
        ("<Detector>\n<width pixels>6\n<height pixels>5\n</Detector>\n<Object Radiograph>\n<number>4\n<angleStep>90\n"
         "<pitch>0.5 0.5\n</Object Radiograph>\n<Correction>\n<rotate>180\n<flipH>True\n<flipV>False\n</Correction>\n"
         "<Result>\n<source>0 0 60\n<reference>-1.2 1 -30\n<normal>0 0 -1\n<horizontal>1 0 0\n<axis>0 -1 0\n</Result>\n"
         "<Processed>\n<clockwise>True\n</Processed>\n"),
        ("<Geometrie><SourceObjectDist>60</SourceObjectDist><SourceDetectorDist>90</SourceDetectorDist></Geometrie>"
         "<Recon><ProjectionDimX>6</ProjectionDimX><ProjectionDimY>5</ProjectionDimY><ProjectionPixelSizeX>0.5"
         "</ProjectionPixelSizeX><ProjectionPixelSizeY>0.5</ProjectionPixelSizeY><ProjectionCount>4</ProjectionCount>"
         "<ProjectionCenterOffsetX>0.5</ProjectionCenterOffsetX></Recon>"),
        ("<ConeBeamScanParameter><ProjectionSize><Width>6</Width><Height>5</Height></"
         "ProjectionSize><PixelSize><Width>0.5"
         "</Width><Height>0.5</Height></PixelSize><ScanTrajectory type='CircleTrajectory'><PixelPitch>0.5</PixelPitch>"
         "<Fod>120</Fod><Fdd>180</Fdd><NumberOfProjections>4</NumberOfProjections><StartAngle>10</StartAngle><Rotation>"
         "360</Rotation><YoCenter>1</YoCenter></ScanTrajectory>"),
        ("6\tNumber of Detector Elements \n0.5\t2D-Pixel Size [mm]\n60\tFOD [mm]\n90\tFDD [mm]\n0.1\tCenter Offset "
         "[mm]\n4\tCT: Number of Projections\n"),
        "Projection: Angle\n1: 10\n2: 70\n3: 190\n4: 290\n",
    };
    return index < sizeof seeds / sizeof *seeds && fuzz_text_seed(seeds[index], path);
}
