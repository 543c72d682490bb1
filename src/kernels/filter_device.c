/* SPDX-License-Identifier: MIT */
#include "kernels/filter_device.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "kernels/filter_device_parts.h"

enum { PREPARE_ITEMS = 256, FOUND_WORDS = 6, MACROS = 24, MACRO = 40 };

/* ---- macros ---- */

typedef struct macros {
    char text[MACROS][MACRO];
    const char *list[MACROS + 1];
    int count;
} macros;

static void define(macros *m, const char *name, size_t value) {
    snprintf(m->text[m->count], MACRO, "%s=%zu", name, value);
    m->list[m->count] = m->text[m->count];
    m->list[++m->count] = NULL;
}

static void define_prep(macros *m, const qb__device_filter *filter, const qb__device_prep *prep) {
    define(m, "RAW", prep->dtype);
    define(m, "COLUMNS", filter->spectrum.columns);
    define(m, "LOGARITHM", prep->quantity != QB_LINE_INTEGRAL);
    define(m, "HAS_DARK", filter->dark != NULL);
    define(m, "HAS_GAIN", filter->gain != NULL);
    define(m, "HAS_AIR", filter->air != NULL);
}

static void define_filter(macros *m, const qb__device_filter *filter) {
    const qb__filter_plan *plan = &filter->plan;
    static const char *const names[] = {"RADIX0", "RADIX1", "RADIX2", "RADIX3"};
    for (int i = 0; i < 4; i++) define(m, names[i], i < plan->passes ? (size_t)plan->radix[i] : 1);
    define(m, "RADIX_LAST", (size_t)plan->last);
    define(m, "HALF", filter->spectrum.half);
    define(m, "ITEMS", plan->items);
    define(m, "GROUP_ROWS", plan->group_rows);
    define(m, "GROUPS_RESIDENT", plan->groups);
    define(m, "LEFT", filter->spectrum.left);
    define(m, "PAD", filter->spectrum.pad);
}

/* ---- create ---- */

qb_status qb__filter_upload(qb__device_filter *filter, qb__queue *queue, const void *bytes,
                            size_t count, qb__memory **memory) {
    qb_status status;
    QB__TRY(qb__memory_create(filter->device, count, memory));
    filter->bytes += count;
    QB__TRY(qb__memory_upload(queue, *memory, 0, bytes, count));
    QB__TRY(qb__queue_finish(queue)); /* the caller may free them */
out:
    return status;
}

static qb_status upload_prep(qb__device_filter *filter, qb__queue *queue,
                             const qb__device_prep *prep) {
    bool fields = prep->quantity == QB_COUNTS, logarithm = prep->quantity != QB_LINE_INTEGRAL;
    size_t views = prep->views, bytes;
    const uint32_t none[FOUND_WORDS] = {0};
    float *inverse = NULL;
    qb_status status;
    if (!qb__mul(prep->rows, filter->spectrum.columns, sizeof(float), &bytes))
        return qb__fail(QB_NO_MEMORY, "fields of %zu rows", prep->rows);
    QB__TRY(
        qb__filter_upload(filter, queue, prep->weights, views * sizeof(float), &filter->weights));
    if (fields && prep->dark)
        QB__TRY(qb__filter_upload(filter, queue, prep->dark, bytes, &filter->dark));
    if (fields && prep->gain)
        QB__TRY(qb__filter_upload(filter, queue, prep->gain, bytes, &filter->gain));
    if (logarithm && prep->air) {
        QB__TRY(qb__alloc(views, sizeof *inverse, &inverse));
        for (size_t v = 0; v < views; v++) inverse[v] = 1 / prep->air[v];
        QB__TRY(qb__filter_upload(filter, queue, inverse, views * sizeof(float), &filter->air));
    }
    QB__TRY(qb__filter_upload(filter, queue, none, sizeof none, &filter->counts));
out:
    qb__free(inverse);
    return status;
}

/* exp(-2 pi i k/half), and the coefficients in fours. */
static qb_status upload_tables(qb__device_filter *filter, qb__queue *queue,
                               const qb__filter_spectrum *spectrum) {
    size_t half = spectrum->half, count = half / 2 + 1;
    float *roots = NULL, *four = NULL;
    qb_status status;
    QB__TRY(qb__alloc(half, 2 * sizeof(float), &roots));
    QB__TRY(qb__alloc(count, 4 * sizeof(float), &four));
    for (size_t k = 0; k < half; k++) {
        double angle = 2 * M_PI * (double)k / (double)half;
        roots[2 * k] = (float)cos(angle);
        roots[2 * k + 1] = -(float)sin(angle);
    }
    for (size_t k = 0; k < count; k++) {
        four[4 * k] = spectrum->turn[2 * k];
        four[4 * k + 1] = spectrum->low[2 * k];
        four[4 * k + 2] = spectrum->high[2 * k];
    }
    QB__TRY(qb__filter_upload(filter, queue, roots, half * 2 * sizeof(float), &filter->roots));
    QB__TRY(
        qb__filter_upload(filter, queue, four, count * 4 * sizeof(float), &filter->coefficients));
out:
    qb__free(roots);
    qb__free(four);
    return status;
}

