/* SPDX-License-Identifier: MIT */
#include "base/number.h"
#include "base/sort.h"
#include "bench/bench_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/status.h"
#include "quickbeam/recon.h"

typedef struct files {
    char folder[512], scan[640], volume[640];
} files;

static qb_status make_folder(files *f) {
    const char *tmp = getenv("TMPDIR");
    snprintf(f->folder, sizeof f->folder, "%s/quickbeam-bench-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(f->folder)) return qb__fail_errno(2, "creating a folder like", f->folder);
    snprintf(f->scan, sizeof f->scan, "%s/scan.h5", f->folder);
    snprintf(f->volume, sizeof f->volume, "%s/volume.h5", f->folder);
    return QB_OK;
}

static void remove_folder(const files *f) {
    unlink(f->scan);
    unlink(f->volume);
    rmdir(f->folder);
}

static unsigned short image_at(float noise) {
    return (unsigned short)(30000.0f + 10000.0f * noise);
}

/* Counts with flats and darks, as a detector would give them: u16, noise around half scale. */
static qb_status write_scan(const char *path, size_t views, size_t rows, size_t columns) {
    size_t pixels = rows * columns;
    qb_array flat = {0}, dark = {0};
    double *angles = NULL;
    unsigned short *image = NULL;
    float *noise = NULL;
    qb_writer *writer = NULL;
    qb_status status;
    QB__TRY(qb_array_create(QB_U16, 1, rows, columns, &flat));
    QB__TRY(qb_array_create(QB_U16, 1, rows, columns, &dark));
    QB__TRY(qb__alloc(views, sizeof *angles, &angles));
    QB__TRY(qb__alloc(pixels, sizeof *image, &image));
    QB__TRY(qb__alloc(pixels, sizeof *noise, &noise));
    for (size_t i = 0; i < pixels; i++) {
        ((unsigned short *)flat.data)[i] = 60000;
        ((unsigned short *)dark.data)[i] = 100;
    }
    for (size_t v = 0; v < views; v++) angles[v] = 3.14159265358979 * (double)v / (double)views;
    qb_stack stack = {.dtype = QB_U16, .shape = {views, rows, columns}, .units = "counts",
                      .quantity = "counts", .angles = angles, .flats = &flat, .darks = &dark,
                      .voxel = {0.01, 0.01, 0}};
    QB__TRY(qb_writer_create(path, &stack, &writer));
    qb__noise(noise, pixels, 1);
    for (size_t v = 0; v < views; v++) {
        size_t turn = v * 977 % pixels; /* each view begins elsewhere in the noise */
        for (size_t i = 0; i < pixels; i++)
            image[i] = image_at(noise[i + turn < pixels ? i + turn : i + turn - pixels]);
        QB__TRY(qb_writer_write(writer, v, v + 1, image));
    }
    status = qb_writer_commit(writer, "{}");
    writer = NULL;
out:
    qb_writer_abort(writer);
    qb_array_destroy(&flat);
    qb_array_destroy(&dark);
    qb__free(angles);
    qb__free(image);
    qb__free(noise);
    return status;
}

static qb_status reconstruct(const files *f, const qb_bench_options *options, const qb_env *env,
                             cJSON **report) {
    qb_scan_options scan_options;
    qb_prep_options prep;
    qb_fbp_options fbp;
    qb_output_options output;
    qb_scan *scan = NULL;
    qb_job *job = NULL;
    const char *text;
    char center[32];
    qb_params_init(qb_scan_params, &scan_options);
    qb_params_init(qb_prep_params, &prep);
    qb_params_init(qb_fbp_params, &fbp);
    qb_params_init(qb_output_params, &output);
    qb_status status;
    QB__TRY(qb_scan_open(f->scan, &scan_options, env, &scan));
    qb__print(center, sizeof center, "%g", ((double)qb_scan_describe(scan)->columns - 1) / 2);
    fbp.accuracy = options->accuracy;
    fbp.interp = options->interp;
    QB__TRY(qb_param_set(qb_param_find(qb_fbp_params, "center"), &fbp, center));
    if (options->kernel)
        QB__TRY(qb_param_set(qb_param_find(qb_fbp_params, "kernel"), &fbp, options->kernel));
    QB__TRY(qb_param_set(qb_param_find(qb_output_params, "output"), &output, f->volume));
    QB__TRY(qb_fbp_plan(scan, &prep, &fbp, &output, "qb bench fbp", env, &job));
    QB__TRY(qb_job_run(job, env, &text));
    *report = cJSON_Parse(text);
out:
    qb_job_destroy(job);
    qb_scan_close(scan);
    qb_params_clear(qb_scan_params, &scan_options);
    qb_params_clear(qb_prep_params, &prep);
    qb_params_clear(qb_fbp_params, &fbp);
    qb_params_clear(qb_output_params, &output);
    return status;
}

qb_status qb__bench_fbp(const qb_bench_options *options, const qb_env *env, cJSON *result) {
    size_t columns = (size_t)options->size.value[0];
    size_t rows = options->size.count > 2 ? (size_t)options->size.value[2] : 64;
    double wall[64], ratio[64];
    int repeat = options->repeat > 64 ? 64 : options->repeat;
    files f;
    qb_status status = make_folder(&f);
    if (status != QB_OK) return status;
    QB__TRY(write_scan(f.scan, (size_t)options->views, rows, columns));
    for (int i = 0; i < repeat; i++) {
        cJSON *report = NULL;
        QB__TRY(reconstruct(&f, options, env, &report));
        wall[i] = qb__bench_number(report, "wall_seconds");
        ratio[i] = wall[i] / qb__bench_bound(report);
        if (i == repeat - 1) {
            cJSON_AddItemToObject(result, "last_run", report);
        } else {
            cJSON_Delete(report);
        }
    }
    double seconds = qb__median(wall, (size_t)repeat);
    double updates = (double)columns * (double)columns * (double)rows * options->views;
    cJSON_AddNumberToObject(result, "seconds_median", seconds);
    cJSON_AddNumberToObject(result, "giga_updates_per_second", updates / seconds * 1e-9);
    cJSON_AddNumberToObject(result, "wall_over_bound_median", qb__median(ratio, (size_t)repeat));
out:
    remove_folder(&f);
    return status;
}

static qb_status time_write(const char *path, const qb_array *volume, double *seconds) {
    qb_stack stack = {.dtype = QB_F32, .shape = {volume->shape[0], volume->shape[1], volume->shape[2]},
                      .units = "1/mm", .quantity = "attenuation"};
    qb_writer *writer;
    double from = qb__now();
    qb_status status = qb_writer_create(path, &stack, &writer);
    if (status != QB_OK) return status;
    status = qb_writer_write(writer, 0, volume->shape[0], volume->data);
    if (status != QB_OK) {
        qb_writer_abort(writer);
        return status;
    }
    status = qb_writer_commit(writer, "{}");
    *seconds = qb__now() - from;
    return status;
}

qb_status qb__bench_io(const qb_bench_options *options, const qb_env *env, cJSON *result) {
    (void)env;
    static const char *const kinds[] = {"h5", "mha", "npy", "tif"};
    size_t nx = (size_t)options->size.value[0];
    size_t ny = options->size.count > 1 ? (size_t)options->size.value[1] : nx;
    size_t nz = options->size.count > 2 ? (size_t)options->size.value[2] : 64;
    qb_array volume = {0}, back = {0};
    files f;
    qb_status status = make_folder(&f);
    if (status != QB_OK) return status;
    QB__TRY(qb_array_create(QB_F32, nz, ny, nx, &volume));
    qb__noise(volume.data, nx * ny * nz, 1);
    double gigabytes = (double)(nx * ny * nz) * 4e-9;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        double writing, reading;
        snprintf(f.volume, sizeof f.volume, "%s/volume.%s", f.folder, kinds[i]);
        QB__TRY(time_write(f.volume, &volume, &writing));
        reading = qb__now();
        QB__TRY(qb_array_load(f.volume, NULL, &back, NULL));
        reading = qb__now() - reading;
        bool same = memcmp(back.data, volume.data, nx * ny * nz * 4) == 0;
        qb_array_destroy(&back);
        unlink(f.volume);
        if (!same) {
            status = qb__fail(QB_INTERNAL, "a %s volume did not come back as written", kinds[i]);
            goto out;
        }
        cJSON *row = cJSON_AddObjectToObject(result, kinds[i]);
        cJSON_AddNumberToObject(row, "write_gigabytes_per_second", gigabytes / writing);
        cJSON_AddNumberToObject(row, "read_gigabytes_per_second", gigabytes / reading);
    }
out:
    qb_array_destroy(&volume);
    qb_array_destroy(&back);
    remove_folder(&f);
    return status;
}
