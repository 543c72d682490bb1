/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/fork.h"
#include "base/memory.h"
#include "base/status.h"
#include "io/formats.h"
#include "quickbeam/io.h"

/* Check the memory, because the whole array is held in it. */
static qb_status check_room(const qb__source *source) {
    const char *from;
    const double need = (double)source->shape[0] * (double)source->shape[1] * (double)qb__source_row_bytes(source);
    const double room = (double)qb__available_from(&from);
    if (need <= room) return QB_OK;
    return qb__fail(QB_NO_MEMORY, "it is held whole, which takes %.1f MiB, and %s %.1f MiB", need / 1048576, from,
                    room / 1048576);
}

static qb_status load(const char *path, const char *dataset, qb_array *array, double voxel[3], double range[2]) {
    qb__source *source;
    *array = (qb_array){0};
    QB__CALL();
    QB__OR_RETURN(qb__source_open(path, dataset, &source));
    const size_t *n = source->shape;
    qb__region all = {0, n[0], 1, 0, n[1]};
    qb_status status = check_room(source);
    if (status == QB_OK) status = qb_array_create(source->dtype, n[0], n[1], n[2], array);
    if (status != QB_OK) status = qb__fail_in(status, "%s", path);
    if (status == QB_OK) status = source->read(source, &all, array->data);
    if (voxel) memcpy(voxel, source->voxel, sizeof source->voxel);
    if (range) qb__source_ranged(source, &range[0], &range[1]);
    if (status != QB_OK) qb_array_destroy(array);
    qb__source_close(source);
    return status;
}

qb_status qb_array_load(const char *path, const char *dataset, qb_array *array, double voxel[3]) {
    QB__NEED(path);
    QB__NEED(array);
    return load(path, dataset, array, voxel, NULL);
}

/* The inverse of qb_convert_from_float: range is the value of 0, and the step. */
static void spread(qb_array *array, const double range[2]) {
    float *values = array->data;
    for (size_t i = 0, n = qb_array_count(array); i < n; i++)
        values[i] = (float)(range[0] + (double)values[i] * range[1]);
}

qb_status qb_array_load_values(const char *path, const char *dataset, qb_array *array, double voxel[3]) {
    QB__NEED(path);
    QB__NEED(array);
    double range[2] = {0};
    qb_status status = load(path, dataset, array, voxel, range);
    if (status != QB_OK || range[1] == 0) return status;
    status = qb_array_to_float(array);
    if (status == QB_OK)
        spread(array, range);
    else
        qb_array_destroy(array);
    return status;
}
