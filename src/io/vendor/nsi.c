/* SPDX-License-Identifier: MIT */
/* Scans of North Star Imaging (efX): NAME.nsipro, a text of <TAG>value with few end tags. The views are TIFF files in a
 * folder Radiographs... next to it; flats and darks are gain0.tif and offset.tif in a folder below that folder, where
 * NAME.defect may list defective pixels.
 *
 * Vectors start at the axis, in mm: `source`, `reference` (the first pixel), `normal` from the source to the detector,
 * `horizontal` along the detector rows to the right, `axis`. "Geometry Report.rtf" states the first pixel more exactly.
 * The settings tell whether the object turns clockwise, seen from above; in this program's frame the angles grow if it
 * does. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "base/warning.h"
#include "io/publish/paths.h"
#include "io/scan/image.h"
#include "io/vendor/vendor.h"

typedef struct nsi {
    const char *path;
    char *text;
    double source[3], first[3], normal[3], across[3], axis[3], pitch[2];
    double columns, rows, views, step, rotate;
    bool clockwise, flip_u, flip_v;
    size_t crop; /* pixels that are left out at each side of the images */
    bool crop_unclear;
} nsi;

/* ---- the settings ---- */

/* The text behind <TAG> in a section, up to the end of its line or the next tag; "" if there is none. Tag names may
 * contain blanks. */
static void text_of(const nsi *n, const char *section, const char *tag, char *value, size_t size) {
    char open[64], close[64], name[64];
    snprintf(open, sizeof open, "<%s>", section);
    snprintf(close, sizeof close, "</%s>", section);
    snprintf(name, sizeof name, "<%s>", tag);
    const char *from = strstr(n->text, open), *to = from ? strstr(from, close) : NULL;
    const char *at = from ? strstr(from, name) : NULL;
    *value = 0;
    if (!at || !to || at > to) return; /* a section without an end was cut off */
    at += strlen(name) + strspn(at + strlen(name), " \t");
    size_t length = strcspn(at, "<\r\n");
    while (length && strchr(" \t", at[length - 1])) length--;
    snprintf(value, size, "%.*s", (int)(length < size ? length : size - 1), at);
}

/* Reads `count` numbers, at most four. */
static qb_status numbers(const nsi *n, const char *section, const char *tag, size_t count, double *out) {
    char words[200];
    text_of(n, section, tag, words, sizeof words);
    const char *at = words;
    for (size_t i = 0; i < count; i++) {
        char word[64];
        at += strspn(at, " \t");
        const size_t length = strcspn(at, " \t");
        snprintf(word, sizeof word, "%.*s", (int)length, at);
        at += length;
        if (!qb__setting_number(word, &out[i]) || !(fabs(out[i]) <= 1e9))
            return qb__fail(QB_BAD_INPUT, "%s: <%s> of <%s> is '%.40s', which should be %s", n->path, tag, section,
                            words,
                            count == 1   ? "a number"
                            : count == 2 ? "two numbers"
                            : count == 3 ? "three numbers"
                                         : "four numbers");
    }
    return QB_OK;
}

/* Files without the two flips are of images that need none. */
static qb_status answer(const nsi *n, const char *section, const char *tag, bool needed, bool *out) {
    char word[16];
    text_of(n, section, tag, word, sizeof word);
    *out = strcasecmp(word, "true") == 0 || strcmp(word, "1") == 0;
    if (*out || strcasecmp(word, "false") == 0 || strcmp(word, "0") == 0 || (!needed && !*word)) return QB_OK;
    return qb__fail(QB_BAD_INPUT, "%s: <%s> of <%s> is '%s', which should be True or False", n->path, tag, section,
                    word);
}

/* The step between views, or else the range of all of them. */
static qb_status read_step(nsi *n) {
    char word[8];
    text_of(n, "Object Radiograph", "angleStep", word, sizeof word);
    if (*word) return numbers(n, "Object Radiograph", "angleStep", 1, &n->step);
    const qb_status status = numbers(n, "CT Project Configuration", "Rotation range", 1, &n->step);
    n->step /= n->views;
    return status;
}

