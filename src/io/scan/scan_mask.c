/* SPDX-License-Identifier: MIT */
/* Pixels of the detector that no view has measured: those of a given mask, and those found in the scan. */
#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/warning.h"
#include "io/formats.h"
#include "io/scan/scan.h"
#include "quickbeam/io.h"

/* ---- a given mask ---- */

static qb_status check_shape(size_t rows, size_t columns, const qb__source *source) {
    const size_t *n = source->shape;
    if (n[0] == 1 && n[1] == rows && n[2] == columns) return QB_OK;
    if (n[0] == 1)
        return qb__fail(QB_BAD_INPUT, "the mask is %zu x %zu pixels, the detector %zu x %zu", n[1], n[2], rows,
                        columns);
    return qb__fail(QB_BAD_INPUT, "the mask has %zu images of %zu x %zu: give one of %zu x %zu for all views", n[0],
                    n[1], n[2], rows, columns);
}

/* Set marks to 1 where the mask is not 0. */
static qb_status read_marks(qb__source *source, unsigned char *marks) {
    const size_t rows = source->shape[1], columns = source->shape[2];
    const qb__region region = {0, 1, 1, 0, rows};
    char *raw = NULL;
    float *line = NULL;
    qb_status status;
    QB__TRY(qb__alloc(rows * columns, qb_dtype_size(source->dtype), &raw));
    QB__TRY(qb__alloc(columns, sizeof *line, &line));
    QB__TRY(source->read(source, &region, raw));
    for (size_t r = 0; r < rows; r++) {
        qb_convert_to_float(raw + r * columns * qb_dtype_size(source->dtype), source->dtype, columns, line);
        for (size_t c = 0; c < columns; c++)
            marks[r * columns + c] = line[c] != 0 ? QB_PIXEL_MASKED : QB_PIXEL_MEASURED;
    }
out:
    QB__FREE(raw, line);
    return status;
}

/* The detector that a mask must have: that of the images as they are stored. */
static void detector_of(const qb_scan *scan, size_t *rows, size_t *columns) {
    const qb__image *image = &scan->image;
    *rows = image->bin_v ? image->stored_rows : scan->info.rows;
    *columns = image->bin_u ? image->stored_columns : scan->info.columns;
}

/* Adds the marks of stored pixels to the mask. Returns the number of marked pixels of the images as they are read. */
static qb_status add_marks(const qb_scan *scan, const unsigned char *marks, unsigned char **mask, size_t *count) {
    const size_t pixels = scan->info.rows * scan->info.columns;
    unsigned char *changed = NULL;
    qb_status status;
    if (!*mask) QB__TRY(qb__alloc(pixels, 1, mask));
    if (scan->image.bin_u) {
        QB__TRY(qb__alloc(pixels, 1, &changed));
        qb__image_mask(&scan->image, marks, changed);
        marks = changed;
    }
    *count = 0;
    for (size_t i = 0; i < pixels; i++) {
        *count += marks[i] != QB_PIXEL_MEASURED;
        if (marks[i]) (*mask)[i] = marks[i];
    }
out:
    qb__free(changed);
    return status;
}

static qb_status read_mask(const qb_scan *scan, qb__source *source, unsigned char **mask, size_t *count) {
    size_t rows, columns;
    unsigned char *marks = NULL;
    qb_status status;
    detector_of(scan, &rows, &columns);
    QB__TRY(check_shape(rows, columns, source));
    QB__TRY(qb__alloc(rows * columns, 1, &marks));
    QB__TRY(read_marks(source, marks));
    status = add_marks(scan, marks, mask, count);
out:
    qb__free(marks);
    return status;
}

static qb_status load_given(const qb_scan *scan, const char *given, const qb_env *env, unsigned char **mask) {
    qb__source *source = NULL;
    size_t count = 0;
    if (!qb__scan_can_blank(scan))
        return qb__fail(QB_UNSUPPORTED, "--mask: integers that are %s have no number for what was not measured",
                        qb_quantity_name(scan->info.quantity));
    char *file = qb__strdup(given);
    qb_status status = file ? QB_OK : qb__fail(QB_NO_MEMORY, "no memory for its name");
    const char *dataset = file ? qb__split_dataset(file) : NULL;
    if (status == QB_OK) status = qb__source_open(file, dataset, &source);
    if (status == QB_OK) status = read_mask(scan, source, mask, &count);
    qb__source_close(source);
    qb__free(file);
    if (status != QB_OK) return qb__fail_in(status, "--mask %s", given);
    qb__info(env, "--mask: %zu of %zu pixels count as not measured", count, scan->info.rows * scan->info.columns);
    return QB_OK;
}