__attribute__((format(printf, 2, 3))) static void say(qb__device_filter *filter, const char *format,
                                                      ...) {
    size_t used = strlen(filter->method);
    va_list list;
    va_start(list, format);
    vsnprintf(filter->method + used, sizeof filter->method - used, format, list);
    va_end(list);
}

static void say_radices(qb__device_filter *filter) {
    const qb__filter_plan *plan = &filter->plan;
    say(filter, ", radices");
    for (int i = 0; i < plan->passes; i++) say(filter, " %d", plan->radix[i]);
    say(filter, " %d", plan->last);
}

/* The kernel that reads the raw rows: the filter's own, or the one that only prepares. */
static qb_status build(qb__device_filter *filter, const qb__device_prep *prep, bool local) {
    const qb__device_info *info = qb__device_info_of(filter->device);
    const char *source = local ? "filter_rows.cl" : "prepare_rows.cl";
    macros m = {.count = 0};
    qb_status status;
    define_prep(&m, filter, prep);
    if (local) {
        define_filter(&m, filter);
        filter->group_rows = filter->plan.group_rows;
        filter->items = filter->plan.items * filter->group_rows;
        filter->local_bytes = filter->plan.local_bytes;
    } else {
        filter->group_rows = 1;
        filter->items = info->group_size < PREPARE_ITEMS ? info->group_size : PREPARE_ITEMS;
        define(&m, "ITEMS", filter->items);
    }
    QB__TRY(qb__program_build(filter->device, source, m.list, &filter->program));
    QB__TRY(
        qb__kernel_get(filter->program, local ? "filter_rows" : "prepare_rows", &filter->kernel));
out:
    return status;
}

/* Why the rows do not stay in local memory; NULL when they do. */
static const char *local_refusal(const qb__filter_spectrum *spectrum, const qb__device_info *info,
                                 qb__filter_method method, qb__filter_plan *plan) {
    const char *why = qb__filter_plan_make(spectrum->half, info, plan);
    bool wanted = method == QB__FILTER_AUTO || method == QB__FILTER_LOCAL;
    return why || wanted ? why : "another method was asked for";
}

static qb_status choose(qb__device_filter *filter, qb__filter_method method, bool *local) {
    const qb__device_info *info = qb__device_info_of(filter->device);
    qb_status status = QB_OK;
    *local = false;
    if (filter->spectrum.identity) {
        say(filter, "no transform");
        return QB_OK;
    }
    const char *why = local_refusal(&filter->spectrum, info, method, &filter->plan);
    *local = !why;
    if (*local) {
        say(filter, "local memory");
        say_radices(filter);
        return QB_OK;
    }
    if (method == QB__FILTER_LOCAL)
        return qb__fail(QB_UNSUPPORTED, "%s: filtering rows of %zu columns in local memory: %s",
                        info->spec, filter->spectrum.columns, why);
    bool cufft =
        method == QB__FILTER_CUFFT || (method == QB__FILTER_AUTO && info->api == QB__API_CUDA);
    if (cufft) {
        status = qb__filter_long_create(filter, true, &filter->passes);
        if (status == QB_OK) say(filter, "cuFFT");
        if (status == QB_OK || method == QB__FILTER_CUFFT || status == QB_NO_MEMORY) return status;
    }
    say(filter, "passes through device memory");
    if (!qb__filter_radices(filter->spectrum.half, &filter->plan))
        return qb__fail(QB_UNSUPPORTED, "filtering rows of %zu columns on a device",
                        filter->spectrum.columns);
    say_radices(filter);
    if (cufft) say(filter, " (%s)", qb_detail());
    return qb__filter_long_create(filter, false, &filter->passes);
}

