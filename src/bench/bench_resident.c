/* SPDX-License-Identifier: MIT */
/* qb bench resident: filtered back-projection of raw numbers on the device into a volume that stays there: prepare,
 * filter, pack and back-project, as the pipeline of qb fbp does between upload and download. If half precision needs
 * each slice's largest value: with an upper limit of it, and with the value found on the device. Checked against the
 * double-precision oracle on rows filtered by the CPU. */
#include <math.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/sort.h"
#include "base/status.h"
#include "bench/bench_parts.h"
#include "bench/trial/trial.h"
#include "cpu/bp_parallel/bp_parallel.h"
#include "geometry/parallel.h"
#include "kernels/bp_parallel/bp_parallel_device.h"
#include "kernels/filter/filter_device.h"
#include "ops/filter.h"
#include "planner/choose.h"
#include "planner/device_select.h"
#include "planner/tuning.h"

enum {
    FRESH_VIEWS = 32, /* different views, repeated */
    REPEAT_MAX = 64,
    BLOCK_BYTES = 64 << 20, /* filtered rows at a time, as in the pipeline */
};

typedef struct bench {
    qb__bp_parallel_problem problem;
    double *coefficients;
    float *largest, *weights;
    unsigned slices, most; /* slices of a pass; most slices of a pass */
    unsigned short *fresh; /* [FRESH_VIEWS][slices][columns] */
    qb__device *device;
    qb__queue *queue;
    qb__event *from, *to;
    qb__choice choice;
    qb__filter *cpu_filter;
    qb__device_pass pass;
    qb__memory *raw, *out;
} bench;

typedef struct figures {
    double seconds, rel_l2;
} figures;

static size_t columns_of(const bench *b) { return b->problem.columns; }

/* Numbers for line integrals 0 .. 4 with a constant flat field. */
static void make_fresh(bench *b) {
    for (size_t i = 0; i < FRESH_VIEWS * b->slices * columns_of(b); i++) {
        b->fresh[i] = (unsigned short)(2000 + (qb__mix64(i + 1) >> 33) % 58000);
    }
}

static qb_status make_host(bench *b) {
    size_t views = b->problem.views;
    QB__OR_RETURN(qb__half_turn(&b->problem, &b->coefficients));
    QB__OR_RETURN(qb__alloc(b->slices + QB__BP_PARALLEL_MOST_LANES, sizeof(float), &b->largest));
    QB__OR_RETURN(qb__alloc(views, sizeof(float), &b->weights));
    QB__OR_RETURN(qb__alloc(FRESH_VIEWS * b->slices * columns_of(b), sizeof *b->fresh, &b->fresh));
    for (size_t v = 0; v < views; v++) b->weights[v] = (float)(M_PI / (double)views);
    for (size_t s = 0; s < b->slices + QB__BP_PARALLEL_MOST_LANES; s++)
        b->largest[s] = 89.0f * 2 * b->weights[0]; /* upper limit as in qb fbp */
    b->problem.largest = b->largest;
    make_fresh(b);
    return qb__filter_create("ramp", QB_PAD_ZERO, columns_of(b), 1, &b->cpu_filter);
}

static qb_status fill_raw(bench *b) {
    size_t view = b->slices * columns_of(b) * sizeof *b->fresh;
    for (size_t v = 0; v < b->problem.views; v += FRESH_VIEWS) {
        size_t n = b->problem.views - v < FRESH_VIEWS ? b->problem.views - v : FRESH_VIEWS;
        QB__OR_RETURN(qb__memory_upload(b->queue, b->raw, v * view, b->fresh, n * view));
    }
    return qb__queue_finish(b->queue);
}