/* ---- the mask in the scan's own files ---- */

static qb_status take_own(qb_scan *scan, const qb_env *env, unsigned char **mask) {
    const qb__detector_mask *own = &scan->parts.mask;
    size_t rows, columns, count;
    detector_of(scan, &rows, &columns);
    if (own->rows != rows || own->columns != columns) {
        qb__note_of(&scan->parts.notes, QB_PROBLEM_PIXELS,
                    "%s is a mask of %zu x %zu pixels, the detector has %zu x %zu: it is not used; give "
                    "--mask" QB__CODE("metadata-unusable"),
                    own->from, own->rows, own->columns, rows, columns);
        return QB_OK;
    }
    if (!qb__scan_can_blank(scan)) {
        qb__note_of(&scan->parts.notes, QB_PROBLEM_PIXELS,
                    "%s is a mask, which is not used: integers that are %s have no number for what was not "
                    "measured" QB__CODE("metadata-unusable"),
                    own->from, qb_quantity_name(scan->info.quantity));
        return QB_OK;
    }
    const qb_status status = add_marks(scan, own->marks, mask, &count);
    if (status == QB_OK)
        qb__info(env, "%s: %zu of %zu pixels count as not measured (--mask none: all are measured)", own->from, count,
                 scan->info.rows * scan->info.columns);
    return status;
}

qb_status qb__scan_mask_load(qb_scan *scan, const qb_scan_options *options, const qb_env *env, unsigned char **mask) {
    const size_t pixels = scan->info.rows * scan->info.columns;
    const bool none = options->mask && strcmp(options->mask, "none") == 0;
    if (options->mask && !none) QB__OR_RETURN(load_given(scan, options->mask, env, mask));
    if (scan->parts.mask.marks && !none) QB__OR_RETURN(take_own(scan, env, mask));
    for (size_t i = 0; *mask && i < pixels; i++) scan->info.masked += (*mask)[i] == QB_PIXEL_MASKED;
    if (scan->info.masked == pixels)
        return qb__fail(QB_BAD_INPUT, "%s: all %zu pixels are masked: 0 means measured%s",
                        options->mask ? options->mask : scan->parts.mask.from, pixels,
                        options->mask ? "" : "; --mask none takes all as measured");
    return QB_OK;
}

/* ---- results ---- */

bool qb__scan_can_blank(const qb_scan *scan) {
    return qb_dtype_is_float(scan->info.dtype) || scan->info.quantity == QB_COUNTS;
}

bool qb__scan_leave_out(qb_scan *scan, unsigned char **mask, float *flat) {
    const size_t pixels = scan->info.rows * scan->info.columns;
    qb_scan_info *info = &scan->info;
    for (size_t i = 0; *mask && i < pixels; i++) info->stuck += (*mask)[i] == QB_PIXEL_STUCK;
    if (!(info->masked + info->stuck)) {
        qb__free(*mask);
        *mask = NULL;
        return false;
    }
    const bool fields = info->quantity == QB_COUNTS && flat;
    for (size_t i = 0; fields && i < pixels; i++)
        if ((*mask)[i]) flat[i] = NAN;
    return !fields && qb__scan_can_blank(scan);
}

qb_status qb_scan_mask(const qb_scan *scan, unsigned char *mask) {
    QB__NEED(scan);
    QB__NEED(mask);
    const size_t pixels = scan->info.rows * scan->info.columns;
    const bool fields = scan->flat && scan->info.quantity == QB_COUNTS;
    memset(mask, QB_PIXEL_MEASURED, pixels);
    if (scan->unmeasured) memcpy(mask, scan->unmeasured, pixels);
    for (size_t i = 0; fields && i < pixels; i++)
        if (!mask[i] && !(scan->flat[i] > (scan->dark ? scan->dark[i] : 0))) mask[i] = QB_PIXEL_DEAD;
    return QB_OK;
}
