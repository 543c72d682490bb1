/* SPDX-License-Identifier: MIT */
/* Scans of Nikon (X-Tek) cabinets: NAME.xtekct, and images NAME_0001.tif next to it or in its InputFolderName. The
 * images are already corrected with flats and darks, so open beam is WhiteLevel everywhere.
 *
 * In this program's frame, the angle of view i is -(InitialAngle + i AngularStep), as in one public reader. Another
 * reader rotates the views the other way and mirrors the axis position. Opposite rays show which is right (ways.c).
 * CentreOfRotationTop and CentreOfRotationBottom state where the axis is projected on the detector: mm to the right of
 * its middle, at its top and bottom edge. Newer files state instead ObjectOffsetX, the same distance at the object, and
 * ObjectRoll. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "base/warning.h"
#include "io/publish/paths.h"
#include "io/vendor/vendor.h"
#include "io/vendor/ways.h"

typedef struct nikon {
    double sod, sdd, pixel_u, pixel_v, columns, rows, views, first, step, white;
    double top, bottom, offset, roll, tilt;
} nikon;

#define AT(field) offsetof(nikon, field)
static const qb__ini_number keys[] = {
    {"SrcToObject", AT(sod), 1e-3, 1e6, true},
    {"SrcToDetector", AT(sdd), 1e-3, 1e6, true},
    {"DetectorPixelSizeX", AT(pixel_u), 1e-6, 1e3, true},
    {"DetectorPixelSizeY", AT(pixel_v), 1e-6, 1e3, false},
    {"DetectorPixelsX", AT(columns), 1, 1e6, false},
    {"DetectorPixelsY", AT(rows), 1, 1e6, false},
    {"Projections", AT(views), 1, 1e7, true},
    {"InitialAngle", AT(first), -1e6, 1e6, false},
    {"AngularStep", AT(step), -360, 360, true},
    {"WhiteLevel", AT(white), 1, 1e9, false},
    {"CentreOfRotationTop", AT(top), -1e6, 1e6, false},
    {"CentreOfRotationBottom", AT(bottom), -1e6, 1e6, false},
    {"ObjectOffsetX", AT(offset), -1e6, 1e6, false},
    {"ObjectRoll", AT(roll), -90, 90, false},
    {"ObjectTilt", AT(tilt), -90, 90, false},
};

static double known(double value) { return isnan(value) ? 0 : value; }

/* Sets the axis position on the detector and the roll. Newer files have both kinds of keys, with zeros in the old
 * ones. */
static void place(const nikon *n, qb__vendor *v) {
    const double degrees = 180 / M_PI;
    const bool newer = !isnan(n->offset) && known(n->top) == 0 && known(n->bottom) == 0;
    const double axis = newer ? n->offset * n->sdd / n->sod : 0.5 * (known(n->top) + known(n->bottom));
    v->offset_u = -axis;
    v->tilt = newer ? -known(n->roll) : atan2(known(n->top) - known(n->bottom), known(n->rows) * v->pixel_v) * degrees;
}

/* The images are in InputFolderName if that folder exists, else next to the settings. */
static qb_status find_images(const qb__ini *ini, char *pattern, size_t size) {
    char folder[256], name[256], file[768];
    if (!qb__ini_text(ini, "Name", name, sizeof name) || !*name)
        return qb__fail(QB_BAD_INPUT, "%s has no line `Name=...`: what are its images called?", ini->path);
    if (qb__ini_text(ini, "InputFolderName", folder, sizeof folder) && *folder) {
        char path[QB__VENDOR_NAME];
        const qb_status status = qb__vendor_path(ini, folder, path, sizeof path);
        if (status == QB_BAD_INPUT) return status;
        if (status == QB_OK && qb__is_folder(path)) {
            snprintf(file, sizeof file, "%s/%s_", folder, name);
            return qb__vendor_images(ini, file, pattern, size);
        }
    }
    snprintf(file, sizeof file, "%s_", name);
    return qb__vendor_images(ini, file, pattern, size);
}

static qb_status read_scan(const qb__ini *ini, const qb_scan_options *options, qb__scan_parts *parts) {
    char pattern[QB__VENDOR_NAME];
    nikon n;
    qb_status status;
    QB__TRY(qb__ini_numbers(ini, keys, sizeof keys / sizeof *keys, &n));
    QB__TRY(find_images(ini, pattern, sizeof pattern));
    qb__vendor v = {.format = "Nikon",
                    .path = ini->path,
                    .views = (size_t)n.views,
                    .first = -known(n.first),
                    .step = -n.step,
                    .sod = n.sod,
                    .sdd = n.sdd,
                    .pixel_u = n.pixel_u,
                    .pixel_v = isnan(n.pixel_v) ? n.pixel_u : n.pixel_v,
                    .white = known(n.white),
                    .rows = (size_t)known(n.rows),
                    .columns = (size_t)known(n.columns)};
    place(&n, &v);
    QB__TRY(qb__vendor_parts(&v, pattern, parts));
    const qb__way ways[] = {{1, v.offset_u}, {1, -v.offset_u}, {-1, v.offset_u}, {-1, -v.offset_u}};
    QB__TRY(qb__ways_choose(&v, options, ways, sizeof ways / sizeof *ways, false, parts));
    if (fabs(known(n.tilt)) > 0.01)
        qb__note(
            &parts->notes,
            "%s states that the axis leans by %g degrees along the beam (ObjectTilt), which is not applied: give a "
            "geometry file" QB__CODE("object-tilt"),
            ini->path, n.tilt);
out:
    return status;
}

qb_status qb__nikon_scan(const char *path, const qb_scan_options *options, qb__scan_parts *parts) {
    return qb__vendor_scan(path, options, read_scan, parts);
}
