/* SPDX-License-Identifier: MIT */
#include "io/vendor/vendor.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/warning.h"
#include "io/hdf5/external.h"
#include "quickbeam/array.h"

static const double degree = 3.14159265358979323846 / 180.0;

qb_status qb__vendor_path(const qb__ini *ini, const char *name, char *path, size_t size) {
    const char *slash = strrchr(ini->path, '/');
    const int folder = slash && *name != '/' && *name != '\\' ? (int)(slash - ini->path) + 1 : 0;
    if (strpbrk(name, "*?[%"))
        return qb__fail(QB_BAD_INPUT,
                        "%s names its images '%.80s'; names with * ? [ or %% cannot be read: rename the images",
                        ini->path, name);
    if ((size_t)snprintf(path, size, "%.*s%s", folder, ini->path, name) >= size)
        return qb__fail(QB_BAD_INPUT, "%s names its images '%.80s...', which is too long", ini->path, name);
    for (char *c = path + folder; *c; c++)
        if (*c == '\\') *c = '/';
    return qb__external_check(ini->path, path);
}

qb_status qb__vendor_images(const qb__ini *ini, const char *prefix, char *path, size_t size) {
    const qb_status status = qb__vendor_path(ini, prefix, path, size);
    const size_t n = strlen(path);
    if (status == QB_OK) snprintf(path + n, size - n, "%%d.tif");
    return status;
}

qb_status qb__vendor_scan(const char *path, const qb_scan_options *options,
                          qb_status (*read)(const qb__ini *ini, const qb_scan_options *options, qb__scan_parts *parts),
                          qb__scan_parts *parts) {
    qb__ini ini = {0};
    qb_status status = qb__ini_read(path, &ini);
    if (status == QB_OK) status = read(&ini, options, parts);
    qb__text_clear(&ini.text);
    return status;
}

qb_status qb__vendor_open(const char *path, const char *how, qb__source **source) {
    const qb__format *format;
    qb__scan_parts parts = {0};
    (void)how;
    qb_status status = qb__format_to_read(path, &format);
    if (status == QB_OK) status = format->scan(path, NULL, &parts);
    if (status == QB_OK) {
        *source = parts.data.source;
        parts.data.source = NULL;
    }
    qb__scan_parts_release(&parts);
    return status;
}

static qb_status check_size(const qb__vendor *v, const qb__source *source) {
    const size_t *n = source->shape;
    if ((!v->rows || v->rows == n[1]) && (!v->columns || v->columns == n[2])) return QB_OK;
    return qb__fail(QB_BAD_INPUT, "%s states images of %zu x %zu pixels, and %s holds %zu x %zu", v->path, v->columns,
                    v->rows, source->path, n[2], n[1]);
}

/* Of the pixels within 3 % of open beam, the share that has exactly its value; NAN if there are few. */
static qb_status share_at_top(const qb__vendor *v, qb__source *images, double *share) {
    enum { LOOKS = 3, LEAST = 100 };
    const size_t views = images->shape[0], count = images->shape[1] * images->shape[2];
    size_t top = 0, near = 0;
    void *raw = NULL;
    float *values = NULL;
    qb_status status;
    *share = NAN;
    QB__TRY(qb__alloc(count, qb_dtype_size(images->dtype), &raw));
    QB__TRY(qb__alloc(count, sizeof *values, &values));
    for (size_t k = 0; k < LOOKS; k++) {
        const qb__region region = {
            .first = k * (views - 1) / (LOOKS - 1), .count = 1, .step = 1, .row1 = images->shape[1]};
        QB__TRY(images->read(images, &region, raw));
        qb_convert_to_float(raw, images->dtype, count, values);
        for (size_t i = 0; i < count; i++) top += values[i] >= v->white, near += values[i] >= 0.97 * v->white;
    }
    if (near >= LEAST) *share = (double)top / (double)near;
out:
    QB__FREE(raw, values);
    return status;
}

