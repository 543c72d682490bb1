/* SPDX-License-Identifier: MIT */
/* qb bench fbp, fdk: whole reconstructions from the page cache: HDF5 to HDF5 for a parallel beam, 16-bit TIFF to one
 * TIFF per slice for a cone. */
#include <stdio.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/random.h"
#include "base/sort.h"
#include "base/status.h"
#include "bench/bench_io.h"
#include "bench/bench_parts.h"
#include "quickbeam/recon.h"

enum { REPEAT_MAX = 64 };

typedef struct bench {
    const qb_tool_bench_options *options;
    double n[3]; /* voxels along x, y, z */
    size_t views, rows, columns;
    qb__bench_folder folder;
    char scan[640], flats[640], darks[640], volume[640];
    qb_geometry geometry; /* used for a cone beam only */
} bench;

/* ---- the scan ---- */

/* Write frames of `mean` counts with noise of `spread`; each image starts at another place of the noise. */
static qb_status write_frames(const char *path, const qb_stack *stack, float mean, float spread) {
    const size_t pixels = stack->shape[1] * stack->shape[2];
    unsigned short *image = NULL;
    float *noise = NULL;
    qb_writer *writer = NULL;
    qb_status status;
    QB__TRY(qb__alloc(pixels, sizeof *image, &image));
    QB__TRY(qb__alloc(pixels, sizeof *noise, &noise));
    QB__TRY(qb_writer_create(path, stack, &writer));
    qb__noise(noise, pixels, 1);
    for (size_t v = 0; v < stack->shape[0]; v++) {
        for (size_t i = 0; i < pixels; i++) image[i] = (unsigned short)(mean + spread * noise[(i + v * 977) % pixels]);
        QB__TRY(qb_writer_write(writer, v, v + 1, image));
    }
    status = qb_writer_commit(writer, "{}");
    writer = NULL;
out:
    qb_writer_abort(writer);
    QB__FREE(image, noise);
    return status;
}

static qb_stack counts(const bench *b, size_t images) {
    return (qb_stack){.dtype = QB_U16, .shape = {images, b->rows, b->columns}, .units = "counts", .quantity = "counts"};
}

/* Write one file with flats, darks, angles and the pixel size. */
static qb_status write_exchange(const bench *b) {
    qb_array flat = {0}, dark = {0};
    double *angles = NULL;
    qb_stack stack = counts(b, b->views);
    qb_status status;
    QB__TRY(qb_array_create(QB_U16, 1, b->rows, b->columns, &flat));
    QB__TRY(qb_array_create(QB_U16, 1, b->rows, b->columns, &dark));
    QB__TRY(qb__alloc(b->views, sizeof *angles, &angles));
    for (size_t i = 0; i < b->rows * b->columns; i++) {
        ((unsigned short *)flat.data)[i] = 60000;
        ((unsigned short *)dark.data)[i] = 100;
    }
    for (size_t v = 0; v < b->views; v++) angles[v] = 3.14159265358979 * (double)v / (double)b->views;
    stack.angles = angles;
    stack.flats = &flat;
    stack.darks = &dark;
    stack.voxel[0] = stack.voxel[1] = 0.01;
    status = write_frames(b->scan, &stack, 30000, 10000);
out:
    qb_array_destroy(&flat);
    qb_array_destroy(&dark);
    qb__free(angles);
    return status;
}

static qb_status write_tiffs(const bench *b) {
    const qb_stack views = counts(b, b->views), one = counts(b, 1);
    qb_status status = write_frames(b->scan, &views, 30000, 10000);
    if (status == QB_OK) status = write_frames(b->flats, &one, 60000, 0);
    return status == QB_OK ? write_frames(b->darks, &one, 100, 0) : status;
}

/* ---- a reconstruction ---- */

typedef struct settings {
    qb_scan_options scan;
    qb_prep_options prep;
    qb_output_options output;
} settings;

static qb_status set(const qb_param *table, void *options, const char *name, const char *value) {
    return value ? qb_param_set(qb_param_find(table, name), options, value) : QB_OK;
}

