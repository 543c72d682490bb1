/* SPDX-License-Identifier: MIT */
/* qb bench rabbitct: the benchmark's own figures. Its clock runs while views are packed and added and stops while they
 * are read; every voxel counts in every view, whether its ray meets the detector or not. In addition, randomly chosen
 * voxels are compared with double precision. */
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/sort.h"
#include "base/status.h"
#include "bench/bench_parts.h"
#include "bench/rabbitct_check.h"
#include "bench/rabbitct_engine.h"
#include "cpu/features.h"
#include "io/plain/rabbitct.h"
#include "job/job.h"

enum { GROUP = QB__RABBITCT_GROUP, REPEAT_MAX = 64, MOST_HU = 4095 };

typedef struct bench {
    qb__rabbitct set;
    size_t size, voxels;
    qb__rabbitct_engine *engine;
    double world[GROUP][12]; /* the current group */
    float *images;
    float *volume;
    uint16_t *reference;          /* NULL = none */
    qb__rabbitct_sample *samples; /* [QB__RABBITCT_SAMPLES] */
} bench;

static qb_status read_group(bench *b, size_t first, size_t count) {
    const size_t pixels = b->set.columns * b->set.rows;
    qb_status status = QB_OK;
    for (size_t i = 0; i < count && status == QB_OK; i++)
        status = qb__rabbitct_view(&b->set, first + i, b->world[i], b->images + i * pixels);
    return status;
}

/* Process the data set once; *seconds of adding only. */
static qb_status run(bench *b, bool sampling, const qb_env *env, double *seconds) {
    qb_status begun = qb__rabbitct_engine_begin(b->engine);
    if (begun != QB_OK) return begun;
    memset(b->volume, 0, b->voxels * sizeof *b->volume);
    *seconds = 0;
    for (size_t v = 0; v < b->set.views; v += GROUP) {
        const size_t n = b->set.views - v < GROUP ? b->set.views - v : GROUP;
        qb__rabbitct_input views[GROUP];
        qb_status status = qb__check_cancel(env);
        if (status == QB_OK) status = read_group(b, v, n);
        if (status != QB_OK) return status;
        for (size_t i = 0; i < n && sampling; i++)
            qb__rabbitct_add_samples(&b->set, b->size, b->world[i], b->images + i * b->set.columns * b->set.rows,
                                     b->samples);
        for (size_t i = 0; i < n; i++)
            views[i] = (qb__rabbitct_input){b->world[i], b->images + i * b->set.columns * b->set.rows};
        const double from = qb__now();
        status = qb__rabbitct_engine_add(b->engine, views, n, b->volume);
        if (status == QB_OK && v + n == b->set.views) status = qb__rabbitct_engine_flush(b->engine, b->volume);
        *seconds += qb__now() - from;
        if (status != QB_OK) return status;
        qb__progress(env, "views", v + n, b->set.views);
    }
    return QB_OK;
}

/* NULL: on the CPU */
static const char *device_of(const qb_env *env) {
    const char *device = env ? env->device : NULL;
    return device && strcmp(device, "auto") != 0 && strcmp(device, "cpu") != 0 ? device : NULL;
}

