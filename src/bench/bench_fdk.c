/* SPDX-License-Identifier: MIT */
/* qb bench fdk: a whole cone-beam reconstruction, 16-bit TIFF to MHA, from the page cache. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/random.h"
#include "base/sort.h"
#include "base/status.h"
#include "bench/bench_parts.h"
#include "quickbeam/recon.h"

enum { REPEAT_MAX = 64 };

typedef struct files {
    char folder[512], scan[640], flats[640], darks[640], volume[640];
} files;

static qb_status make_folder(files *f) {
    const char *tmp = getenv("TMPDIR");
    snprintf(f->folder, sizeof f->folder, "%s/quickbeam-bench-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(f->folder)) return qb__fail_errno(2, "creating a folder like", f->folder);
    const struct {
        char *path;
        const char *name;
    } names[] = {{f->scan, "scan.tif"},
                 {f->flats, "flats.tif"},
                 {f->darks, "darks.tif"},
                 {f->volume, "volume.mha"}};
    for (size_t i = 0; i < 4; i++)
        snprintf(names[i].path, sizeof f->scan, "%s/%s", f->folder, names[i].name);
    return QB_OK;
}

static void remove_folder(const files *f) {
    unlink(f->scan);
    unlink(f->flats);
    unlink(f->darks);
    unlink(f->volume);
    rmdir(f->folder);
}

/* `mean` counts and noise of `spread` about them. */
static qb_status write_frames(const char *path, const size_t shape[3], float mean, float spread) {
    const size_t pixels = shape[1] * shape[2];
    const qb_stack stack = {.dtype = QB_U16,
                            .shape = {shape[0], shape[1], shape[2]},
                            .units = "counts",
                            .quantity = "counts"};
    unsigned short *image = NULL;
    float *noise = NULL;
    qb_writer *writer = NULL;
    qb_status status;
    QB__TRY(qb__alloc(pixels, sizeof *image, &image));
    QB__TRY(qb__alloc(pixels, sizeof *noise, &noise));
    QB__TRY(qb_writer_create(path, &stack, &writer));
    qb__noise(noise, pixels, 1);
    for (size_t v = 0; v < shape[0]; v++) {
        for (size_t i = 0; i < pixels; i++)
            image[i] = (unsigned short)(mean + spread * noise[(i + v * 977) % pixels]);
        QB__TRY(qb_writer_write(writer, v, v + 1, image));
    }
    status = qb_writer_commit(writer, "{}");
    writer = NULL;
out:
    qb_writer_abort(writer);
    qb__free(image);
    qb__free(noise);
    return status;
}

static qb_status write_scan(const files *f, size_t views, size_t rows, size_t columns) {
    qb_status status = write_frames(f->scan, (size_t[]){views, rows, columns}, 30000, 10000);
    if (status == QB_OK) status = write_frames(f->flats, (size_t[]){1, rows, columns}, 60000, 0);
    return status == QB_OK ? write_frames(f->darks, (size_t[]){1, rows, columns}, 100, 0) : status;
}

/* A circle whose cone is as wide as a bench-top scanner's: the source two volumes away. */
static qb_status make_geometry(const qb_scan_info *info, const double n[3], qb_geometry *geometry) {
    const double sod = 2 * (n[0] > n[2] ? n[0] : n[2]), sdd = 1.5 * sod;
    const double pixel = 1.5 * n[0] / (double)info->columns;
    return qb_geometry_cone(info->views, info->angles, info->rows, info->columns, pixel, pixel, sod,
                            sdd, 0, 0, geometry);
}

typedef struct settings {
    qb_scan_options scan;
    qb_prep_options prep;
    qb_fdk_options fdk;
    qb_output_options output;
} settings;