static qb_status plan_fbp(bench *b, qb_scan *scan, const settings *s, const qb_env *env, qb_job **job) {
    qb_fbp_options fbp;
    char center[32];
    qb_status status;
    QB__TRY(qb_params_init(qb_fbp_params, &fbp));
    fbp.accuracy = b->options->accuracy;
    fbp.interp = b->options->interp;
    qb__print(center, sizeof center, "%g", ((double)b->columns - 1) / 2);
    QB__TRY(set(qb_fbp_params, &fbp, "center", center));
    QB__TRY(set(qb_fbp_params, &fbp, "kernel", b->options->kernel));
    status = qb_fbp_plan(scan, &s->prep, &fbp, &s->output, "qb bench fbp", env, job);
out:
    qb_params_clear(qb_fbp_params, &fbp);
    return status;
}

/* A circle with the cone angle of a bench-top scanner: the source is two volumes away. */
static qb_status plan_fdk(bench *b, qb_scan *scan, const settings *s, const qb_env *env, qb_job **job) {
    const qb_scan_info *info = qb_scan_describe(scan);
    const double sod = 2 * (b->n[0] > b->n[2] ? b->n[0] : b->n[2]), sdd = 1.5 * sod;
    const double pixel = 1.5 * b->n[0] / (double)b->columns;
    qb_fdk_options fdk;
    char size[96];
    qb_status status;
    QB__TRY(qb_params_init(qb_fdk_params, &fdk));
    fdk.accuracy = b->options->accuracy;
    fdk.voxel = 1;
    snprintf(size, sizeof size, "%.0f,%.0f,%.0f", b->n[0], b->n[1], b->n[2]);
    QB__TRY(set(qb_fdk_params, &fdk, "size", size));
    QB__TRY(set(qb_fdk_params, &fdk, "kernel", b->options->kernel));
    QB__TRY(qb_geometry_cone(info->views, info->angles, info->rows, info->columns, pixel, pixel, sod, sdd, 0, 0,
                             &b->geometry));
    status = qb_fdk_plan(scan, &b->geometry, &s->prep, &fdk, &s->output, "qb bench fdk", env, job);
out:
    qb_params_clear(qb_fdk_params, &fdk);
    return status;
}

/* Differences between the two benchmarks. */
typedef struct kind {
    const char *scan, *volume; /* files */
    bool apart;                /* flats, darks, angles and the pixel size are not in the scan's file */
    qb_status (*write)(const bench *b);
    qb_status (*plan)(bench *b, qb_scan *scan, const settings *s, const qb_env *env, qb_job **job);
} kind;

static const kind parallel = {"scan.h5", "volume.h5", false, write_exchange, plan_fbp},
                  cone = {"scan.tif", "slice_%05d.tif", true, write_tiffs, plan_fdk};

/* Add the device, if it is not the CPU, and the chunks of the job. */
static void add_plan(const qb_job *job, cJSON *report) {
    static const char *const cut[] = {"slices_per_chunk", "slices_after_first", "chunks", "views_per_block",
                                      "rows_kept"};
    cJSON *plan = cJSON_Parse(qb_job_plan(job)), *item;
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItem(plan, "device_name"));
    if (name) cJSON_AddStringToObject(report, "device", name);
    for (size_t i = 0; i < sizeof cut / sizeof *cut; i++) {
        if ((item = cJSON_DetachItemFromObject(plan, cut[i])) != NULL) cJSON_AddItemToObject(report, cut[i], item);
    }
    cJSON_Delete(plan);
}

static qb_status reconstruct(bench *b, const kind *k, const qb_env *env, cJSON **report) {
    settings s;
    qb_scan *scan = NULL;
    qb_job *job = NULL;
    const char *text;
    qb_params_init(qb_scan_params, &s.scan);
    qb_params_init(qb_prep_params, &s.prep);
    qb_params_init(qb_output_params, &s.output);
    qb_status status;
    if (k->apart) {
        QB__TRY(set(qb_scan_params, &s.scan, "angles", "0:360"));
        QB__TRY(set(qb_scan_params, &s.scan, "flats", b->flats));
        QB__TRY(set(qb_scan_params, &s.scan, "darks", b->darks));
        QB__TRY(set(qb_scan_params, &s.scan, "pixel-size", "1"));
    }
    QB__TRY(set(qb_output_params, &s.output, "output", b->volume));
    QB__TRY(qb_scan_open(b->scan, &s.scan, env, &scan));
    QB__TRY(k->plan(b, scan, &s, env, &job));
    QB__TRY(qb_job_run(job, env, &text));
    *report = cJSON_Parse(text);
    if (!*report) status = qb__fail(QB_NO_MEMORY, "no memory for the report");
    if (*report) add_plan(job, *report);
out:
    qb_job_destroy(job);
    qb_geometry_destroy(&b->geometry);
    qb_scan_close(scan);
    qb_params_clear(qb_scan_params, &s.scan);
    qb_params_clear(qb_prep_params, &s.prep);
    qb_params_clear(qb_output_params, &s.output);
    return status;
}