/* Four numbers of pixels, one for each side. Which is which is not known, so they are used only if they are the same. */
static qb_status read_crop(nsi *n) {
    char words[64];
    double sides[4];
    text_of(n, "Radiograph", "crop", words, sizeof words);
    if (!*words) return QB_OK;
    QB__OR_RETURN(numbers(n, "Radiograph", "crop", 4, sides));
    for (int i = 0; i < 4; i++) {
        if (sides[i] != sides[0]) n->crop_unclear = true;
        if (!(sides[i] >= 0) || sides[i] != floor(sides[i]) || 2 * sides[i] >= fmin(n->rows, n->columns))
            return qb__fail(QB_BAD_INPUT, "%s: <crop> of <Radiograph> is '%s', of images of %g x %g pixels", n->path,
                            words, n->columns, n->rows);
    }
    if (!n->crop_unclear) n->crop = (size_t)sides[0];
    return QB_OK;
}

static qb_status read_settings(nsi *n) {
    qb_status status;
    QB__TRY(numbers(n, "Result", "source", 3, n->source));
    QB__TRY(numbers(n, "Result", "reference", 3, n->first));
    QB__TRY(numbers(n, "Result", "normal", 3, n->normal));
    QB__TRY(numbers(n, "Result", "horizontal", 3, n->across));
    QB__TRY(numbers(n, "Result", "axis", 3, n->axis));
    QB__TRY(numbers(n, "Object Radiograph", "pitch", 2, n->pitch));
    QB__TRY(numbers(n, "Object Radiograph", "number", 1, &n->views));
    QB__TRY(read_step(n));
    QB__TRY(numbers(n, "Detector", "width pixels", 1, &n->columns));
    QB__TRY(numbers(n, "Detector", "height pixels", 1, &n->rows));
    QB__TRY(numbers(n, "Correction", "rotate", 1, &n->rotate));
    QB__TRY(answer(n, "Correction", "flipH", false, &n->flip_u));
    QB__TRY(answer(n, "Correction", "flipV", false, &n->flip_v));
    QB__TRY(answer(n, "Processed", "clockwise", true, &n->clockwise));
    if (n->views < 1 || n->views > 1e7 || n->columns < 1 || n->columns > 1e6 || n->rows < 1 || n->rows > 1e6 ||
        !(n->pitch[0] > 0) || !(n->pitch[1] > 0) || fmod(n->rotate, 90) != 0 || !(fabs(n->step) <= 360))
        status = qb__fail(QB_BAD_INPUT,
                          "%s states %g views of %g x %g pixels of %g x %g mm, turned by %g degrees, in steps of %g",
                          n->path, n->views, n->columns, n->rows, n->pitch[0], n->pitch[1], n->rotate, n->step);
    else
        status = read_crop(n);
out:
    return status;
}

/* Reads the first pixel from the text "Image center (95.707, 123.072) [mm]" in the report next to the settings. The
 * report is in RTF. */
static qb_status read_report(const char *report, double first[3]) {
    char *text = NULL, words[2][40];
    double x, y;
    const qb_status status = qb__settings_text(report, &text);
    const char *at = status == QB_OK ? strstr(text, "Image center") : NULL;
    at = at ? strchr(at, '(') : NULL;
    if (at && sscanf(at, "( %39s %39[^)]", words[0], words[1]) == 2) {
        const size_t n = strlen(words[0]);
        if (n && words[0][n - 1] == ',') words[0][n - 1] = 0;
        if (qb__setting_number(words[0], &x) && qb__setting_number(words[1], &y)) first[0] = x, first[1] = y;
    }
    qb__free(text);
    return status;
}

/* ---- the geometry ---- */

