/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "base/warning.h"
#include "geometry/check.h"
#include "geometry/matrix.h"
#include "io/geometry/geometry_file.h"
#include "quickbeam/io.h"

/* Matrices of other programs may use another rotation axis than z: then the frame is changed. */
static void vertical_frame(qb_geometry *geometry, const qb_env *env) {
    const int axis = qb__turns_about(geometry);
    if (axis == 2) return;
    qb__turn_frame(geometry, axis);
    qb__warn(env,
             "the matrices turn the source about %c: the frame is turned, so that the volume's x, y, z are the file's "
             "%s" QB__CODE("frame-turned"),
             "xy"[axis], qb__turned_names(axis));
}

static qb_status from_numbers(const double *numbers, size_t count, const qb_detector *detector, const qb_env *env,
                              qb_geometry *geometry) {
    if (count == 0 || count % 12) return qb__fail(QB_BAD_INPUT, "%zu numbers are not 12 for every view", count);
    qb_status status = qb__geometry_create(QB_BEAM_CONE, count / 12, detector->rows, detector->columns, geometry);
    for (size_t i = 0; i < count / 12 && status == QB_OK; i++) {
        qb__matrix matrix;
        qb_beam beam = QB_BEAM_CONE;
        memcpy(matrix.m, numbers + 12 * i, sizeof matrix.m);
        status = qb__matrix_decompose(&matrix, detector->pixel_u, detector->pixel_v, &beam, &geometry->view[i]);
        if (i == 0) geometry->beam = beam;
        if (status == QB_OK && beam != geometry->beam)
            status = qb__fail(QB_BAD_INPUT, "a parallel beam among cone beams, or the reverse");
        if (status != QB_OK) status = qb__fail_in(status, "view %zu", i);
    }
    if (status == QB_OK) vertical_frame(geometry, env);
    return status;
}

/* Parse numbers between blanks, commas, semicolons and brackets; # starts a comment. With `out` NULL they are only
 * counted. */
static qb_status scan_numbers(const char *at, double *out, size_t *count) {
    static const char between[] = " \t\r\n,;[]()";
    size_t line = 1;
    for (*count = 0; *at;) {
        size_t skip = strspn(at, between);
        for (size_t i = 0; i < skip; i++) line += at[i] == '\n';
        at += skip;
        if (*at == '#') at += strcspn(at, "\n");
        if (!*at || strchr(between, *at)) continue;
        char *end;
        double value = qb__strtod(at, &end);
        if (end == at || !isfinite(value) || (*end && !strchr(between, *end) && *end != '#'))
            return qb__fail(QB_BAD_INPUT, "line %zu: '%.*s' is not a number", line,
                            (int)strcspn(at, between) < 30 ? (int)strcspn(at, between) : 30, at);
        if (out) out[*count] = value;
        ++*count;
        at = end;
    }
    return QB_OK;
}

qb_status qb__geometry_from_matrices(const qb__text *text, const qb_detector *detector, const qb_env *env,
                                     qb_geometry *geometry) {
    double *numbers = NULL;
    size_t count;
    qb_status status;
    if (strlen(text->data) != text->length)
        return qb__fail(QB_BAD_INPUT, "neither JSON nor XML nor text (byte %zu is 0)", strlen(text->data));
    QB__TRY(scan_numbers(text->data, NULL, &count));
    QB__TRY(qb__alloc(count, sizeof *numbers, &numbers));
    QB__TRY(scan_numbers(text->data, numbers, &count));
    QB__TRY(from_numbers(numbers, count, detector, env, geometry));
out:
    qb__free(numbers);
    return status;
}

qb_status qb__geometry_from_npy(const char *path, const qb_detector *detector, const qb_env *env,
                                qb_geometry *geometry) {
    qb_array array = {0};
    double *numbers = NULL;
    qb_status status;
    QB__TRY(qb_array_load(path, NULL, &array, NULL));
    size_t count = qb_array_count(&array);
    const size_t *shape = array.shape;
    bool square = shape[1] == 3 && shape[2] == 4, flat = shape[0] == 1 && shape[2] == 12;
    if (!square && !flat)
        QB__TRY(qb__fail(QB_BAD_INPUT, "its shape is %zu, %zu, %zu, not views, 3, 4", shape[0], shape[1], shape[2]));
    QB__TRY(qb__alloc(count, sizeof *numbers, &numbers));
    if (array.dtype == QB_F64) {
        memcpy(numbers, array.data, count * sizeof *numbers);
    } else {
        QB__TRY(qb_array_to_float(&array));
        for (size_t i = 0; i < count; i++) numbers[i] = (double)((const float *)array.data)[i];
    }
    QB__TRY(from_numbers(numbers, count, detector, env, geometry));
out:
    qb_array_destroy(&array);
    qb__free(numbers);
    return status;
}

qb_status qb__geometry_to_matrices(const qb_geometry *geometry, qb__text *text) {
    if (geometry->radius > 0)
        return qb__fail(QB_UNSUPPORTED, "matrices cannot state that the detector is curved (%g mm)", geometry->radius);
    qb__text_add(text, "# ");
    qb__geometry_add_note(geometry, text);
    qb__text_add(text, "\n# a 3x4 matrix a line takes x, y, z (mm), 1 to column w, row w, w\n");
    for (size_t i = 0; i < geometry->views; i++) {
        qb__matrix matrix;
        qb_status status = qb__matrix_of_view(geometry->beam, &geometry->view[i], &matrix);
        if (status != QB_OK) return qb__fail_in(status, "view %zu", i);
        for (int k = 0; k < 12; k++) qb__text_add(text, "%.17g%s", matrix.m[k / 4][k % 4], k < 11 ? ", " : "\n");
    }
    return QB_OK;
}