static qb_status make_device(bench *b) {
    const qb__bp_parallel_device_variant *variant = qb__bp_parallel_on_device(b->choice.variant);
    qb__device_pass *pass = &b->pass;
    size_t views = b->problem.views, row = columns_of(b) * sizeof(float);
    qb__filter_spectrum spectrum;
    qb__device_prep prep = {.quantity = QB_TRANSMISSION,
                            .dtype = QB_U16,
                            .views = views,
                            .weights = b->weights,
                            .rows = b->slices,
                            .floor = 1e-6f};
    qb__filter_describe(b->cpu_filter, &spectrum);
    size_t block = BLOCK_BYTES / (b->most * row) + 1;
    *pass = (qb__device_pass){.variant = variant,
                              .views = views,
                              .block = block < views ? block : views,
                              .number_bytes = sizeof *b->fresh,
                              .rows.slice_stride = columns_of(b),
                              .largest = b->largest};
    QB__OR_RETURN(qb__queue_create(b->device, &b->queue));
    QB__OR_RETURN(qb__event_create(b->device, &b->from));
    QB__OR_RETURN(qb__event_create(b->device, &b->to));
    QB__OR_RETURN(variant->plan(b->device, &b->problem, b->most, b->choice.values, &pass->plan));
    QB__OR_RETURN(qb__device_filter_create(b->device, &spectrum, &prep, QB__FILTER_AUTO, &pass->filter));
    QB__OR_RETURN(qb__memory_create(b->device, views * b->slices * row / 2, &b->raw));
    QB__OR_RETURN(qb__memory_create(b->device, pass->block * b->most * row, &pass->rows.memory));
    QB__OR_RETURN(qb__memory_create(
        b->device, variant->packed_bytes(&b->problem, qb__variant_padded(&variant->head, b->most), b->choice.values),
        &pass->packed));
    QB__OR_RETURN(qb__memory_create(b->device, b->problem.nx * b->problem.ny * b->slices * sizeof(float), &b->out));
    QB__OR_RETURN(qb__memory_fill(b->queue, b->out, 0, 0xff, qb__memory_bytes(b->out)));
    return fill_raw(b);
}

/* Enqueue slices first .. first + n - 1. */
static qb_status run_pass(bench *b, unsigned first, unsigned n) {
    size_t columns = columns_of(b);
    const qb__device_rows raw = {b->raw, first * columns * sizeof *b->fresh, b->slices * columns, columns};
    qb_status status = qb__device_pass_prepare(&b->pass, b->queue, &raw, n, 0, 1);
    if (status == QB_OK) status = qb__device_pass_pack(&b->pass, b->queue, &raw, n, 0, 1);
    if (status != QB_OK) return status;
    return b->pass.variant->run(b->pass.plan, b->queue, b->pass.packed, n, b->out,
                                first * b->problem.nx * b->problem.ny * sizeof(float));
}

static qb_status run_all(bench *b, double *seconds) {
    QB__OR_RETURN(qb__event_record(b->from, b->queue));
    for (unsigned first = 0; first < b->slices; first += b->most)
        QB__OR_RETURN(run_pass(b, first, b->slices - first < b->most ? b->slices - first : b->most));
    QB__OR_RETURN(qb__event_record(b->to, b->queue));
    QB__OR_RETURN(qb__queue_finish(b->queue));
    return qb__event_seconds(b->from, b->to, seconds);
}

/* Rows of one slice, prepared and filtered on the CPU. */
static qb_status filter_slice(void *context, unsigned slice, float *rows) {
    const bench *b = context;
    size_t columns = columns_of(b);
    void *scratch;
    qb_status status = qb__alloc(qb__filter_scratch(b->cpu_filter), 1, &scratch);
    for (size_t v = 0; v < b->problem.views && status == QB_OK; v++) {
        const unsigned short *raw = b->fresh + (v % FRESH_VIEWS * b->slices + slice) * columns;
        for (size_t c = 0; c < columns; c++) rows[v * columns + c] = -(float)log(fmax(raw[c], 1e-6));
        qb__filter_rows(b->cpu_filter, rows + v * columns, 1, columns, b->weights[v], scratch);
    }
    qb__free(scratch);
    return status;
}

static void release(bench *b) {
    if (b->pass.plan) b->pass.variant->destroy(b->pass.plan);
    qb__device_filter_destroy(b->pass.filter);
    qb__rows_largest_destroy(b->pass.measure);
    QB__MEMORY_DESTROY(b->raw, b->pass.rows.memory, b->pass.packed, b->out);
    qb__event_destroy(b->from);
    qb__event_destroy(b->to);
    qb__queue_destroy(b->queue);
    qb__filter_destroy(b->cpu_filter);
    QB__FREE(b->coefficients, b->largest, b->weights, b->fresh);
}

static void report(const bench *b, const figures *bounded, cJSON *result) {
    double updates = (double)b->problem.nx * (double)b->problem.ny * b->slices * (double)b->problem.views;
    cJSON_AddStringToObject(result, "kernel", b->choice.variant->id);
    cJSON_AddItemToObject(result, "parameters", qb__parameters_json(b->choice.variant, b->choice.values));
    cJSON_AddStringToObject(result, "filter", qb__device_filter_method(b->pass.filter));
    cJSON_AddNumberToObject(result, "slices", b->slices);
    cJSON_AddNumberToObject(result, "slices_a_pass", b->most);
    cJSON_AddNumberToObject(result, "seconds_median", bounded->seconds);
    cJSON_AddNumberToObject(result, "giga_updates_per_second", updates / bounded->seconds * 1e-9);
    cJSON_AddNumberToObject(result, "rel_l2", bounded->rel_l2);
    cJSON_AddStringToObject(result, "device", qb__device_info_of(b->device)->name);
}

