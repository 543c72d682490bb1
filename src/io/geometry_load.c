/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/status.h"
#include "geometry/check.h"
#include "io/geometry_file.h"

/* A view takes about 400 bytes of JSON. */
static const size_t most_bytes = (size_t)1 << 30;

static qb_status given(const qb_detector *detector) {
    if (!detector || !detector->rows || !detector->columns)
        return qb__fail(QB_BAD_ARGUMENT,
                        "the file does not say how many pixels there are: give the detector");
    return QB_OK;
}

static qb_status parse(const char *path, const qb__text *text, const qb_detector *detector,
                       const qb_env *env, qb_geometry *geometry) {
    const char *at = text->data;
    if (strncmp(at, "\xef\xbb\xbf", 3) == 0) at += 3;
    at += strspn(at, " \t\r\n");
    if (*at == '{') return qb__geometry_from_json(text, geometry);
    qb_status status = given(detector);
    if (status != QB_OK) return status;
    if (*at == '<') return qb__geometry_from_rtk(text, detector, env, geometry);
    if (memcmp(at, "\x93NUMPY", text->length < 6 ? text->length : 6) == 0 && text->length > 6)
        return qb__geometry_from_npy(path, detector, geometry);
    return qb__geometry_from_matrices(text, detector, geometry);
}

static qb_status agree(const qb_detector *detector, const qb_geometry *geometry) {
    if (!detector) return QB_OK;
    if ((detector->rows && detector->rows != geometry->rows) ||
        (detector->columns && detector->columns != geometry->columns))
        return qb__fail(QB_BAD_INPUT,
                        "it is for %zu rows of %zu columns, the projections have %zu of %zu",
                        geometry->rows, geometry->columns, detector->rows, detector->columns);
    return QB_OK;
}

qb_status qb_geometry_load(const char *path, const qb_detector *detector, const qb_env *env,
                           qb_geometry *geometry) {
    *geometry = (qb_geometry){0};
    qb__text text;
    qb_status status = qb__text_read(path, most_bytes, &text);
    if (status != QB_OK) return status;
    status = parse(path, &text, detector, env, geometry);
    if (status == QB_OK) status = agree(detector, geometry);
    if (status == QB_OK) status = qb__geometry_check(geometry);
    if (status != QB_OK) {
        status = qb__fail_in(status, "%s", path);
        qb_geometry_destroy(geometry);
    }
    qb__text_clear(&text);
    return status;
}

qb_status qb_geometry_save(const char *path, const qb_geometry *geometry) {
    static const struct {
        const char *ending;
        qb_status (*write)(const qb_geometry *geometry, qb__text *text);
    } formats[] = {{".json", qb__geometry_to_json},
                   {".xml", qb__geometry_to_rtk},
                   {".txt", qb__geometry_to_matrices},
                   {".csv", qb__geometry_to_matrices}};
    qb__text text = {0};
    qb_status status = qb__geometry_check(geometry);
    if (status != QB_OK) return status;
    const char *dot = strrchr(path, '.');
    for (size_t i = 0; dot && i < sizeof formats / sizeof formats[0]; i++) {
        if (strcmp(dot, formats[i].ending) != 0) continue;
        status = formats[i].write(geometry, &text);
        status = status == QB_OK ? qb__text_write(path, &text) : qb__fail_in(status, "%s", path);
        qb__text_clear(&text);
        return status;
    }
    return qb__fail(QB_BAD_ARGUMENT, "%s: a geometry is written as .json, .xml, .txt or .csv",
                    path);
}