static qb_status fill(settings *s, const files *f, const qb_bench_options *options) {
    char size[96];
    const double *n = options->size.value;
    qb_status status;
    s->fdk.accuracy = options->accuracy;
    s->fdk.voxel = 1;
    snprintf(size, sizeof size, "%.0f,%.0f,%.0f", n[0], n[1], n[2]);
    QB__TRY(qb_param_set(qb_param_find(qb_fdk_params, "size"), &s->fdk, size));
    if (options->kernel)
        QB__TRY(qb_param_set(qb_param_find(qb_fdk_params, "kernel"), &s->fdk, options->kernel));
    QB__TRY(qb_param_set(qb_param_find(qb_scan_params, "angles"), &s->scan, "0:360"));
    QB__TRY(qb_param_set(qb_param_find(qb_scan_params, "flats"), &s->scan, f->flats));
    QB__TRY(qb_param_set(qb_param_find(qb_scan_params, "darks"), &s->scan, f->darks));
    QB__TRY(qb_param_set(qb_param_find(qb_scan_params, "pixel-size"), &s->scan, "1"));
    QB__TRY(qb_param_set(qb_param_find(qb_output_params, "output"), &s->output, f->volume));
out:
    return status;
}

static qb_status reconstruct(const files *f, const qb_bench_options *options, const qb_env *env,
                             cJSON **report) {
    settings s;
    qb_scan *scan = NULL;
    qb_job *job = NULL;
    qb_geometry geometry = {0};
    const char *text;
    qb_params_init(qb_scan_params, &s.scan);
    qb_params_init(qb_prep_params, &s.prep);
    qb_params_init(qb_fdk_params, &s.fdk);
    qb_params_init(qb_output_params, &s.output);
    qb_status status;
    QB__TRY(fill(&s, f, options));
    QB__TRY(qb_scan_open(f->scan, &s.scan, env, &scan));
    QB__TRY(make_geometry(qb_scan_describe(scan), options->size.value, &geometry));
    QB__TRY(qb_fdk_plan(scan, &geometry, &s.prep, &s.fdk, &s.output, "qb bench fdk", env, &job));
    QB__TRY(qb_job_run(job, env, &text));
    *report = cJSON_Parse(text);
    if (!*report) status = qb__fail(QB_NO_MEMORY, "no memory for the report");
out:
    qb_job_destroy(job);
    qb_geometry_destroy(&geometry);
    qb_scan_close(scan);
    qb_params_clear(qb_scan_params, &s.scan);
    qb_params_clear(qb_prep_params, &s.prep);
    qb_params_clear(qb_fdk_params, &s.fdk);
    qb_params_clear(qb_output_params, &s.output);
    return status;
}

static qb_numbers cube_of(const qb_numbers *size) {
    qb_numbers all = {3, {size->value[0], 0, 0}};
    all.value[1] = size->count > 1 ? size->value[1] : size->value[0];
    all.value[2] = size->count > 2 ? size->value[2] : size->value[0];
    return all;
}

qb_status qb__bench_fdk(const qb_bench_options *options, const qb_env *env, cJSON *result) {
    qb_bench_options all = *options;
    all.size = cube_of(&options->size);
    const double *n = all.size.value;
    const size_t columns = (size_t)(all.detector.count ? all.detector.value[0] : n[0]);
    const size_t rows = (size_t)(all.detector.count > 1 ? all.detector.value[1] : n[2]);
    double wall[REPEAT_MAX], ratio[REPEAT_MAX];
    const int repeat = options->repeat > REPEAT_MAX ? REPEAT_MAX : options->repeat;
    files f;
    qb_status status = make_folder(&f);
    if (status != QB_OK) return status;
    QB__TRY(write_scan(&f, (size_t)options->views, rows, columns));
    for (int i = 0; i < repeat; i++) {
        cJSON *report = NULL;
        QB__TRY(reconstruct(&f, &all, env, &report));
        wall[i] = qb__bench_number(report, "wall_seconds");
        ratio[i] = wall[i] / qb__bench_bound(report);
        if (i == repeat - 1) {
            cJSON_AddStringToObject(result, "kernel",
                                    cJSON_GetObjectItem(report, "kernel")->valuestring);
            qb__bench_add_stages(report, result);
            cJSON_AddItemToObject(result, "last_run", report);
        } else {
            cJSON_Delete(report);
        }
    }
    const double seconds = qb__median(wall, (size_t)repeat);
    const double updates = n[0] * n[1] * n[2] * options->views;
    cJSON_AddNumberToObject(result, "seconds_median", seconds);
    cJSON_AddNumberToObject(result, "giga_updates_per_second", updates / seconds * 1e-9);
    cJSON_AddNumberToObject(result, "wall_over_bound_median", qb__median(ratio, (size_t)repeat));
out:
    remove_folder(&f);
    return status;
}
