/* SPDX-License-Identifier: MIT */
/* qb bench io: writing and reading volumes. */
#include "bench/bench_io.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/random.h"
#include "base/status.h"
#include "bench/bench_parts.h"
#include "quickbeam/io.h"

static qb_status time_write(const char *path, const qb_array *volume, double *seconds) {
    qb_stack stack = {.dtype = QB_F32,
                      .shape = {volume->shape[0], volume->shape[1], volume->shape[2]},
                      .units = "1/mm",
                      .quantity = "attenuation"};
    qb_writer *writer;
    double from = qb__now();
    QB__OR_RETURN(qb_writer_create(path, &stack, &writer));
    qb_status status = qb_writer_write(writer, 0, volume->shape[0], volume->data);
    if (status != QB_OK) {
        qb_writer_abort(writer);
        return status;
    }
    status = qb_writer_commit(writer, "{}");
    *seconds = qb__now() - from;
    return status;
}

qb_status qb__bench_io(const qb_tool_bench_options *options, const qb_env *env, cJSON *result) {
    static const char *const kinds[] = {"h5", "mha", "npy", "tif"};
    size_t nx = (size_t)options->size.value[0];
    size_t ny = options->size.count > 1 ? (size_t)options->size.value[1] : nx;
    size_t nz = options->size.count > 2 ? (size_t)options->size.value[2] : 64;
    qb_array volume = {0}, back = {0};
    qb__bench_folder folder;
    char path[640], name[32];
    qb_status status = qb__bench_folder_create(&folder);
    if (status != QB_OK) return status;
    QB__TRY(qb_array_create(QB_F32, nz, ny, nx, &volume));
    qb__noise(volume.data, nx * ny * nz, 1);
    double gigabytes = (double)(nx * ny * nz) * 4e-9;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0] && !options->kernel; i++) {
        double writing, reading;
        snprintf(name, sizeof name, "volume.%s", kinds[i]);
        qb__bench_file(&folder, name, path, sizeof path);
        QB__TRY(time_write(path, &volume, &writing));
        reading = qb__now();
        QB__TRY(qb_array_load(path, NULL, &back, NULL));
        reading = qb__now() - reading;
        bool same = memcmp(back.data, volume.data, nx * ny * nz * 4) == 0;
        qb_array_destroy(&back);
        unlink(path);
        if (!same) QB__TRY(qb__fail(QB_INTERNAL, "a %s volume did not come back as written", kinds[i]));
        cJSON *row = cJSON_AddObjectToObject(result, kinds[i]);
        cJSON_AddNumberToObject(row, "write_gigabytes_per_second", gigabytes / writing);
        cJSON_AddNumberToObject(row, "read_gigabytes_per_second", gigabytes / reading);
    }
    QB__TRY(qb__bench_packed(folder.path, options->kernel, &volume, result));
    if (!options->kernel) status = qb__bench_storage(&folder, nx * ny * nz * sizeof(float), env, result);
out:
    qb_array_destroy(&volume);
    qb_array_destroy(&back);
    qb__bench_folder_remove(&folder);
    return status;
}
