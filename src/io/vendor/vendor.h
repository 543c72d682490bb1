/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_VENDOR_H
#define QB_IO_VENDOR_H

#include "io/formats.h"
#include "io/vendor/ini.h"

enum { QB__VENDOR_NAME = 4096 };

/* A circular cone-beam scan as a scanner's own file describes it, in this program's frame: rows count downwards, as z
 * does. */
typedef struct qb__vendor {
    const char *format; /* its name for qb info, such as Nikon */
    const char *path;
    size_t views;              /* number of views that the file states */
    double first, step;        /* degrees: angle of the first view, and from one to the next */
    double sod, sdd;           /* mm from the source to the axis and to the detector */
    double pixel_u, pixel_v;   /* mm on the detector; pixel_v 0: the same */
    double offset_u, offset_v; /* mm: the detector's middle from where the ray through the axis meets it */
    double tilt;               /* degrees by which the detector is turned in its plane, right-handed */
    double white;              /* count of open beam; 0: it is not known, fields or --air must be given */
    size_t rows, columns;      /* size that the file states; 0: it does not */
} qb__vendor;

/* Opens the images of `pattern` (io/formats.h, qb__list_images) and fills the parts from `v`. QB_BAD_INPUT with both
 * numbers where images have another size. `pattern` NULL: they are open already. */
qb_status qb__vendor_parts(const qb__vendor *v, const char *pattern, qb__scan_parts *parts);
/* PREFIX%d.tif, the images whose names begin so, from the settings' folder on. QB_BAD_INPUT where they would lie
 * outside of it, or the prefix holds wildcards. `path` has room for QB__VENDOR_NAME. */
qb_status qb__vendor_images(const qb__ini *ini, const char *prefix, char *path, size_t size);
/* FOLDER/NAME: a name from the settings, which may have back slashes, from their folder on. */
qb_status qb__vendor_path(const qb__ini *ini, const char *name, char *path, size_t size);
/* A format's `scan`: reads the settings, lets `read` fill the parts. */
qb_status qb__vendor_scan(const char *path, const qb_scan_options *options,
                          qb_status (*read)(const qb__ini *ini, const qb_scan_options *options, qb__scan_parts *parts),
                          qb__scan_parts *parts);

#endif