static qb_status time_it(const qb_tool_bench_options *options, bench *b, const qb_env *env, figures *found) {
    double seconds[REPEAT_MAX];
    int repeat = options->repeat < REPEAT_MAX ? options->repeat : REPEAT_MAX;
    QB__OR_RETURN(run_all(b, &seconds[0])); /* compiles, touches memory */
    QB__OR_RETURN(qb__parallel_error(b->queue, b->out, &b->problem, b->choice.variant->interp, b->slices, filter_slice,
                                     b, &found->rel_l2));
    for (int i = 0; i < repeat; i++) {
        QB__OR_RETURN(qb__check_cancel(env));
        QB__OR_RETURN(run_all(b, &seconds[i]));
    }
    found->seconds = qb__median(seconds, (size_t)repeat);
    return QB_OK;
}

static qb_status time_measuring(const qb_tool_bench_options *options, bench *b, const qb_env *env, const char *name,
                                cJSON *result) {
    figures found;
    QB__OR_RETURN(qb__memory_fill(b->queue, b->out, 0, 0xff, qb__memory_bytes(b->out)));
    QB__OR_RETURN(time_it(options, b, env, &found));
    cJSON *of = cJSON_AddObjectToObject(result, name);
    cJSON_AddNumberToObject(of, "seconds_median", found.seconds);
    cJSON_AddNumberToObject(of, "rel_l2", found.rel_l2);
    return QB_OK;
}

/* Times filtering without an upper limit: with blocks filtered twice, and with all views' rows kept if they fit. */
static qb_status time_unbounded(const qb_tool_bench_options *options, bench *b, const qb_env *env, cJSON *result) {
    qb__device_pass *pass = &b->pass;
    qb__bp_parallel_problem unknown = b->problem;
    qb_status status = QB_OK;
    unknown.largest = NULL;
    if (!qb__device_pass_measures(b->choice.variant, qb__device_info_of(b->device), &unknown, b->choice.values))
        return QB_OK;
    QB__TRY(qb__rows_largest_create(b->device, b->problem.views, b->most, columns_of(b), &pass->measure));
    if (pass->block < pass->views) QB__TRY(time_measuring(options, b, env, "measuring_filtered_twice", result));
    qb__memory_destroy(pass->rows.memory);
    pass->rows.memory = NULL;
    pass->block = pass->views;
    status = qb__memory_create(b->device, pass->views * b->most * columns_of(b) * sizeof(float), &pass->rows.memory);
    if (status == QB_NO_MEMORY) return QB_OK;
    if (status == QB_OK) status = time_measuring(options, b, env, "measuring", result);
out:
    return status;
}

static qb_status bench_on(const qb_tool_bench_options *options, bench *b, const qb_env *env, cJSON *result) {
    figures bounded;
    QB__OR_RETURN(make_host(b));
    QB__OR_RETURN(qb__choose(&(qb__question){.operation = QB__BP_PARALLEL,
                                             .device = qb__device_info_of(b->device),
                                             .problem = &b->problem,
                                             .slices = b->slices,
                                             .interp = options->interp,
                                             .accuracy = options->accuracy,
                                             .id = options->kernel},
                             &b->choice));
    unsigned most = b->choice.variant->most;
    b->most = most && most < b->slices ? most : b->slices;
    QB__OR_RETURN(make_device(b));
    QB__OR_RETURN(time_it(options, b, env, &bounded));
    report(b, &bounded, result);
    return time_unbounded(options, b, env, result);
}

qb_status qb__bench_resident(const qb_tool_bench_options *options, const qb_env *env, cJSON *result) {
    const qb__trial_sizes s = qb__bench_sizes(options, 64);
    bench b = {.slices = (unsigned)s.nz, .problem = {.views = s.views, .columns = s.columns, .nx = s.nx, .ny = s.ny}};
    qb__device_set set;
    QB__OR_RETURN(qb__device_set_open(env, &set));
    if (set.count == 0) return qb__fail(QB_NO_DEVICE, "resident measures a device: give --device cuda or opencl");
    b.device = set.device[0];
    qb__tuning_warn(env);
    qb__compile_watch(&set, env);
    const qb_status status = bench_on(options, &b, env, result);
    qb__compile_done(&set, result);
    release(&b);
    qb__device_set_close(&set);
    return status;
}
