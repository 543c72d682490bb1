/* SPDX-License-Identifier: MIT */
#pragma once

#include "io/formats.h"
#include "io/vendor/ini.h"

enum { QB__VENDOR_NAME = 4096 };

/* A circular cone-beam scan, as the settings file of a scanner describes it, in this program's frame: rows count
 * downwards, like z. */
typedef struct qb__vendor {
    const char *format; /* its name for qb info, such as Nikon */
    const char *path;
    size_t views;            /* number of views that the file states */
    double first, step;      /* degrees: angle of the first view, and angle between two views */
    double sod, sdd;         /* mm from the source to the axis and to the detector */
    double pixel_u, pixel_v; /* mm on the detector; pixel_v 0: same as pixel_u */
    /* mm from the projection of the axis (the ray through the axis) to the middle of the detector */
    double offset_u, offset_v;
    double tilt;          /* degrees by which the detector is rotated in its plane, right-handed */
    double lean;          /* degrees by which the detector is then tilted out of its plane (qb_geometry_options.tilt) */
    double white;         /* count of open beam; 0: not known, so fields or --air must be given */
    size_t rows, columns; /* size that the file states; 0: not stated */
} qb__vendor;

/* Opens the images of `pattern` (qb__list_images in io/formats.h) and fills the parts from `v`. `pattern` NULL: the
 * images are already open. v->views becomes the number of images if the scan was stopped, or repeats its first view.
 * QB_BAD_INPUT with both sizes if the images have another size than stated. */
qb_status qb__vendor_parts(qb__vendor *v, const char *pattern, qb__scan_parts *parts);
/* Makes the pattern PREFIX%d.tif of the images whose names begin with `prefix`, relative to the folder of the settings.
 * QB_BAD_INPUT if they would be outside of it, or if the prefix contains wildcards. `path` needs QB__VENDOR_NAME
 * bytes. */
qb_status qb__vendor_images(const qb__ini *ini, const char *prefix, char *path, size_t size);
/* Makes a path from a name in the settings, relative to their folder. Backslashes in the name become slashes. */
qb_status qb__vendor_path(const qb__ini *ini, const char *name, char *path, size_t size);
/* The `scan` function of a format: reads the settings and calls `read` to fill the parts. */
qb_status qb__vendor_scan(const char *path, const qb_scan_options *options,
                          qb_status (*read)(const qb__ini *ini, const qb_scan_options *options, qb__scan_parts *parts),
                          qb__scan_parts *parts);