static double dot(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static bool make_unit(double a[3]) {
    const double length = sqrt(dot(a, a));
    for (int i = 0; i < 3; i++) a[i] /= length;
    return length > 1e-9;
}

/* Sets distances, detector offset and roll from the vectors. If the source is off the axis to one side, the axis is
 * projected to the other side of the detector. */
static qb_status place(nsi *n, qb__vendor *v) {
    double down[3], from[3];
    const double *f = n->normal, *h = n->across;
    const bool units = make_unit(n->normal) && make_unit(n->across) && make_unit(n->axis);
    const double cross[3] = {f[1] * h[2] - f[2] * h[1], f[2] * h[0] - f[0] * h[2], f[0] * h[1] - f[1] * h[0]};
    memcpy(down, cross, sizeof down);
    for (int i = 0; i < 3; i++) from[i] = n->first[i] - n->source[i];
    v->sdd = dot(from, f), v->sod = -dot(n->source, f);
    const double sense = dot(n->axis, down) < 0 ? -1 : 1;
    if (!units || !make_unit(down) || !(v->sod > 0) || !(v->sdd > v->sod) || !(fabs(dot(n->axis, down)) > 0.5))
        return qb__fail(QB_BAD_INPUT,
                        "%s: its vectors put the source %g mm from the axis and %g mm from the detector, whose columns "
                        "make %g degrees with the axis, which is not possible: give a geometry file (-g)",
                        n->path, v->sod, v->sdd, acos(fmin(1, fabs(dot(n->axis, down)))) * 180 / M_PI);
    const double right = dot(from, h) + 0.5 * (n->columns - 1) * v->pixel_u,
                 low = dot(from, down) + 0.5 * (n->rows - 1) * v->pixel_v;
    const double lean = atan2(-sense * dot(n->axis, h), sense * dot(n->axis, down)), c = cos(lean), s = sin(lean);
    v->offset_u = c * right + s * low + (c * dot(n->source, h) + s * dot(n->source, down)) * v->sdd / v->sod;
    v->offset_v = c * low - s * right;
    v->tilt = lean * 180 / M_PI;
    return QB_OK;
}

/* ---- files next to the settings ---- */

/* The only entry of the folder with such a name; "" if there is none. */
static qb_status find_entry(const char *folder, const char *begin, const char *end, char *found, size_t size) {
    if (qb__nsi_find(folder, false, begin, end, found, size) < 2) return QB_OK;
    return qb__fail(QB_BAD_INPUT, "%s holds several %s...%s: keep only the one of this scan", folder, begin, end);
}

/* The corrections of the settings for stored images of this size: they are mirrored, then rotated clockwise, then
 * cropped unless they already are. qb__image rotates first, so a rotation by 90 degrees exchanges the two mirror
 * flags. */
static qb_status image_of(const nsi *n, size_t rows, size_t columns, qb__image *image) {
    const int turn = (int)(fmod(n->rotate, 360) / 90 + 4) % 4;
    const bool exchange = turn % 2;
    const size_t high = exchange ? columns : rows, wide = exchange ? rows : columns;
    char crop[100] = "";
    qb_scan_options options = {.rotate = (qb_rotate)turn, .crop = crop};
    const bool u = exchange ? n->flip_v : n->flip_u, v = exchange ? n->flip_u : n->flip_v;
    options.flip = u && v ? QB_FLIP_UV : u ? QB_FLIP_U : v ? QB_FLIP_V : QB_FLIP_NONE;
    if (n->crop && (double)high == n->rows && (double)wide == n->columns)
        snprintf(crop, sizeof crop, "%zu:%zu,%zu:%zu", n->crop, wide - n->crop, n->crop, high - n->crop);
    return qb__image_parse(&options, rows, columns, image);
}

static qb_status correct(const nsi *n, qb__source **source) {
    qb__image image;
    QB__OR_RETURN(image_of(n, (*source)->shape[1], (*source)->shape[2], &image));
    const bool whole = image.rows == image.whole_rows && image.columns == image.whole_columns;
    if (whole && !image.turn && !image.flip_u && !image.flip_v) return QB_OK;
    return qb__source_image(source, &image, false, false);
}

static qb_status open_field(const nsi *n, const char *folder, const char *name, qb__frames *out) {
    char file[QB__VENDOR_NAME];
    const size_t count = qb__nsi_find(folder, true, name, NULL, file, sizeof file);
    if (count > 1)
        return qb__fail(QB_BAD_INPUT,
                        "%zu files could be used, one of them %s: give --flats and --darks, or keep only one of them",
                        count, file);
    if (!count) return QB_OK;
    qb_status status = qb__source_open(file, NULL, &out->source);
    if (status == QB_OK) status = correct(n, &out->source);
    if (status == QB_OK) out->count = out->source->shape[0];
    return status;
}

/* Exchanges the numbers of columns and rows if the images are rotated by 90 or 270 degrees. */
static void turn_sides(nsi *n) {
    const double columns = n->columns;
    if ((int)fabs(n->rotate) / 90 % 2) n->columns = n->rows, n->rows = columns;
}

/* The crop is the same on all sides, so the middle of the detector stays where it is. */
static void say_crop(const nsi *n, qb__vendor *v, qb__scan_parts *parts) {
    if (n->crop_unclear)
        qb__note(&parts->notes,
                 "%s: the four numbers of <crop> differ, and which side each is of is not known: nothing is cropped; "
                 "give --crop" QB__CODE("metadata-unusable"),
                 n->path);
    if (!n->crop) return;
    qb__source_tell(parts->data.source, "<crop> leaves columns %zu:%zu and rows %zu:%zu", n->crop, v->columns - n->crop,
                    n->crop, v->rows - n->crop);
    v->columns -= 2 * n->crop, v->rows -= 2 * n->crop;
}

static qb_status read_scan(nsi *n, const char *folder, qb__scan_parts *parts) {
    char images[QB__VENDOR_NAME], report[QB__VENDOR_NAME];
    qb__image image;
    QB__OR_RETURN(qb__settings_text(n->path, &n->text));
    QB__OR_RETURN(read_settings(n));
    QB__OR_RETURN(find_entry(folder, "Geometry", ".rtf", report, sizeof report));
    if (*report) QB__OR_RETURN(read_report(report, n->first));
    turn_sides(n);
    qb__vendor v = {.format = "NSI",
                    .path = n->path,
                    .views = (size_t)n->views,
                    .step = n->clockwise ? n->step : -n->step,
                    .pixel_u = n->pitch[0],
                    .pixel_v = n->pitch[1],
                    .rows = (size_t)n->rows,
                    .columns = (size_t)n->columns};
    QB__OR_RETURN(place(n, &v));
    QB__OR_RETURN(find_entry(folder, "Radiographs", "", images, sizeof images));
    if (!*images)
        return qb__fail(QB_NOT_FOUND, "%s: its images are missing: put them into a folder Radiographs... next to it",
                        n->path);
    QB__OR_RETURN(qb__source_open(images, NULL, &parts->data.source));
    QB__OR_RETURN(image_of(n, parts->data.source->shape[1], parts->data.source->shape[2], &image));
    const bool cropped = n->crop && image.rows == image.whole_rows && image.columns == image.whole_columns;
    QB__OR_RETURN(qb__nsi_defects(folder, &image, cropped, parts));
    QB__OR_RETURN(correct(n, &parts->data.source));
    say_crop(n, &v, parts);
    QB__OR_RETURN(qb__vendor_parts(&v, NULL, parts));
    QB__OR_RETURN(open_field(n, folder, "gain0.tif", &parts->flats));
    QB__OR_RETURN(open_field(n, folder, "offset.tif", &parts->darks));
    if (n->views * fabs(n->step) > 360 + 1.5 * fabs(n->step))
        qb__note(
            &parts->notes,
            "%s states %g views in steps of %g degrees, %.3g turns, which may be a helix; a circle is assumed: for a "
            "helix give a geometry file (-g)" QB__CODE("several-turns"),
            n->path, n->views, n->step, n->views * fabs(n->step) / 360);
    return QB_OK;
}

qb_status qb__nsi_scan(const char *path, const qb_scan_options *options, qb__scan_parts *parts) {
    nsi n = {.path = path};
    char *folder = qb__folder_of(path);
    (void)options;
    const qb_status status =
        folder ? read_scan(&n, folder, parts) : qb__fail(QB_NO_MEMORY, "%s: no memory for its name", path);
    QB__FREE(folder, n.text);
    return status;
}
