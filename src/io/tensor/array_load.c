/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "base/caller.h"
#include "base/fork.h"
#include "base/memory.h"
#include "base/status.h"
#include "io/formats.h"
#include "quickbeam/io.h"

/* It is held whole. */
static qb_status check_room(const qb__source *source) {
    const char *from;
    const double need = (double)source->shape[0] * (double)source->shape[1] * (double)qb__source_row_bytes(source);
    const double room = (double)qb__available_from(&from);
    if (need <= room) return QB_OK;
    return qb__fail(QB_NO_MEMORY, "it is held whole, which takes %.1f MiB, and %s %.1f MiB", need / 1048576, from,
                    room / 1048576);
}

static qb_status load(const char *path, const char *dataset, qb_array *array, double voxel[3], double scale[2]) {
    qb__source *source;
    *array = (qb_array){0};
    QB__CALL();
    qb_status status = qb__source_open(path, dataset, &source);
    if (status != QB_OK) return status;
    const size_t *n = source->shape;
    qb__region all = {0, n[0], 1, 0, n[1]};
    status = check_room(source);
    if (status == QB_OK) status = qb_array_create(source->dtype, n[0], n[1], n[2], array);
    if (status != QB_OK) status = qb__fail_in(status, "%s", path);
    if (status == QB_OK) status = source->read(source, &all, array->data);
    if (voxel) memcpy(voxel, source->voxel, sizeof source->voxel);
    if (scale) memcpy(scale, source->scale, sizeof source->scale);
    if (status != QB_OK) qb_array_destroy(array);
    qb__source_close(source);
    return status;
}

qb_status qb_array_load(const char *path, const char *dataset, qb_array *array, double voxel[3]) {
    QB__NEED(path);
    QB__NEED(array);
    return load(path, dataset, array, voxel, NULL);
}

enum { FIRST_INFO = sizeof(qb_array_info) }; /* the first version's bytes */

qb_status qb_array_describe(const char *path, const char *dataset, qb_array_info *info) {
    QB__NEED(path);
    QB__NEED(info);
    QB__CALL();
    qb__source *source;
    qb_array_info found = {0};
    qb_status status = qb__result_check(info, FIRST_INFO, "qb_array_info");
    if (status == QB_OK) status = qb__source_open(path, dataset, &source);
    if (status != QB_OK) return status;
    found.format = source->format;
    found.dtype = source->dtype;
    memcpy(found.shape, source->shape, sizeof found.shape);
    memcpy(found.voxel, source->voxel, sizeof found.voxel);
    memcpy(found.offset, source->offset, sizeof found.offset);
    memcpy(found.scale, source->scale, sizeof found.scale);
    memcpy(found.quantity, source->quantity, sizeof found.quantity);
    memcpy(found.units, source->units, sizeof found.units);
    qb__source_close(source);
    qb__result_give(&found, sizeof found, FIRST_INFO, info);
    return QB_OK;
}

/* The inverse of qb_convert_from_float. */
static void spread(qb_array *array, double top, const double scale[2]) {
    float *values = array->data;
    double step = (scale[1] - scale[0]) / top;
    for (size_t i = 0, n = qb_array_count(array); i < n; i++) values[i] = (float)(scale[0] + (double)values[i] * step);
}

qb_status qb_array_load_values(const char *path, const char *dataset, qb_array *array, double voxel[3]) {
    QB__NEED(path);
    QB__NEED(array);
    double scale[2] = {0};
    qb_status status = load(path, dataset, array, voxel, scale);
    if (status != QB_OK) return status;
    qb_dtype dtype = array->dtype;
    double top = dtype == QB_U8 ? 255 : 65535;
    bool ranged = (dtype == QB_U8 || dtype == QB_U16) && isfinite(scale[0]) && isfinite(scale[1]) &&
                  scale[1] > scale[0] && !(scale[0] == 0 && scale[1] == top);
    if (!ranged) return QB_OK;
    status = qb_array_to_float(array);
    if (status == QB_OK)
        spread(array, top, scale);
    else
        qb_array_destroy(array);
    return status;
}
