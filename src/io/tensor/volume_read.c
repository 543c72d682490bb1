/* SPDX-License-Identifier: MIT */
/* A stack of images in a file, of which any part can be read: slices along any axis, also with steps. */
#include <math.h>
#include <stdlib.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/caller.h"
#include "base/fork.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/warning.h"
#include "io/formats.h"
#include "quickbeam/io.h"

struct qb_volume {
    qb__source *source;
    qb_array_info info;
    double low, step; /* integers with a range: value = low + step * number; step 0: numbers are values */
};

bool qb__source_ranged(const qb__source *source, double *low, double *step) {
    const double *scale = source->scale, top = source->dtype == QB_U8 ? 255 : 65535;
    if ((source->dtype != QB_U8 && source->dtype != QB_U16) || !isfinite(scale[0]) || !isfinite(scale[1])) return false;
    if (!(scale[1] > scale[0]) || (scale[0] == 0 && scale[1] == top)) return false;
    *low = scale[0];
    *step = (scale[1] - scale[0]) / top;
    return true;
}

static void describe(qb_volume *volume) {
    const qb__source *source = volume->source;
    qb_array_info *info = &volume->info;
    info->struct_size = sizeof *info;
    info->format = source->format;
    info->dtype = source->dtype;
    memcpy(info->shape, source->shape, sizeof info->shape);
    memcpy(info->voxel, source->voxel, sizeof info->voxel);
    memcpy(info->offset, source->offset, sizeof info->offset);
    memcpy(info->scale, source->scale, sizeof info->scale);
    memcpy(info->quantity, source->quantity, sizeof info->quantity);
    memcpy(info->units, source->units, sizeof info->units);
    snprintf(info->trouble, sizeof info->trouble, "%s", source->trouble);
    if (source->turned && !*source->trouble)
        snprintf(info->trouble, sizeof info->trouble,
                 "its header turns or mirrors the axes, and it is read as stored" QB__CODE("axes-turned"));
}

qb_status qb_volume_open(const char *path, const char *dataset, qb_volume **volume) {
    QB__NEED(path);
    QB__NEED(volume);
    QB__CALL();
    *volume = NULL;
    qb_volume *made = calloc(1, sizeof *made);
    if (!made) return qb__fail(QB_NO_MEMORY, "no memory to open %s", path);
    const qb_status status = qb__source_open(path, dataset, &made->source);
    if (status != QB_OK) {
        free(made);
        return status;
    }
    qb__source_ranged(made->source, &made->low, &made->step);
    describe(made);
    *volume = made;
    return QB_OK;
}

const qb_array_info *qb_volume_info(const qb_volume *volume) { return &volume->info; }

void qb_volume_close(qb_volume *volume) {
    if (!volume) return;
    qb__source_close(volume->source);
    free(volume);
}

static qb_status check_part(const qb_volume *volume, const size_t first[3], const size_t count[3],
                            const size_t step[3]) {
    static const char *const names[] = {"images", "rows", "columns"};
    for (int j = 0; j < 3; j++) {
        const size_t n = volume->info.shape[j];
        if (count[j] == 0 || step[j] == 0)
            return qb__fail(QB_BAD_ARGUMENT, "a part of %zu %s in steps of %zu: both are 1 at least", count[j],
                            names[j], step[j]);
        if (first[j] >= n || (count[j] - 1) > (n - 1 - first[j]) / step[j])
            return qb__fail(QB_BAD_ARGUMENT, "%zu %s from %zu on in steps of %zu reach beyond the %zu there are",
                            count[j], names[j], first[j], step[j], n);
    }
    return QB_OK;
}

/* Take every step[1]-th of the rows in memory, and every step[2]-th column of each, as values. */
static void take_rows(const qb_volume *volume, const char *rows, const size_t first[3], const size_t count[3],
                      const size_t step[3], float *line, float *out) {
    const size_t row_bytes = qb__source_row_bytes(volume->source), wanted = count[2];
    for (size_t r = 0; r < count[1]; r++, out += wanted) {
        qb_convert_to_float(rows + r * step[1] * row_bytes, volume->info.dtype, volume->info.shape[2], line);
        for (size_t i = 0; i < wanted; i++) out[i] = line[first[2] + i * step[2]];
        if (volume->step == 0) continue;
        for (size_t i = 0; i < wanted; i++) out[i] = (float)(volume->low + (double)out[i] * volume->step);
    }
}

enum { BATCH = 16 << 20 }; /* bytes read at once; more if the rows of one image need more */

qb_status qb_volume_read(qb_volume *volume, const size_t first[3], const size_t count[3], const size_t step[3],
                         float *out) {
    QB__NEED(volume);
    QB__NEED(first);
    QB__NEED(count);
    QB__NEED(step);
    QB__NEED(out);
    QB__CALL();
    char *rows = NULL;
    float *line = NULL;
    qb_status status;
    QB__TRY(check_part(volume, first, count, step));
    const size_t span = (count[1] - 1) * step[1] + 1;
    const size_t each = span * qb__source_row_bytes(volume->source);
    const size_t fit = BATCH / each, batch = fit < 1 ? 1 : fit < count[0] ? fit : count[0];
    QB__TRY(qb__alloc(batch, each, &rows));
    QB__TRY(qb__alloc(volume->info.shape[2], sizeof *line, &line));
    for (size_t done = 0; done < count[0]; done += batch) {
        const size_t images = batch < count[0] - done ? batch : count[0] - done;
        const qb__region region = {first[0] + done * step[0], images, step[0], first[1], first[1] + span};
        QB__TRY(qb__source_check_holes(volume->source, NULL, region.first, images, step[0]));
        QB__TRY(volume->source->read(volume->source, &region, rows));
        for (size_t i = 0; i < images; i++)
            take_rows(volume, rows + i * each, first, count, step, line, out + (done + i) * count[1] * count[2]);
    }
out:
    QB__FREE(rows, line);
    return status;
}

enum { FIRST_INFO = offsetof(qb_array_info, trouble) }; /* size of the first version */

qb_status qb_array_describe(const char *path, const char *dataset, qb_array_info *info) {
    QB__NEED(path);
    QB__NEED(info);
    qb_volume *volume;
    qb_status status = qb__result_check(info, FIRST_INFO, "qb_array_info");
    if (status == QB_OK) status = qb_volume_open(path, dataset, &volume);
    if (status != QB_OK) return status;
    qb__result_give(&volume->info, sizeof volume->info, FIRST_INFO, info);
    qb_volume_close(volume);
    return QB_OK;
}
