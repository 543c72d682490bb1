/* SPDX-License-Identifier: MIT */
/* qb bench filter on a device: raw 16-bit numbers to filtered rows, by each available method, compared with a copy of
 * device memory. */
#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/sort.h"
#include "base/status.h"
#include "bench/bench_parts.h"
#include "kernels/filter/filter_device.h"
#include "ops/filter.h"
#include "prep/prep.h"

enum { REPEAT_MAX = 64, FRESH_ROWS = 512, CHECKED_ROWS = 5 };

typedef struct bench {
    size_t columns, views;
    unsigned slices;
    int repeat;
    qb__filter *filter;
    qb__filter_spectrum spectrum;
    qb__device_prep prep;
    float *weights, *dark, *gain;
    unsigned short *fresh; /* [FRESH_ROWS][columns], repeated on the device */
    qb__device *device;
    qb__queue *queue;
    qb__event *from, *to;
    qb__memory *raw, *rows;
} bench;

static size_t row_count(const bench *b) { return b->views * b->slices; }

static qb_status make_fields(bench *b) {
    size_t pixels = b->slices * b->columns;
    QB__OR_RETURN(qb__alloc(b->views, sizeof(float), &b->weights));
    QB__OR_RETURN(qb__alloc(pixels, sizeof(float), &b->dark));
    QB__OR_RETURN(qb__alloc(pixels, sizeof(float), &b->gain));
    QB__OR_RETURN(qb__alloc(FRESH_ROWS * b->columns, sizeof *b->fresh, &b->fresh));
    for (size_t v = 0; v < b->views; v++) b->weights[v] = 1.0f + 0.1f * (float)(v % 7);
    for (size_t i = 0; i < pixels; i++) {
        b->dark[i] = (float)(100 + i % 13);
        b->gain[i] = 1.0f / (float)(40000 + i % 1009);
    }
    for (size_t i = 0; i < FRESH_ROWS * b->columns; i++) b->fresh[i] = (unsigned short)(2000 + i * 7919 % 36007);
    b->prep = (qb__device_prep){.quantity = QB_COUNTS,
                                .dtype = QB_U16,
                                .views = b->views,
                                .weights = b->weights,
                                .rows = b->slices,
                                .dark = b->dark,
                                .gain = b->gain,
                                .floor = 1e-6f};
    return QB_OK;
}

static qb_status fill_device(bench *b) {
    size_t bytes = row_count(b) * b->columns * sizeof *b->fresh;
    size_t piece = FRESH_ROWS * b->columns * sizeof *b->fresh;
    QB__OR_RETURN(qb__queue_create(b->device, &b->queue));
    QB__OR_RETURN(qb__event_create(b->device, &b->from));
    QB__OR_RETURN(qb__event_create(b->device, &b->to));
    QB__OR_RETURN(qb__memory_create(b->device, bytes, &b->raw));
    QB__OR_RETURN(qb__memory_create(b->device, 2 * bytes, &b->rows));
    for (size_t at = 0; at < bytes; at += piece)
        QB__OR_RETURN(qb__memory_upload(b->queue, b->raw, at, b->fresh, bytes - at < piece ? bytes - at : piece));
    return qb__queue_finish(b->queue);
}

static void release(bench *b) {
    QB__MEMORY_DESTROY(b->raw, b->rows);
    qb__event_destroy(b->from);
    qb__event_destroy(b->to);
    qb__queue_destroy(b->queue);
    qb__filter_destroy(b->filter);
    QB__FREE(b->weights, b->dark, b->gain, b->fresh);
}

static qb_status run_filter(bench *b, qb__device_filter *filter) {
    const qb__device_rows raw = {b->raw, 0, b->slices * b->columns, b->columns};
    const qb__device_rows rows = {b->rows, 0, b->slices * b->columns, b->columns};
    return qb__device_filter_run(filter, b->queue, &raw, 0, b->views, b->slices, 0, 1, &rows);
}

/* Copy half of the output to the other half. */
static qb_status run_copy(bench *b, qb__device_filter *filter) {
    (void)filter;
    size_t half = qb__memory_bytes(b->rows) / 2;
    return qb__memory_copy(b->queue, b->rows, half, b->rows, 0, half);
}

static qb_status measure(bench *b, qb_status (*run)(bench *, qb__device_filter *), qb__device_filter *filter,
                         const qb_env *env, double *median) {
    double seconds[REPEAT_MAX];
    for (int i = -1; i < b->repeat; i++) { /* the first round warms up */
        QB__OR_RETURN(qb__check_cancel(env));
        QB__OR_RETURN(qb__event_record(b->from, b->queue));
        QB__OR_RETURN(run(b, filter));
        QB__OR_RETURN(qb__event_record(b->to, b->queue));
        QB__OR_RETURN(qb__queue_finish(b->queue));
        if (i >= 0) QB__OR_RETURN(qb__event_seconds(b->from, b->to, &seconds[i]));
    }
    *median = qb__median(seconds, (size_t)b->repeat);
    return QB_OK;
}