static void describe(const bench *b, double seconds, const qb__rabbitct_quality *q, cJSON *result) {
    const qb__variant *kernel = qb__rabbitct_engine_kernel(b->engine);
    const int threads = qb__rabbitct_engine_threads(b->engine);
    const double updates = (double)b->voxels * (double)b->set.views, gups = updates / seconds / 0x1p30;
    const struct {
        const char *name;
        double value;
    } rows[] = {{"size", (double)b->size},
                {"views", (double)b->set.views},
                {"columns", (double)b->set.columns},
                {"rows", (double)b->set.rows},
                {"threads", threads},
                {"seconds_median", seconds},
                {"giga_updates_per_second", updates / seconds * 1e-9},
                {"gups", gups},
                {"rel_l2", q->rel_l2},
                {"rmse_hu", q->rmse},
                {"max_error_hu", q->largest},
                {"psnr_db", 20 * log10(MOST_HU / q->rmse)}, /* null if there is no error */
                {"voxels_compared", (double)q->compared}};
    cJSON_AddStringToObject(result, "kernel", kernel->id);
    cJSON_AddStringToObject(result, "accuracy", qb_accuracy_name(kernel->accuracy));
    cJSON_AddStringToObject(result, "layout", b->set.original ? "original" : "newer");
    cJSON_AddBoolToObject(result, "reference_present", b->reference != NULL);
    cJSON_AddStringToObject(result, "compared_with",
                            b->reference ? "the reference volume" : "double precision, at voxels drawn at random");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        cJSON_AddNumberToObject(result, rows[i].name, rows[i].value);
    const char *device = qb__rabbitct_engine_device(b->engine);
    if (device)
        cJSON_AddStringToObject(result, "device", device);
    else
        cJSON_AddNumberToObject(result, "gups_per_thread", gups / threads);
    cJSON_AddStringToObject(result, "cpu", qb__cpu_name());
}

static qb_status set_up(bench *b, const char *file, const qb_tool_bench_options *options, const qb_env *env) {
    qb_status status = qb__rabbitct_check_size(&options->size, &b->size);
    if (status != QB_OK) return status;
    const double n = (double)b->size, voxel = 256 / n;
    b->voxels = b->size * b->size * b->size;
    QB__TRY(qb__rabbitct_open(file, &b->set));
    QB__TRY(qb__rabbitct_check_matrices(&b->set, b->size));
    const qb__rabbitct_setup setup = {.size = b->size,
                                      .columns = b->set.columns,
                                      .rows = b->set.rows,
                                      .voxel = voxel,
                                      .origin = -voxel * (n - 1) / 2,
                                      .threads = env ? env->threads : 0,
                                      .device = device_of(env),
                                      .accuracy = options->accuracy,
                                      .kernel = options->kernel};
    const double image = (double)(b->set.columns * b->set.rows) * sizeof(float);
    const double need = (double)b->voxels * 6 + 2.2 * GROUP * image;
    if (need > (double)qb__memory_cap(env))
        return qb__fail(QB_NO_MEMORY, "%zu^3 voxels need %.1f GB, %.1f are allowed: try a smaller --size", b->size,
                        need * 1e-9, (double)qb__memory_cap(env) * 1e-9);
    QB__TRY(qb__rabbitct_engine_create(&setup, &b->engine));
    QB__TRY(qb__alloc(GROUP * b->set.columns * b->set.rows, sizeof *b->images, &b->images));
    QB__TRY(qb__alloc(b->voxels, sizeof *b->volume, &b->volume));
    QB__TRY(qb__alloc(QB__RABBITCT_SAMPLES, sizeof *b->samples, &b->samples));
    qb__rabbitct_draw_samples(b->size, b->samples);
    QB__TRY(qb__rabbitct_load_reference(&b->set, b->size, options->reference, &b->reference));
out:
    return status;
}

qb_status qb__bench_rabbitct(const char *file, const qb_tool_bench_options *options, const qb_env *env, cJSON *result) {
    bench b = {.set.fd = -1};
    const int repeat = options->repeat > REPEAT_MAX ? REPEAT_MAX : options->repeat;
    double seconds[REPEAT_MAX];
    qb_status status;
    QB__TRY(set_up(&b, file, options, env));
    for (int i = 0; i < repeat; i++) QB__TRY(run(&b, i == 0, env, &seconds[i]));
    const qb__rabbitct_quality q = qb__rabbitct_measure(&b.set, b.size, b.volume, b.reference, b.samples);
    describe(&b, qb__median(seconds, (size_t)repeat), &q, result);
out:
    qb__rabbitct_engine_destroy(b.engine);
    qb__rabbitct_close(&b.set);
    QB__FREE(b.images, b.volume, b.reference, b.samples);
    return status;
}