/* ---- the benchmark ---- */

static qb_status measure(bench *b, const kind *k, const qb_env *env, cJSON *result) {
    const int repeat = b->options->repeat > REPEAT_MAX ? REPEAT_MAX : b->options->repeat;
    double wall[REPEAT_MAX], ratio[REPEAT_MAX];
    qb_status status = k->write(b);
    for (int i = 0; i < repeat && status == QB_OK; i++) {
        cJSON *report = NULL;
        status = reconstruct(b, k, env, &report);
        if (status != QB_OK) break;
        wall[i] = qb__bench_number(report, "wall_seconds");
        ratio[i] = wall[i] / qb__bench_bound(report);
        if (i < repeat - 1) {
            cJSON_Delete(report);
            continue;
        }
        cJSON_AddStringToObject(result, "kernel", cJSON_GetStringValue(cJSON_GetObjectItem(report, "kernel")));
        const char *device = cJSON_GetStringValue(cJSON_GetObjectItem(report, "device"));
        if (device) cJSON_AddStringToObject(result, "device", device);
        qb__bench_add_stages(report, result);
        cJSON_AddItemToObject(result, "last_run", report);
    }
    if (status != QB_OK) return status;
    cJSON_AddItemToObject(result, "seconds", cJSON_CreateDoubleArray(wall, repeat)); /* seconds of each run, in order */
    const double seconds = qb__median(wall, (size_t)repeat);                         /* sorts wall[] */
    const double updates = b->n[0] * b->n[1] * b->n[2] * (double)b->views;
    cJSON_AddNumberToObject(result, "seconds_median", seconds);
    cJSON_AddNumberToObject(result, "giga_updates_per_second", updates / seconds * 1e-9);
    cJSON_AddNumberToObject(result, "wall_over_bound_median", qb__median(ratio, (size_t)repeat));
    return QB_OK;
}

static qb_status run(bench *b, const kind *k, const qb_env *env, cJSON *result) {
    QB__OR_RETURN(qb__bench_folder_create(&b->folder));
    qb__bench_file(&b->folder, k->scan, b->scan, sizeof b->scan);
    qb__bench_file(&b->folder, "flats.tif", b->flats, sizeof b->flats);
    qb__bench_file(&b->folder, "darks.tif", b->darks, sizeof b->darks);
    qb__bench_file(&b->folder, k->volume, b->volume, sizeof b->volume);
    const qb_status status = measure(b, k, env, result);
    qb__bench_folder_remove(&b->folder);
    return status;
}

qb_status qb__bench_fbp(const qb_tool_bench_options *options, const qb_env *env, cJSON *result) {
    const double columns = options->size.value[0];
    bench b = {.options = options, .views = (size_t)options->views};
    b.n[0] = b.n[1] = columns;
    b.n[2] = options->size.count > 2 ? options->size.value[2] : 64;
    b.columns = (size_t)columns;
    b.rows = (size_t)b.n[2];
    return run(&b, &parallel, env, result);
}

qb_status qb__bench_fdk(const qb_tool_bench_options *options, const qb_env *env, cJSON *result) {
    const qb_numbers *size = &options->size, *detector = &options->detector;
    bench b = {.options = options, .views = (size_t)options->views};
    for (int i = 0; i < 3; i++) b.n[i] = size->value[size->count > i ? i : 0];
    b.columns = (size_t)(detector->count ? detector->value[0] : b.n[0]);
    b.rows = (size_t)(detector->count > 1 ? detector->value[1] : b.n[2]);
    return run(&b, &cone, env, result);
}