qb_status qb__device_filter_create(qb__device *device, const qb__filter_spectrum *spectrum,
                                   const qb__device_prep *prep, qb__filter_method method,
                                   qb__device_filter **out) {
    qb__device_filter *filter = NULL;
    qb__queue *queue = NULL;
    bool local;
    qb_status status;
    *out = NULL;
    if (spectrum->columns == 0 || spectrum->columns > INT32_MAX / 8 || prep->views == 0 ||
        prep->rows == 0 || !(prep->floor > 0))
        return qb__fail(QB_BAD_ARGUMENT, "filtering %zu rows of %zu columns, %zu views, floor %g",
                        prep->rows, spectrum->columns, prep->views, (double)prep->floor);
    QB__TRY(qb__alloc(1, sizeof *filter, &filter));
    *filter = (qb__device_filter){.device = device,
                                  .spectrum = *spectrum,
                                  .views = prep->views,
                                  .rows = prep->rows,
                                  .floor = prep->floor,
                                  .number_bytes = qb_dtype_size(prep->dtype)};
    filter->spectrum.turn = filter->spectrum.low = filter->spectrum.high = NULL;
    QB__TRY(qb__queue_create(device, &queue));
    QB__TRY(upload_prep(filter, queue, prep));
    if (!spectrum->identity) QB__TRY(upload_tables(filter, queue, spectrum));
    QB__TRY(choose(filter, method, &local));
    QB__TRY(build(filter, prep, local));
out:
    qb__queue_destroy(queue);
    if (status != QB_OK) {
        qb__device_filter_destroy(filter);
        return status;
    }
    *out = filter;
    return QB_OK;
}

void qb__device_filter_destroy(qb__device_filter *filter) {
    if (!filter) return;
    qb__filter_long_destroy(filter->passes);
    qb__program_release(filter->program);
    qb__memory *const all[] = {filter->weights, filter->air,          filter->dark,  filter->gain,
                               filter->roots,   filter->coefficients, filter->counts};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) qb__memory_destroy(all[i]);
    qb__free(filter);
}

const char *qb__device_filter_method(const qb__device_filter *filter) {
    return filter->method;
}
size_t qb__device_filter_bytes(const qb__device_filter *filter) {
    return filter->bytes;
}

size_t qb__device_filter_forecast(const qb__device_info *info, const qb__filter_spectrum *filter,
                                  qb__filter_method method, size_t views, size_t rows) {
    size_t bytes = 2 * views * sizeof(float) + 2 * rows * filter->columns * sizeof(float) +
                   FOUND_WORDS * sizeof(uint32_t);
    qb__filter_plan plan;
    if (filter->identity) return bytes;
    bytes += (2 * filter->half + 4 * (filter->half / 2 + 1)) * sizeof(float); /* upload_tables() */
    return bytes + (local_refusal(filter, info, method, &plan) ? qb__filter_long_forecast(filter) : 0);
}

/* ---- run ---- */

static bool divides(uint64_t by, const uint64_t *values, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (values[i] % by) return false;
    }
    return true;
}

qb_status qb__filter_prepare(qb__device_filter *filter, qb__queue *queue, const qb__memory *raw,
                             qb__memory *out, const qb__row_block *block, bool weighted) {
    const uint64_t all[] = {block->raw_first, block->raw_view, block->raw_slice,
                            block->out_first, block->out_view, block->out_slice};
    int32_t in_fours = divides(4, all, 6), times = weighted;
    const qb__arg args[] = {QB__MEMORY(raw),
                            QB__MEMORY(filter->dark),
                            QB__MEMORY(filter->gain),
                            QB__MEMORY(filter->air),
                            QB__MEMORY(filter->weights),
                            QB__MEMORY(out),
                            QB__MEMORY(filter->counts),
                            QB__VALUE(block->raw_first),
                            QB__VALUE(block->raw_view),
                            QB__VALUE(block->raw_slice),
                            QB__VALUE(block->out_first),
                            QB__VALUE(block->out_view),
                            QB__VALUE(block->out_slice),
                            QB__VALUE(block->slices),
                            QB__VALUE(block->view0),
                            QB__VALUE(block->row0),
                            QB__VALUE(block->row_step),
                            QB__VALUE(filter->floor),
                            QB__VALUE(in_fours),
                            QB__VALUE(times)};
    const size_t groups[3] = {block->rows, 1, 1}, group[3] = {filter->items, 1, 1};
    return qb__kernel_launch(filter->kernel, queue, groups, group, args,
                             sizeof args / sizeof args[0]);
}

static qb_status filter_rows(qb__device_filter *filter, qb__queue *queue, const qb__memory *raw,
                             qb__memory *out, const qb__row_block *block) {
    const uint64_t from[] = {block->raw_first, block->raw_view, block->raw_slice};
    const uint64_t to[] = {block->out_first, block->out_view, block->out_slice};
    int32_t in_fours = divides(4, from, 3), in_twos = divides(2, to, 3);
    const qb__arg args[] = {QB__MEMORY(raw),
                            QB__MEMORY(filter->dark),
                            QB__MEMORY(filter->gain),
                            QB__MEMORY(filter->air),
                            QB__MEMORY(filter->weights),
                            QB__MEMORY(filter->roots),
                            QB__MEMORY(filter->coefficients),
                            QB__MEMORY(out),
                            QB__MEMORY(filter->counts),
                            QB__VALUE(block->raw_first),
                            QB__VALUE(block->raw_view),
                            QB__VALUE(block->raw_slice),
                            QB__VALUE(block->out_first),
                            QB__VALUE(block->out_view),
                            QB__VALUE(block->out_slice),
                            QB__VALUE(block->rows),
                            QB__VALUE(block->slices),
                            QB__VALUE(block->view0),
                            QB__VALUE(block->row0),
                            QB__VALUE(block->row_step),
                            QB__VALUE(filter->floor),
                            QB__VALUE(in_fours),
                            QB__VALUE(in_twos),
                            QB__LOCAL(filter->local_bytes)};
    const size_t groups[3] = {(block->rows + filter->group_rows - 1) / filter->group_rows, 1, 1};
    const size_t group[3] = {filter->items, 1, 1};
    return qb__kernel_launch(filter->kernel, queue, groups, group, args,
                             sizeof args / sizeof args[0]);
}

