/* SPDX-License-Identifier: MIT */
/* Scans of Nikon (X-Tek) cabinets: NAME.xtekct, and images NAME_0001.tif next to it or in its InputFolderName. The
 * images are already corrected with flats and darks, so open beam is WhiteLevel everywhere.
 *
 * In this program's frame, the angle of view i is -(InitialAngle + i AngularStep), as in one public reader. Another
 * reader rotates the views the other way, mirrors the axis position, and takes the angles from a file of its own, which
 * the first reader ignores as wrong. Opposite rays show which is right (ways.c).
 * CentreOfRotationTop and CentreOfRotationBottom state where the axis is projected on the detector: mm to the right of
 * its middle, at its top and bottom edge. Newer files state instead ObjectOffsetX, the same distance at the object, and
 * ObjectRoll. ObjectTilt is the angle by which the top of the axis leans from the source to the detector. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "base/warning.h"
#include "io/publish/paths.h"
#include "io/vendor/vendor.h"

typedef struct nikon {
    double sod, sdd, pixel_u, pixel_v, columns, rows, views, first, step, white;
    double top, bottom, offset, roll, tilt, shift_u, shift_v;
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
    {"ObjectTilt", AT(tilt), -80, 80, false},
    {"DetectorOffsetX", AT(shift_u), -1e6, 1e6, false},
    {"DetectorOffsetY", AT(shift_v), -1e6, 1e6, false},
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

/* In the frame of an axis that leans, the source circles below or above the middle of the object, and the detector is
 * tilted. Distances are along the ray at right angles to the axis. */
static void lean(double degrees, qb__vendor *v) {
    const double angle = degrees * M_PI / 180;
    v->offset_v = -v->sdd * tan(angle);
    v->sod *= cos(angle), v->sdd /= cos(angle);
    v->lean = -degrees;
}

/* The images are in InputFolderName if that folder exists, else next to the settings. */
static qb_status find_images(const qb__ini *ini, char *pattern, size_t size) {
    char folder[256], name[256], file[768];
    if (!qb__ini_text(ini, "Name", name, sizeof name) || !*name)
        return qb__fail(QB_BAD_INPUT, "%s has no line `Name=...`, which names its images: add it", ini->path);
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

/* Makes the angles of a file relative to the first view, in the sense of the settings. False if they are those of the
 * settings, or their mirror image. */
static bool compare_angles(const qb__vendor *v, double *degrees) {
    const double SAME = 0.25; /* steps */
    double apart = 0, mirrored = 0;
    for (size_t i = v->views; i-- > 0;) {
        degrees[i] = degrees[0] - degrees[i];
        apart = fmax(apart, fabs(degrees[i] - (double)i * v->step));
        mirrored = fmax(mirrored, fabs(degrees[i] + (double)i * v->step));
    }
    return fmin(apart, mirrored) > SAME * fabs(v->step);
}

static qb_status choose(const qb__ini *ini, const qb__vendor *v, const qb_scan_options *options,
                        qb__scan_parts *parts) {
    char name[256], file[QB__VENDOR_NAME];
    double *degrees;
    qb__ini_text(ini, "Name", name, sizeof name);
    qb_status status = qb__nikon_angles(ini, name, v->views, &parts->notes, file, sizeof file, &degrees);
    const bool differ = degrees && compare_angles(v, degrees);
    qb__way ways[8];
    size_t count = 0;
    for (int list = 0; list <= differ; list++)
        for (int k = 0; k < 4; k++)
            ways[count++] = (qb__way){.sense = k < 2 ? 1 : -1,
                                      .offset_u = k % 2 ? -v->offset_u : v->offset_u,
                                      .angles = list ? degrees : NULL,
                                      .from = file};
    if (status == QB_OK) status = qb__ways_choose(v, options, ways, count, false, parts);
    qb__free(degrees);
    return status;
}

static qb_status read_scan(const qb__ini *ini, const qb_scan_options *options, qb__scan_parts *parts) {
    char pattern[QB__VENDOR_NAME];
    nikon n;
    QB__OR_RETURN(qb__ini_numbers(ini, keys, sizeof keys / sizeof *keys, &n));
    QB__OR_RETURN(find_images(ini, pattern, sizeof pattern));
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
    if (known(n.tilt) != 0) lean(n.tilt, &v);
    QB__OR_RETURN(qb__vendor_parts(&v, pattern, parts));
    if (known(n.shift_u) != 0 || known(n.shift_v) != 0)
        qb__note(&parts->notes,
                 "%s states DetectorOffsetX %g and DetectorOffsetY %g mm, which one public reader adds and another "
                 "ignores: not used here; if slices are doubled, give --detector-offset" QB__CODE("axis-sign"),
                 ini->path, known(n.shift_u), known(n.shift_v));
    return choose(ini, &v, options, parts);
}

qb_status qb__nikon_scan(const char *path, const qb_scan_options *options, qb__scan_parts *parts) {
    return qb__vendor_scan(path, options, read_scan, parts);
}
