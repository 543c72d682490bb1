/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "base/inputs.h"
#include "base/memory.h"
#include "base/status.h"
#include "geometry/check.h"
#include "geometry/units.h"
#include "geometry/vector.h"
#include "io/formats.h"
#include "io/geometry/geometry_file.h"
#include "io/mbirct/mbirct.h"
#include "io/publish/paths.h"

static qb_status agree_on_pixels(double given, double stated) {
    if (!(given > 0 && stated > 0) || fabs(given / stated - 1) <= 0.01) return QB_OK;
    return qb__fail(QB_BAD_INPUT,
                    "it is for pixels of %.6g mm, the projections' are %.6g mm%s; if the geometry is "
                    "right, give --pixel-size %.6g",
                    stated, given, qb__unit_hint(given / stated), stated);
}

/* Combines the detector data of the file and the caller, which must agree. */
static qb_status find_detector(const qb__text *text, const qb_detector *given, qb_detector *detector) {
    qb_detector stated = {0};
    *detector = given ? *given : stated;
    if (qb__geometry_read_note(text->data, &stated)) {
        if (!detector->rows) detector->rows = stated.rows;
        if (!detector->columns) detector->columns = stated.columns;
        if (!(detector->pixel_u > 0)) detector->pixel_u = stated.pixel_u;
        if (!(detector->pixel_v > 0)) detector->pixel_v = stated.pixel_v;
        if (detector->rows != stated.rows || detector->columns != stated.columns)
            return qb__fail(QB_BAD_INPUT, "it is for %zu rows of %zu columns, the projections have %zu of %zu",
                            stated.rows, stated.columns, detector->rows, detector->columns);
        return agree_on_pixels(detector->pixel_u, stated.pixel_u);
    }
    if (!detector->rows || !detector->columns)
        return qb__fail(QB_BAD_ARGUMENT, "the file does not say how many pixels there are: give the detector");
    return QB_OK;
}

static qb_status parse(const char *path, const qb__text *text, const qb_detector *detector, const qb_env *env,
                       qb_geometry *geometry) {
    const char *at = text->data;
    if (strncmp(at, "\xef\xbb\xbf", 3) == 0) at += 3;
    at += strspn(at, " \t\r\n");
    if (*at == '{' && qb__geometry_is_ctsimu(text)) return qb__geometry_from_ctsimu(text, geometry);
    if (*at == '{') return qb__geometry_from_json(text, geometry);
    if (qb__mbirct_is_scan(path)) return qb__geometry_from_mbirct(path, text->data, geometry);
    qb_detector known;
    qb_status status = find_detector(text, detector, &known);
    detector = &known;
    if (status != QB_OK) return status;
    if (*at == '<') return qb__geometry_from_rtk(text, detector, env, geometry);
    if (memcmp(at, "\x93NUMPY", text->length < 6 ? text->length : 6) == 0 && text->length > 6)
        return qb__geometry_from_npy(path, detector, env, geometry);
    return qb__geometry_from_matrices(text, detector, env, geometry);
}

static qb_status agree(const qb_detector *detector, const qb_geometry *geometry) {
    if (!detector) return QB_OK;
    if ((detector->rows && detector->rows != geometry->rows) ||
        (detector->columns && detector->columns != geometry->columns))
        return qb__fail(QB_BAD_INPUT, "it is for %zu rows of %zu columns, the projections have %zu of %zu",
                        geometry->rows, geometry->columns, detector->rows, detector->columns);
    if (geometry->views && geometry->view) return agree_on_pixels(detector->pixel_u, qb__norm(geometry->view->u));
    return QB_OK;
}

static qb_status load(const char *path, const qb_detector *detector, const qb_env *env, qb_geometry *geometry) {
    qb__text text;
    const qb__format *format;
    qb__kept_circle circle;
    qb_status status = qb__format_to_read(path, &format);
    if (status == QB_OK && format->geometry) {
        status = format->geometry(path, geometry);
        if (status == QB_OK) status = agree(detector, geometry);
        return status == QB_OK ? qb__geometry_check_views(geometry) : status;
    }
    if (status == QB_OK && format->provenance) {
        status = qb__geometry_kept(path, geometry, &circle);
        if ((status != QB_OK && !qb__is_folder(path)) || geometry->views) {
            if (status == QB_OK) status = agree(detector, geometry);
            if (status == QB_OK) status = qb__geometry_check_views(geometry);
            return status == QB_OK ? QB_OK : qb__fail_in(status, "%s: its provenance", path);
        }
    }
    QB__OR_RETURN(qb__text_read(path, QB__GEOMETRY_MOST_BYTES, &text));
    qb__text_narrow(&text);
    status = parse(path, &text, detector, env, geometry);
    if (status == QB_OK) status = agree(detector, geometry);
    if (status == QB_OK) status = qb__geometry_check_views(geometry);
    if (status != QB_OK) status = qb__fail_in(status, "%s", path);
    qb__text_clear(&text);
    return status;
}

qb_status qb_geometry_load(const char *path, const qb_detector *detector, const qb_env *env, qb_geometry *geometry) {
    QB__NEED(path);
    QB__NEED(geometry);
    qb__inputs *files;
    *geometry = (qb_geometry){0};
    QB__OR_RETURN(qb__alloc(1, sizeof *files, &files));
    qb__inputs_begin(files);
    const qb_status status = load(path, detector, env, geometry);
    qb__inputs_end(files);
    geometry->read_from = files;
    if (status != QB_OK) qb_geometry_destroy(geometry);
    return status;
}

static const struct {
    const char *ending;
    qb_status (*write)(const qb_geometry *geometry, qb__text *text);
} formats[] = {{".json", qb__geometry_to_json},
               {".xml", qb__geometry_to_rtk},
               {".txt", qb__geometry_to_matrices},
               {".csv", qb__geometry_to_matrices}};
enum { FORMATS = sizeof formats / sizeof formats[0] };

static size_t format_of(const char *path) {
    const char *dot = strrchr(path, '.');
    size_t i = 0;
    while (i < FORMATS && !(dot && strcmp(dot, formats[i].ending) == 0)) i++;
    return i;
}

qb_status qb_geometry_can_save(const char *path) {
    QB__NEED(path);
    if (format_of(path) < FORMATS) return QB_OK;
    return qb__fail(QB_BAD_ARGUMENT, "%s: a geometry is written as .json, .xml, .txt or .csv", path);
}

qb_status qb__geometry_save(qb__publication *set, const char *path, const qb_geometry *geometry) {
    qb__text text = {0};
    qb_status status = qb_geometry_can_save(path);
    if (status == QB_OK) status = qb__geometry_check(geometry);
    if (status != QB_OK) return status;
    status = formats[format_of(path)].write(geometry, &text);
    status = status == QB_OK ? qb__text_write(set, path, &text) : qb__fail_in(status, "%s", path);
    qb__text_clear(&text);
    return status;
}

qb_status qb_geometry_save(const char *path, const qb_geometry *geometry) {
    QB__NEED(path);
    QB__NEED(geometry);
    return qb__geometry_save(NULL, path, geometry);
}
