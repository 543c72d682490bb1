/* SPDX-License-Identifier: MIT */
#pragma once

#include "io/formats.h"
#include "io/plain/source.h"
#include "io/scan/image.h"
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

/* Reads the angles of the views in degrees, as stored, from the angle file next to the settings of the scan `name`.
 * *degrees is NULL if there is no such file, or if it has too few angles, with a note; the caller frees it. `file`
 * needs QB__VENDOR_NAME bytes. */
qb_status qb__nikon_angles(const qb__ini *ini, const char *name, size_t views, qb__notes *notes, char *file,
                           size_t size, double **degrees);

/* Counts the files in a folder, or `below` it in its folders, whose names begin and end like that; `end` NULL: whose
 * name is `begin`. `found`: the path of one of them; "" if there is none. */
size_t qb__nsi_find(const char *folder, bool below, const char *begin, const char *end, char *found, size_t size);
/* Reads the list of defective pixels of a scan of NSI, NAME.defect in a folder below `folder`, into parts->mask. `image`:
 * how the stored images, whose pixels are listed, are changed. A list that cannot be used is noted. */
qb_status qb__nsi_defects(const char *folder, const qb__image *image, bool cropped, qb__scan_parts *parts);

/* One interpretation of settings that public readers interpret in different ways. */
typedef struct qb__way {
    double sense;         /* 1: views rotate as qb__vendor.step or `angles` state; -1: all angles have the other sign */
    double offset_u;      /* same meaning as in qb__vendor */
    const double *angles; /* [views] degrees after the first view, from the file `from`; NULL: i step of qb__vendor */
    const char *from;
} qb__way;

enum { QB__WAYS = 16 };

/* Chooses the way that opposite rays confirm, and sets the angles and the detector of the parts, which
 * qb__vendor_parts() has filled. If the rays do not tell clearly, the first way stays, with a warning; with `ask`,
 * QB_BAD_INPUT names the options to give. If the user gives angles, nothing is checked. */
qb_status qb__ways_choose(const qb__vendor *v, const qb_scan_options *options, const qb__way *ways, size_t count,
                          bool ask, qb__scan_parts *parts);

/* A number in a scanner's XML file: its tag, its offset in the caller's struct and its range, as in qb__ini_number. An
 * optional number that is missing becomes NAN. */
typedef qb__ini_number qb__tag_entry;

/* Reads the numbers into *out. QB_BAD_INPUT with the tag and its text if a number is missing or out of range. */
qb_status qb__tag_entries(const char *path, const char *text, const qb__tag_entry *entries, size_t count, void *out);
/* Opens the images in a folder next to the settings: TIFF, or raw files with 16 bits per pixel of the stated size. */
qb_status qb__cabinet_images(const qb__vendor *v, const char *folder, qb__scan_parts *parts);

/* Fill in the parts of a scan from the text of its settings file. */
qb_status qb__diondo_take(const char *path, const char *text, const qb_scan_options *options, qb__scan_parts *parts);
qb_status qb__yxlon_take(const char *path, const char *text, const qb_scan_options *options, qb__scan_parts *parts);