/* Bytes of the memory up to the block's last row; 0 when that is no number. */
static size_t extent(const qb__device_rows *rows, size_t views, size_t slices, size_t columns,
                     size_t element) {
    size_t all, other;
    if (!qb__mul(views - 1, rows->view_stride, element, &all) ||
        !qb__mul(slices - 1, rows->slice_stride, element, &other))
        return 0;
    size_t sum = rows->offset + columns * element;
    if (all > SIZE_MAX / 4 || other > SIZE_MAX / 4 || sum > SIZE_MAX / 4) return 0;
    return sum + all + other;
}

static qb_status check(const qb__device_filter *filter, const qb__device_rows *raw, size_t view0,
                       size_t view1, unsigned slices, size_t row0, size_t row_step,
                       const qb__device_rows *filtered) {
    size_t columns = filter->spectrum.columns;
    if (view1 > filter->views || row0 >= filter->rows ||
        (slices - 1) * row_step >= filter->rows - row0)
        return qb__fail(QB_BAD_ARGUMENT,
                        "filtering views %zu:%zu, rows %zu + %u x %zu of %zu views, %zu rows",
                        view0, view1, row0, slices, row_step, filter->views, filter->rows);
    size_t from = extent(raw, view1 - view0, slices, columns, filter->number_bytes);
    size_t to = extent(filtered, view1 - view0, slices, columns, sizeof(float));
    if (raw->offset % filter->number_bytes || filtered->offset % sizeof(float) || !from || !to ||
        from > qb__memory_bytes(raw->memory) || to > qb__memory_bytes(filtered->memory) ||
        (view1 - view0) * (uint64_t)slices > INT32_MAX)
        return qb__fail(QB_BAD_ARGUMENT,
                        "filtering %zu views x %u slices: %zu bytes at %zu of %zu, to %zu bytes at "
                        "%zu of %zu",
                        view1 - view0, slices, from, raw->offset, qb__memory_bytes(raw->memory), to,
                        filtered->offset, qb__memory_bytes(filtered->memory));
    return QB_OK;
}

qb_status qb__device_filter_run(qb__device_filter *filter, qb__queue *queue,
                                const qb__device_rows *raw, size_t view0, size_t view1,
                                unsigned slices, size_t row0, size_t row_step,
                                const qb__device_rows *filtered) {
    if (view0 >= view1 || slices == 0) return QB_OK;
    qb_status status = check(filter, raw, view0, view1, slices, row0, row_step, filtered);
    if (status != QB_OK) return status;
    const qb__row_block block = {.raw_first = raw->offset / filter->number_bytes,
                                 .raw_view = raw->view_stride,
                                 .raw_slice = raw->slice_stride,
                                 .out_first = filtered->offset / sizeof(float),
                                 .out_view = filtered->view_stride,
                                 .out_slice = filtered->slice_stride,
                                 .rows = (uint32_t)((view1 - view0) * slices),
                                 .slices = slices,
                                 .view0 = (uint32_t)view0,
                                 .row0 = (uint32_t)row0,
                                 .row_step = (uint32_t)row_step};
    if (filter->spectrum.identity)
        return qb__filter_prepare(filter, queue, raw->memory, filtered->memory, &block, true);
    if (filter->passes)
        return qb__filter_long_run(filter->passes, filter, queue, raw->memory, filtered->memory,
                                   &block);
    return filter_rows(filter, queue, raw->memory, filtered->memory, &block);
}

qb_status qb__device_filter_found(qb__device_filter *filter, qb__queue *queue,
                                  qb__device_filter_counts *counts) {
    uint32_t words[FOUND_WORDS];
    qb_status status = qb__memory_download(queue, filter->counts, 0, words, sizeof words);
    if (status == QB_OK) status = qb__queue_finish(queue);
    if (status != QB_OK) return status;
    uint64_t *const into[] = {&counts->clamped, &counts->not_finite, &counts->dead};
    for (int i = 0; i < FOUND_WORDS / 2; i++)
        *into[i] = words[2 * i] | (uint64_t)words[2 * i + 1] << 32;
    return QB_OK;
}
