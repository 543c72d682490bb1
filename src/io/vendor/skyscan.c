/* SPDX-License-Identifier: MIT */
/* Scans of Bruker SkyScan: NAME.log, and next to it images NAME0000.tif. The images are already corrected with flats
 * and darks; open beam is the largest number of their bit depth.
 *
 * Image Pixel Size is the pixel size at the axis, measured with a phantom. Camera Pixel Size is nominal. So the pixel
 * size on the detector is computed from Image Pixel Size. The line of the optical axis is counted from the lowest
 * row. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/status.h"
#include "base/warning.h"
#include "io/vendor/vendor.h"

typedef struct skyscan {
    double sod, sdd, image_pixel, columns, rows, views, step, line, depth, ratio, connected, roll, part, crop_x, crop_y;
} skyscan;

#define AT(field) offsetof(skyscan, field)
static const qb__ini_number keys[] = {
    {"Object to Source (mm)", AT(sod), 1e-3, 1e6, true},
    {"Camera to Source (mm)", AT(sdd), 1e-3, 1e6, true},
    {"Image Pixel Size (um)", AT(image_pixel), 1e-3, 1e6, true},
    {"Number of Columns", AT(columns), 1, 1e6, false},
    {"Number of Rows", AT(rows), 1, 1e6, true},
    {"Number of Files", AT(views), 1, 1e7, true},
    {"Rotation Step (deg)", AT(step), 1e-6, 360, true},
    {"Optical Axis (line)", AT(line), -1e6, 1e6, false},
    {"Depth (bits)", AT(depth), 8, 16, false},
    {"CameraXYRatio", AT(ratio), 0.1, 10, false},
    {"Number of connected scans", AT(connected), 0, 1000, false},
    {"Image Rotation", AT(roll), -90, 90, false},
    {"Partial Width", AT(part), 0, 100, false},
    {"Image crop origin X", AT(crop_x), 0, 1e6, false},
    {"Image crop origin Y", AT(crop_y), 0, 1e6, false},
};

static bool is_on(const qb__ini *ini, const char *key) {
    char value[64];
    return qb__ini_text(ini, key, value, sizeof value) && strncasecmp(value, "ON", 2) == 0;
}

/* The sign of the angle step: Rotation Direction is CC (counter-clockwise) unless the file says CW. */
static double sense(const qb__ini *ini) {
    char value[64];
    const bool clockwise = qb__ini_text(ini, "Rotation Direction", value, sizeof value) && strcasecmp(value, "CW") == 0;
    return clockwise ? 1 : -1;
}

static void judge(const qb__ini *ini, const skyscan *s, qb__notes *notes) {
    if (is_on(ini, "Random Movement"))
        qb__note(notes,
                 "%s was taken with random movement: if its images were not shifted back, give --shifts" QB__CODE(
                     "random-movement"),
                 ini->path);
    if (s->connected > 1)
        qb__note(notes, "%s is one of %g connected scans: each is reconstructed by itself" QB__CODE("connected-scans"),
                 ini->path, s->connected);
    if ((s->part > 0 && s->part < 100) || s->crop_x > 0 || s->crop_y > 0)
        qb__note(notes,
                 "%s has a part of the camera's pixels (Partial width %g %%, crop origin %g,%g): they are taken to lie "
                 "about its middle; qb center shows the axis, else give --detector-offset" QB__CODE("camera-part"),
                 ini->path, isnan(s->part) ? 100 : s->part, isnan(s->crop_x) ? 0 : s->crop_x,
                 isnan(s->crop_y) ? 0 : s->crop_y);
    if (fabs(s->ratio - 1) > 0.002)
        qb__note(notes,
                 "%s states CameraXYRatio %g, and pixels are taken as square: give --pixel-size U,V where they are "
                 "not" QB__CODE("pixel-ratio"),
                 ini->path, s->ratio);
}

static qb_status read_scan(const qb__ini *ini, const qb_scan_options *options, qb__scan_parts *parts) {
    (void)options;
    char pattern[QB__VENDOR_NAME], prefix[256];
    skyscan s;
    qb_status status;
    QB__TRY(qb__ini_numbers(ini, keys, sizeof keys / sizeof *keys, &s));
    if (!qb__ini_text(ini, "Filename Prefix", prefix, sizeof prefix) || !*prefix) {
        status =
            qb__fail(QB_BAD_INPUT, "%s has no line `Filename Prefix=...`, which names its images: add it", ini->path);
        goto out;
    }
    QB__TRY(qb__vendor_images(ini, prefix, pattern, sizeof pattern));
    const double pitch = 1e-3 * s.image_pixel * s.sdd / s.sod;
    /* row r from above is line rows - 1 - r */
    const double axis_row = isnan(s.line) ? 0.5 * (s.rows - 1) : s.rows - 1 - s.line;
    qb__vendor v = {.format = "SkyScan",
                    .path = ini->path,
                    .views = (size_t)s.views,
                    .step = sense(ini) * s.step,
                    .sod = s.sod,
                    .sdd = s.sdd,
                    .pixel_u = pitch,
                    .offset_v = (0.5 * (s.rows - 1) - axis_row) * pitch,
                    .tilt = isnan(s.roll) ? 0 : s.roll,
                    .white = ldexp(1, isnan(s.depth) ? 16 : (int)s.depth) - 1,
                    .rows = (size_t)s.rows,
                    .columns = isnan(s.columns) ? 0 : (size_t)s.columns};
    QB__TRY(qb__vendor_parts(&v, pattern, parts));
    judge(ini, &s, &parts->notes);
out:
    return status;
}

qb_status qb__skyscan_scan(const char *path, const qb_scan_options *options, qb__scan_parts *parts) {
    return qb__vendor_scan(path, options, read_scan, parts);
}
