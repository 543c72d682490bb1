/* SPDX-License-Identifier: MIT */
#include "prep/prepare.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "prep/air_scan.h"

struct qb__prepare {
    qb__prep steps;
    size_t row0, rows;
    float *dark, *gain, *air;
    char air_text[160];
};

/* The scan's fields as dark and 1/(flat - dark). Only one extra field is held while it is made. */
static qb_status load_fields(qb__prepare *prepare, qb_scan *scan, const qb_env *env) {
    const qb_scan_info *info = qb_scan_describe(scan);
    size_t pixels = prepare->rows * info->columns;
    uint64_t dead;
    qb_status status;
    QB__TRY(qb__alloc(pixels, sizeof(float), &prepare->dark));
    QB__TRY(qb__alloc(pixels, sizeof(float), &prepare->gain));
    QB__TRY(qb_scan_fields(scan, prepare->row0, prepare->row0 + prepare->rows, prepare->gain,
                           prepare->dark));
    qb__prep_gain(prepare->gain, prepare->dark, pixels, prepare->gain, &dead);
    if (dead == pixels)
        return qb__fail(QB_BAD_INPUT,
                        "%s: no flat pixel is brighter than its dark field (all %zu are dead): are "
                        "--flats and --darks swapped?",
                        info->path, pixels);
    if (dead)
        qb__warn(env, "%s: %llu of %zu flat pixels are dead; they are bridged by their neighbours",
                 info->path, (unsigned long long)dead, pixels);
    prepare->steps.dark = prepare->dark;
    prepare->steps.gain = prepare->gain;
out:
    return status;
}

/* Counts without flats are only usable when the open beam can be found in the views themselves. */
static qb_status check_flats(const qb_scan_info *info, const qb_prep_options *options,
                             const qb_env *env) {
    if (info->flats || info->quantity != QB_COUNTS) return QB_OK;
    if (!options->air)
        return qb__fail(QB_BAD_INPUT,
                        "%s holds counts but no flats: give --flats FILE, --air X0:X1,Y0:Y1 or --air "
                        "auto, or say what the numbers are with --quantity",
                        info->path);
    qb__warn(env, "%s has no flats: the open beam of each view's air region stands in for them",
             info->path);
    return QB_OK;
}

qb_status qb__prepare_create(qb_scan *scan, const qb_prep_options *options, size_t row0, size_t row1,
                             const qb_env *env, qb__prepare **out) {
    *out = NULL;
    const qb_scan_info *info = qb_scan_describe(scan);
    qb__prepare *prepare;
    qb_status status = qb__alloc(1, sizeof *prepare, &prepare);
    if (status != QB_OK) return status;
    prepare->row0 = row0;
    prepare->rows = row1 - row0;
    prepare->steps = (qb__prep){.quantity = info->quantity,
                                .dtype = info->dtype,
                                .columns = info->columns,
                                .floor = (float)options->transmission_floor};
    QB__TRY(check_flats(info, options, env));
    if (info->quantity == QB_COUNTS && info->flats) QB__TRY(load_fields(prepare, scan, env));
    if (options->air && info->quantity == QB_LINE_INTEGRAL) {
        status = qb__fail(QB_BAD_ARGUMENT, "--air %s: %s already holds line integrals", options->air,
                          info->path);
        goto out;
    }
    if (options->air) {
        QB__TRY(qb__alloc(info->views, sizeof(float), &prepare->air));
        QB__TRY(qb__air_measure(scan, options->air, env, prepare->air, prepare->air_text,
                                sizeof prepare->air_text));
        prepare->steps.air = prepare->air;
    }
out:
    if (status != QB_OK) {
        qb__prepare_destroy(prepare);
        return status;
    }
    *out = prepare;
    return QB_OK;
}

void qb__prepare_destroy(qb__prepare *prepare) {
    if (!prepare) return;
    qb__free(prepare->dark);
    qb__free(prepare->gain);
    qb__free(prepare->air);
    qb__free(prepare);
}

void qb__prepare_row(const qb__prepare *prepare, size_t view, size_t row, const void *raw, float *out,
                     qb__prep_counts *counts) {
    qb__prep_row(&prepare->steps, view, row - prepare->row0, raw, out, counts);
}

const qb__prep *qb__prepare_steps(const qb__prepare *prepare) { return &prepare->steps; }

size_t qb__prepare_rows_held(const qb__prepare *prepare) { return prepare->rows; }

