/* SPDX-License-Identifier: MIT */
/* Scans of YXLON: ScanParameter.xml with <ConeBeamScanParameter>, or a text of lines VALUE<tab>NAME. The images are in
 * the folder Projections or Projektionen next to it: TIFF, or raw 16-bit images whose rows begin at the bottom. Open
 * beam is 65535, or the largest number of ProjectionBitdepth.
 *
 * The public reader rotates views by minus the stated step. It does not know the sign of the axis position (YoCenter,
 * Center Offset) nor that of the detector: opposite rays show them (ways.c). StartAngle is added as it is stated: no
 * public reader uses it, so its sign is not known; a wrong sign turns the volume about z and changes nothing else. Tilts of the detector are not applied,
 * because their meaning is not documented. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/number.h"
#include "base/status.h"
#include "base/warning.h"
#include "io/scan/image.h"
#include "io/vendor/vendor.h"
#include "io/vendor/ini.h"

typedef struct yxlon {
    double sod, sdd, scale, pixel_u, pixel_v, columns, rows, views, first, range, bits, axis, right, low, tilt[3];
} yxlon;

#define AT(field) offsetof(yxlon, field)
static const qb__tag_entry entries[] = {
    {"PixelPitch", AT(scale), 1e-9, 1e3, true},
    {"Fod", AT(sod), 1e-3, 1e9, true},
    {"Fdd", AT(sdd), 1e-3, 1e9, true},
    {"NumberOfProjections", AT(views), 2, 1e7, true},
    {"StartAngle", AT(first), -1e6, 1e6, false},
    {"Rotation", AT(range), -1e6, 1e6, true},
    {"YoCenter", AT(axis), -1e9, 1e9, false},
    {"ProjectionBitdepth", AT(bits), 1, 16, false},
    {"HorizontalDetectorOffset", AT(right), -1e9, 1e9, false},
    {"VerticalDetectorOffset", AT(low), -1e9, 1e9, false},
    {"DetectorTiltA", AT(tilt[0]), -360, 360, false},
    {"DetectorTiltB", AT(tilt[1]), -360, 360, false},
    {"DetectorTiltC", AT(tilt[2]), -360, 360, false},
};
static const qb__tag_entry pitch[] = {{"Width", AT(pixel_u), 1e-6, 1e3, true},
                                      {"Height", AT(pixel_v), 1e-6, 1e3, true}},
                           size[] = {{"Width", AT(columns), 1, 1e6, true}, {"Height", AT(rows), 1, 1e6, true}};

static double known(double value) { return isnan(value) ? 0 : value; }

static qb_status read_xml(const char *path, const char *text, yxlon *y) {
    const char *pixels = strstr(text, "<PixelSize"), *counts = strstr(text, "<ProjectionSize"),
               *trajectory = strstr(text, "<ScanTrajectory");
    const char *end = trajectory ? strchr(trajectory, '>') : NULL,
               *circle = trajectory ? strstr(trajectory, "CircleTrajectory") : NULL;
    qb_status status;
    QB__TRY(qb__tag_entries(path, text, entries, sizeof entries / sizeof *entries, y));
    QB__TRY(qb__tag_entries(path, pixels ? pixels : "", pitch, 2, y));
    QB__TRY(qb__tag_entries(path, counts ? counts : "", size, 2, y));
    if (!circle || !end || circle > end)
        status = qb__fail(QB_UNSUPPORTED,
                          "%s: its <ScanTrajectory> is not a CircleTrajectory: give a geometry file (-g)", path);
    y->sod *= y->scale, y->sdd *= y->scale;
    y->axis = known(y->axis) * y->scale, y->right = known(y->right) * y->scale, y->low = known(y->low) * y->scale;
out:
    return status;
}

/* Lines VALUE<tab>NAME. In this format all views make one full turn. */
static qb_status read_lines(const char *path, const char *text, yxlon *y) {
    static const qb__tag_entry lines[] = {
        {"FOD [mm]", AT(sod), 1e-3, 1e6, true},
        {"FDD [mm]", AT(sdd), 1e-3, 1e6, true},
        {"Number of Detector Elements", AT(columns), 1, 1e6, true},
        {"2D-Pixel Size [mm]", AT(pixel_u), 1e-6, 1e3, true},
        {"Pixelbinning", AT(scale), 1, 64, false},
        {"CT: Number of Projections", AT(views), 2, 1e7, true},
        {"Center Offset [mm]", AT(axis), -1e6, 1e6, false},
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        double *out = (double *)(void *)((char *)y + lines[i].at);
        const char *name = strstr(text, lines[i].key), *line = name;
        char words[64] = "";
        while (line && line > text && line[-1] != '\n') line--;
        if (line) snprintf(words, sizeof words, "%.*s", (int)strcspn(line, "\t\n"), line);
        *out = NAN;
        if (!line && !lines[i].needed) continue;
        if (!qb__setting_number(words, out) || !(*out >= lines[i].low && *out <= lines[i].high))
            return qb__fail(QB_BAD_INPUT, "%s has no line with a number from %g to %g and '%s'", path, lines[i].low,
                            lines[i].high, lines[i].key);
    }
    y->pixel_u *= y->scale >= 1 ? y->scale : 1;
    y->pixel_v = y->pixel_u, y->axis = -known(y->axis), y->range = 360;
    return QB_OK;
}

