/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/status.h"
#include "io/formats.h"
#include "quickbeam/io.h"

qb_status qb_array_load(const char *path, const char *dataset, qb_array *array, double voxel[3]) {
    qb__source *source;
    *array = (qb_array){0};
    qb_status status = qb__source_open(path, dataset, &source);
    if (status != QB_OK) return status;
    const size_t *n = source->shape;
    qb__region all = {0, n[0], 1, 0, n[1]};
    status = qb_array_create(source->dtype, n[0], n[1], n[2], array);
    if (status != QB_OK) status = qb__fail_in(status, "%s", path);
    if (status == QB_OK) status = source->read(source, &all, array->data);
    if (voxel) memcpy(voxel, source->voxel, sizeof source->voxel);
    if (status != QB_OK) qb_array_destroy(array);
    qb__source_close(source);
    return status;
}