/* With noise, open beam at the largest number of its type is cut off. Without noise, all of it has this number. */
static qb_status judge_top(const qb__vendor *v, qb__scan_parts *parts) {
    const double LOW = 0.05, HIGH = 0.95;
    double share;
    const qb_status status = share_at_top(v, parts->data.source, &share);
    if (status == QB_OK && share > LOW && share < HIGH)
        qb__note(
            &parts->notes,
            "%s: open beam is %g, the largest number of the type, and %.0f %% of the pixels close to it have exactly "
            "this number: brighter ones were cut off, so thin parts look too dense. Scan with less exposure, or "
            "give --air REGION" QB__CODE("open-beam-saturated"),
            v->path, v->white, 100 * share);
    return status;
}

/* The images are already corrected: open beam is one number everywhere, and the dark is 0. If this number is the
 * largest of its type, open beam would look like saturated counts. Then the images are read as transmissions. */
static qb_status add_fields(const qb__vendor *v, qb__scan_parts *parts) {
    qb__source *images = parts->data.source;
    if (!(v->white > 0)) return QB_OK;
    if (v->white >= (double)qb__dtype_top(images->dtype)) {
        const qb_status judged = judge_top(v, parts);
        if (judged != QB_OK) return judged;
        const bool quiet = !*images->trouble;
        snprintf(parts->quantity, sizeof parts->quantity, "transmission");
        const qb_status scaled = qb__source_scale(&parts->data.source, 1 / v->white, 0);
        if (scaled == QB_OK && quiet) parts->data.source->trouble[0] = 0;
        return scaled;
    }
    qb_status status =
        qb__source_constant(parts->data.source, &parts->data.source->shape[1], v->white, &parts->flats.source);
    if (status == QB_OK)
        status = qb__source_constant(parts->data.source, &parts->data.source->shape[1], 0, &parts->darks.source);
    if (status == QB_OK) parts->flats.count = parts->darks.count = 1;
    return status;
}

/* A scan that was stopped has fewer images, and one that ends where it began may have one more: the step stays. */
static void count_views(qb__vendor *v, size_t images, qb__notes *notes) {
    if (images < v->views)
        qb__note(
            notes,
            "%s states %zu views, and %zu images are there: they are taken as the first ones" QB__CODE("scan-stopped"),
            v->path, v->views, images);
    if (images <= v->views + 1) v->views = images;
}

qb_status qb__vendor_parts(qb__vendor *v, const char *pattern, qb__scan_parts *parts) {
    if (pattern) QB__OR_RETURN(qb__source_open(pattern, NULL, &parts->data.source));
    qb__source *source = parts->data.source;
    parts->data.count = source->shape[0];
    QB__OR_RETURN(check_size(v, source));
    count_views(v, source->shape[0], &parts->notes);
    source->beam = QB_BEAM_CONE;
    QB__OR_RETURN(qb__alloc(v->views, sizeof *parts->angles, &parts->angles));
    parts->format = v->format;
    parts->angle_count = v->views;
    for (size_t i = 0; i < v->views; i++) parts->angles[i] = (v->first + (double)i * v->step) * degree;
    snprintf(parts->angles_from, sizeof parts->angles_from, "%.150s", v->path);
    snprintf(parts->pixel_from, sizeof parts->pixel_from, "%.150s", v->path);
    snprintf(parts->quantity, sizeof parts->quantity, "counts");
    parts->pixel_size = v->pixel_u, parts->pixel_v = v->pixel_v > 0 ? v->pixel_v : v->pixel_u;
    parts->sod = v->sod, parts->sdd = v->sdd;
    parts->detector[0] = v->offset_u, parts->detector[1] = v->offset_v, parts->detector[2] = v->tilt;
    parts->detector[3] = v->lean;
    parts->detector_stated = true;
    parts->rows_down = true;
    return add_fields(v, parts);
}