/* No public reader knows what these two keys mean. */
static void judge_orientation(const char *path, const char *text, const qb_scan_options *options, qb__notes *notes) {
    char turned[32], flipped[32];
    qb__tag_text(text, NULL, "DetectorOrientation", turned, sizeof turned);
    qb__tag_text(text, NULL, "DetectorFlipDirections", flipped, sizeof flipped);
    if ((!*turned || strcasecmp(turned, "original") == 0) && (!*flipped || strcasecmp(flipped, "none") == 0)) return;
    if (options && (options->flip != QB_FLIP_NONE || options->rotate != QB_ROTATE_0)) return;
    qb__note(notes,
             "%s states DetectorOrientation '%s' and DetectorFlipDirections '%s', which are not applied: images are "
             "read as stored; if the volume is turned or a mirror image, give --rotate or --flip" QB__CODE("row-order"),
             path, turned, flipped);
}

static qb_status open_images(const qb__vendor *v, qb__scan_parts *parts) {
    qb_status status = qb__cabinet_images(v, "Projections", parts);
    if (status == QB_NOT_FOUND) status = qb__cabinet_images(v, "Projektionen", parts);
    if (status != QB_OK || strcmp(parts->data.source->format, "raw series") != 0) return status;
    const qb_scan_options below = {.flip = QB_FLIP_V};
    qb__image image;
    status = qb__image_parse(&below, parts->data.source->shape[1], parts->data.source->shape[2], &image);
    return status == QB_OK ? qb__source_image(&parts->data.source, &image, false, false) : status;
}

qb_status qb__yxlon_take(const char *path, const char *text, const qb_scan_options *options, qb__scan_parts *parts) {
    yxlon y = {.bits = 16};
    QB__OR_RETURN(strstr(text, "<ConeBeamScanParameter") ? read_xml(path, text, &y) : read_lines(path, text, &y));
    qb__vendor v = {.format = "YXLON",
                    .path = path,
                    .views = (size_t)y.views,
                    .first = known(y.first),
                    .step = -y.range / floor(y.views),
                    .sod = y.sod,
                    .sdd = y.sdd,
                    .pixel_u = y.pixel_u,
                    .pixel_v = y.pixel_v,
                    .offset_u = -y.right - y.axis * y.sdd / y.sod,
                    .offset_v = y.low,
                    .white = pow(2, floor(isnan(y.bits) ? 16 : y.bits)) - 1,
                    .columns = (size_t)y.columns,
                    .rows = (size_t)y.rows};
    QB__OR_RETURN(open_images(&v, parts));
    QB__OR_RETURN(qb__vendor_parts(&v, NULL, parts));
    const double a = y.axis * y.sdd / y.sod;
    const double at[] = {v.offset_u, -v.offset_u, y.right - a, a - y.right, 0};
    qb__way ways[2 * sizeof at / sizeof *at];
    size_t count = 0;
    for (size_t i = 0; i < (v.offset_u == 0 ? 1 : sizeof at / sizeof *at); i++)
        for (int sense = 1; sense >= -1; sense -= 2) ways[count++] = (qb__way){.sense = sense, .offset_u = at[i]};
    QB__OR_RETURN(qb__ways_choose(&v, options, ways, count, false, parts));
    judge_orientation(path, text, options, &parts->notes);
    if (known(y.tilt[0]) != 0 || known(y.tilt[1]) != 0 || known(y.tilt[2]) != 0)
        qb__note(&parts->notes,
                 "%s states tilts of the detector, %g, %g and %g, which are ignored: give a geometry file (-g) that "
                 "has them" QB__CODE("object-tilt"),
                 path, known(y.tilt[0]), known(y.tilt[1]), known(y.tilt[2]));
    return QB_OK;
}