const char *qb__prepare_air(const qb__prepare *prepare) {
    return prepare->air ? prepare->air_text : NULL;
}

struct rows_job {
    const qb__prepare *prepare;
    const qb_scan_info *info;
    const char *raw; /* [view - first][row][column] */
    size_t first, row0, rows;
    float *sinograms;
    qb__prep_counts *counts; /* one per worker */
};

static void prepare_view(void *context, size_t task, int worker) {
    struct rows_job *job = context;
    size_t columns = job->info->columns, view = job->first + task;
    size_t row_bytes = columns * qb_dtype_size(job->info->dtype);
    for (size_t r = 0; r < job->rows; r++) {
        qb__prepare_row(job->prepare, view, job->row0 + r,
                        job->raw + (task * job->rows + r) * row_bytes,
                        job->sinograms + (r * job->info->views + view) * columns,
                        &job->counts[worker]);
    }
}

void qb__prep_counts_add(qb__prep_counts *sum, const qb__prep_counts *more) {
    sum->clamped += more->clamped;
    sum->not_finite += more->not_finite;
    sum->dead += more->dead;
    sum->values += more->values;
}

qb_status qb__prepare_rows(const qb__prepare *prepare, qb_scan *scan, size_t row0, size_t row1,
                           qb__pool *pool, float *sinograms, qb__prep_counts *counts) {
    enum { BLOCK_BYTES = 16 << 20 };
    const qb_scan_info *info = qb_scan_describe(scan);
    size_t view_bytes = (row1 - row0) * info->columns * qb_dtype_size(info->dtype);
    size_t block = BLOCK_BYTES / (view_bytes ? view_bytes : 1) + 1;
    if (block > info->views) block = info->views;
    int threads = qb__pool_threads(pool);
    void *raw = NULL;
    qb__prep_counts *partial = NULL;
    qb_status status;
    QB__TRY(qb__alloc(block, view_bytes, &raw));
    QB__TRY(qb__alloc((size_t)threads, sizeof *partial, &partial));
    struct rows_job job = {.prepare = prepare, .info = info, .raw = raw, .row0 = row0,
                           .rows = row1 - row0, .sinograms = sinograms, .counts = partial};
    for (size_t first = 0; first < info->views; first += block) {
        size_t end = first + block < info->views ? first + block : info->views;
        QB__TRY(qb_scan_read(scan, first, end, row0, row1, raw));
        job.first = first;
        qb__pool_for(pool, end - first, prepare_view, &job);
    }
    for (int i = 0; counts && i < threads; i++) qb__prep_counts_add(counts, &partial[i]);
out:
    qb__free(raw);
    qb__free(partial);
    return status;
}

qb_status qb__prepare_check(const char *path, const qb__prep_counts *counts, int threads) {
    qb__prep_counts sum = {0};
    for (int i = 0; i < threads; i++) qb__prep_counts_add(&sum, &counts[i]);
    if (sum.clamped + sum.not_finite + sum.dead < sum.values || sum.values == 0) return QB_OK;
    return qb__fail(QB_BAD_INPUT,
                    "%s: none of its %llu values is usable (%llu not finite, %llu below the floor, "
                    "%llu with a dead flat)",
                    path, (unsigned long long)sum.values, (unsigned long long)sum.not_finite,
                    (unsigned long long)sum.clamped, (unsigned long long)sum.dead);
}

void qb__prepare_report(const qb__prepare *prepare, const qb__prep_counts *counts, int threads,
                        cJSON *report, const qb_env *env) {
    qb__prep_counts sum = {0};
    for (int i = 0; i < threads; i++) qb__prep_counts_add(&sum, &counts[i]);
    cJSON *entry = cJSON_AddObjectToObject(report, "preparation");
    cJSON_AddNumberToObject(entry, "clamped", (double)sum.clamped);
    cJSON_AddNumberToObject(entry, "not_finite", (double)sum.not_finite);
    cJSON_AddNumberToObject(entry, "dead", (double)sum.dead);
    if (prepare->air) cJSON_AddStringToObject(entry, "air", prepare->air_text);
    if (sum.clamped)
        qb__warn(env, "%llu transmissions below %g were raised to it before -log",
                 (unsigned long long)sum.clamped, (double)prepare->steps.floor);
    if (sum.not_finite)
        qb__warn(env, "%llu values are NaN or infinite; they were bridged by their neighbours",
                 (unsigned long long)sum.not_finite);
}
