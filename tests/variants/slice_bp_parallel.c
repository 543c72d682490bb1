/* SPDX-License-Identifier: MIT */
/* One slice through every variant that a device runs, each to a file of its own, for
 * bench/quality_backprojection.py.
 *   slice_bp_parallel DEVICE ROWS ANGLES CENTER SIZE FOLDER
 * ROWS: filtered rows, float32 [view][column]; ANGLES: float64 radians [view]; CENTER: the axis's
 * column; SIZE: pixels on a side. FOLDER/ID.f32: float32 [y][x]. */
#include "trial.h"

#include "quickbeam/status.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void *read_all(const char *path, size_t *bytes) {
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    fseek(file, 0, SEEK_END);
    *bytes = (size_t)ftell(file);
    rewind(file);
    void *data = malloc(*bytes ? *bytes : 1);
    if (data && fread(data, 1, *bytes, file) != *bytes) free(data), data = NULL;
    fclose(file);
    return data;
}

static int write_slice(const char *folder, const char *id, const float *pixels, size_t count) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.f32", folder, id);
    FILE *file = fopen(path, "wb");
    if (!file) return perror(path), 1;
    int failed = fwrite(pixels, sizeof *pixels, count, file) != count;
    return fclose(file) != 0 || failed;
}

int main(int argc, char **argv) {
    if (argc != 7) {
        fprintf(stderr, "slice_bp_parallel DEVICE ROWS ANGLES CENTER SIZE FOLDER\n");
        return 2;
    }
    size_t row_bytes, angle_bytes, count;
    float *rows = read_all(argv[2], &row_bytes);
    double *angles = read_all(argv[3], &angle_bytes);
    const size_t size = (size_t)atoi(argv[5]), views = angles ? angle_bytes / sizeof *angles : 0;
    const double center = atof(argv[4]), middle = ((double)size - 1) / 2;
    if (!rows || !views || !size) {
        fprintf(stderr, "cannot read %s or %s\n", argv[2], argv[3]);
        return 3;
    }
    trial t = trial_ordinary(views, size, 1, 1); /* its views are replaced */
    free(t.rows);
    t.rows = rows;
    t.problem.columns = row_bytes / sizeof *rows / views;
    t.largest[0] = 0;
    for (size_t i = 0; i < views * t.problem.columns; i++)
        t.largest[0] = fmaxf(t.largest[0], fabsf(rows[i]));
    for (size_t v = 0; v < views; v++) {
        t.ax[v] = cos(angles[v]), t.ay[v] = sin(angles[v]);
        t.h0[v] = center - (t.ax[v] + t.ay[v]) * middle;
    }
    qb__device *device;
    trial_device on;
    qb_status status = qb__device_open(argv[1], &device);
    if (!status) status = trial_upload(&t, device, &on);
    if (status) {
        fprintf(stderr, "%s: %s\n", argv[1], qb_detail());
        return 1;
    }
    const qb__bp_parallel_device_variant *const *all = qb__bp_parallel_device_variants(&count);
    int failed = 0;
    for (size_t i = 0; i < count; i++) {
        const qb__bp_parallel_device_variant *v = all[i];
        int values[QB__PARAMETERS_MAX];
        trial_result result;
        for (int p = 0; p < QB__PARAMETERS_MAX; p++)
            values[p] = v->head.parameters[p].name ? v->head.parameters[p].values[0] : 0;
        if (!(v->head.apis & (unsigned)qb__device_info_of(device)->api) ||
            v->head.unusable(qb__device_info_of(device), &t.problem, values))
            continue;
        status = trial_run(&on, v, values, 1, 64, &result);
        if (status) fprintf(stderr, "%s: %s\n", v->head.id, qb_detail());
        failed |= status || write_slice(argv[6], v->head.id, on.host, size * size);
    }
    trial_device_free(&on);
    qb__device_close(device);
    free(angles);
    trial_free(&t);
    return failed;
}
