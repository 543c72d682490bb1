/* SPDX-License-Identifier: MIT */
/* The ImageDescription of a TIFF: our own lines, ImageJ's "key=value" lines, or OME's XML. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/status.h"
#include "io/geometry/unit_words.h"
#include "io/tiff/tiff_read.h"

const char *qb__tiff_ours(const char *text) {
    static const char word[] = "quickbeam\n";
    if (strncmp(text, word, sizeof word - 1) == 0) return text;
    if (strncmp(text, "ImageJ=", 7) != 0 && strncmp(text, "<?xml", 5) != 0) return NULL;
    const char *at = strstr(text, "\nquickbeam\n");
    return at ? at + 1 : NULL;
}

/* The text after a key, up to the end of the line or a quote; "" if it is missing. */
static void value_of(const char *text, const char *key, char *value, size_t size) {
    const char *at = strstr(text, key);
    at = at ? at + strlen(key) : "";
    snprintf(value, size, "%.*s", (int)strcspn(at, "\"\r\n"), at);
}

static void set(double *voxel, double length, double unit) {
    if (length > 0 && isfinite(length) && unit > 0) *voxel = length * unit;
}

/* Read the voxel of ImageJ: pixels per unit along x and y, and the spacing of slices in units. */
static void imagej(const char *text, const float per_unit[2], double voxel[3]) {
    char word[32];
    value_of(text, "\nunit=", word, sizeof word);
    const double unit = strcmp(word, "\\u00B5m") == 0 ? 1e-3 : qb__length_unit(word);
    for (int i = 0; i < 2; i++) set(&voxel[i], per_unit[i] > 0 ? 1 / (double)per_unit[i] : 0, unit);
    value_of(text, "\nspacing=", word, sizeof word);
    set(&voxel[2], fabs(qb__strtod(word, NULL)), unit);
}

/* Read the voxel of OME: in micrometres unless a unit is named. */
static void ome(const char *text, double voxel[3]) {
    static const char *const sides = "XYZ";
    for (int i = 0; i < 3; i++) {
        char key[32], value[32], word[32];
        snprintf(key, sizeof key, " PhysicalSize%c=\"", sides[i]);
        value_of(text, key, value, sizeof value);
        snprintf(key, sizeof key, " PhysicalSize%cUnit=\"", sides[i]);
        value_of(text, key, word, sizeof word);
        set(&voxel[i], qb__strtod(value, NULL), *word ? qb__length_unit(word) : 1e-3);
    }
}

void qb__tiff_voxel(const char *text, const float per_unit[2], double voxel[3]) {
    if (strncmp(text, "ImageJ=", 7) == 0)
        imagej(text, per_unit, voxel);
    else if (strstr(text, "<OME") && strstr(text, "<Pixels"))
        ome(text, voxel);
}

/* A linear function (function 0) from stored to calibrated numbers, as for signed 16-bit images, which ImageJ stores
 * plus 32768. */
void qb__tiff_calibration(const char *text, double *slope, double *offset) {
    char function[32], word[2][32];
    *slope = 1, *offset = 0;
    if (strncmp(text, "ImageJ=", 7) != 0) return;
    value_of(text, "\ncf=", function, sizeof function);
    value_of(text, "\nc0=", word[0], sizeof word[0]);
    value_of(text, "\nc1=", word[1], sizeof word[1]);
    if (strcmp(function, "0") != 0 || !*word[0] || !*word[1]) return;
    *offset = qb__strtod(word[0], NULL), *slope = qb__strtod(word[1], NULL);
}

qb_status qb__tiff_agree(const qb__tiff_meaning *a, const char *name_a, const qb__tiff_meaning *b, const char *name_b) {
    const struct {
        const char *what;
        double a, b;
    } pairs[] = {
        {"number of pixels without a value (NODATA)", a->missing, b->missing},
        {"slope of ImageJ's calibration", a->slope, b->slope},
        {"offset of ImageJ's calibration", a->offset, b->offset},
        {"lower end of the range of its integers", a->scale[0], b->scale[0]},
        {"upper end of the range of its integers", a->scale[1], b->scale[1]},
    };
    const bool unsaid = b->scale[0] == b->scale[1]; /* only our first file states its range */
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs - (unsaid ? 2 : 0); i++)
        if (pairs[i].a != pairs[i].b && !(isnan(pairs[i].a) && isnan(pairs[i].b)))
            return qb__fail(QB_UNSUPPORTED,
                            "the %s is %.9g in %s and %.9g in %s: give the files of one meaning, or convert each and "
                            "join the results",
                            pairs[i].what, pairs[i].b, name_b, pairs[i].a, name_a);
    return QB_OK;
}

static unsigned long count_of(const char *text, const char *key) {
    char word[32];
    value_of(text, key, word, sizeof word);
    const unsigned long count = strtoul(word, NULL, 10);
    return count ? count : 1;
}

/* If there are only channels, they may be views that a program called so. */
unsigned long qb__tiff_channels(const char *text) {
    const bool imagej = strncmp(text, "ImageJ=", 7) == 0, ome = !imagej && strstr(text, "<OME");
    if (!imagej && !ome) return 1;
    const unsigned long channels = count_of(text, imagej ? "\nchannels=" : " SizeC=\""),
                        slices = count_of(text, imagej ? "\nslices=" : " SizeZ=\""),
                        frames = count_of(text, imagej ? "\nframes=" : " SizeT=\"");
    return slices > 1 || frames > 1 ? channels : 1;
}