/* Compare some rows with the CPU's, which are single precision too. */
static qb_status compare(bench *b, double *error) {
    size_t columns = b->columns, bytes = columns * sizeof(float), rows = row_count(b);
    qb__prep cpu = {.quantity = QB_COUNTS,
                    .dtype = QB_U16,
                    .columns = columns,
                    .dark = b->dark,
                    .gain = b->gain,
                    .floor = b->prep.floor};
    qb__prep_counts counts = {0};
    float *got = NULL, *want = NULL;
    void *scratch = NULL;
    double sum = 0, norm = 0;
    qb_status status;
    qb__prep_begin(&cpu, NULL);
    QB__TRY(qb__alloc(columns, sizeof *got, &got));
    QB__TRY(qb__alloc(columns, sizeof *want, &want));
    QB__TRY(qb__alloc(qb__filter_scratch(b->filter), 1, &scratch));
    for (size_t k = 0; k < CHECKED_ROWS; k++) {
        size_t row = (rows - 1) * k / (CHECKED_ROWS - 1);
        QB__TRY(qb__memory_download(b->queue, b->rows, row * bytes, got, bytes));
        QB__TRY(qb__queue_finish(b->queue));
        qb__prep_row(&cpu, 0, row % b->slices, b->fresh + row % FRESH_ROWS * columns, want, &counts);
        qb__filter_rows(b->filter, want, 1, columns, b->weights[row / b->slices], scratch);
        for (size_t c = 0; c < columns; c++) {
            double e = (double)got[c] - (double)want[c];
            sum += e * e;
            norm += (double)want[c] * (double)want[c];
        }
    }
    *error = sqrt(sum / norm);
out:
    QB__FREE(got, want, scratch);
    return status;
}

static qb_status add_method(bench *b, qb__filter_method method, double copy_rate, const qb_env *env, cJSON *json) {
    qb__device_filter *filter = NULL;
    double seconds, error, rows = (double)row_count(b), samples = rows * (double)b->columns;
    qb_status status;
    QB__TRY(qb__device_filter_create(b->device, &b->spectrum, &b->prep, method, &filter));
    QB__TRY(measure(b, run_filter, filter, env, &seconds));
    QB__TRY(compare(b, &error));
    double rate = samples * (sizeof(unsigned short) + sizeof(float)) / seconds;
    cJSON_AddStringToObject(json, "method", qb__device_filter_method(filter));
    cJSON_AddNumberToObject(json, "seconds_median", seconds);
    cJSON_AddNumberToObject(json, "rows_per_second", rows / seconds);
    cJSON_AddNumberToObject(json, "giga_samples_per_second", samples / seconds * 1e-9);
    cJSON_AddNumberToObject(json, "gigabytes_per_second", rate * 1e-9);
    cJSON_AddNumberToObject(json, "share_of_copy", rate / copy_rate);
    cJSON_AddNumberToObject(json, "rel_l2_to_cpu", error);
    cJSON_AddNumberToObject(json, "device_bytes", (double)qb__device_filter_bytes(filter));
out:
    qb__device_filter_destroy(filter);
    return status;
}

/* The methods that can be chosen; an unavailable one has a reason. */
static qb_status add_others(bench *b, double copy_rate, const qb_env *env, cJSON *result) {
    static const struct {
        const char *name;
        qb__filter_method method;
    } others[] = {{"cufft", QB__FILTER_CUFFT}, {"passes", QB__FILTER_PASSES}};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        cJSON *json = cJSON_AddObjectToObject(result, others[i].name);
        qb_status status = add_method(b, others[i].method, copy_rate, env, json);
        if (status == QB_CANCELLED) return status;
        if (status != QB_OK) cJSON_AddStringToObject(json, "missing", qb_detail());
    }
    return QB_OK;
}

static qb_status on_device(const qb_tool_bench_options *options, qb__device *device, const qb_env *env, cJSON *result) {
    bench b = {.columns = (size_t)(options->detector.count ? options->detector.value[0] : options->size.value[0]),
               .views = (size_t)options->views,
               .slices = 64,
               .repeat = options->repeat < REPEAT_MAX ? options->repeat : REPEAT_MAX,
               .device = device};
    if (options->size.count > 2) b.slices = (unsigned)options->size.value[2];
    double seconds, copy_rate;
    qb_status status;
    QB__TRY(qb__filter_create("ramp", QB_PAD_ZERO, b.columns, 1, &b.filter));
    qb__filter_describe(b.filter, &b.spectrum);
    QB__TRY(make_fields(&b));
    QB__TRY(fill_device(&b));
    QB__TRY(measure(&b, run_copy, NULL, env, &seconds));
    copy_rate = (double)qb__memory_bytes(b.rows) / seconds; /* bytes read and written */
    cJSON_AddStringToObject(result, "device", qb__device_info_of(device)->name);
    cJSON_AddNumberToObject(result, "columns", (double)b.columns);
    cJSON_AddNumberToObject(result, "views", (double)b.views);
    cJSON_AddNumberToObject(result, "slices", b.slices);
    cJSON_AddNumberToObject(result, "fft_length", (double)qb__filter_length(b.filter));
    cJSON_AddNumberToObject(result, "copy_gigabytes_per_second", copy_rate * 1e-9);
    cJSON_AddStringToObject(result, "kernel", "filter.device");
    QB__TRY(add_method(&b, QB__FILTER_AUTO, copy_rate, env, result));
    QB__TRY(add_others(&b, copy_rate, env, result));
out:
    release(&b);
    return status;
}

qb_status qb__bench_filter_anywhere(const qb_tool_bench_options *options, const qb_env *env, cJSON *result) {
    return qb__bench_either(options, on_device, qb__bench_filter, env, result);
}
