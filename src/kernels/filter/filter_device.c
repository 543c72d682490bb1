/* SPDX-License-Identifier: MIT */
#include "kernels/filter/filter_device.h"

#include <math.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/status.h"
#include "cpu/rows/lines.h"
#include "kernels/filter/filter_device_parts.h"
#include "kernels/macros.h"

enum { PREPARE_ITEMS = 256 };

/* ---- macros ---- */

void qb__define_raw(qb__macros *m, qb_dtype dtype) {
    static const int raw[] = {[QB_U8] = 0,
                              [QB_I8] = 1,
                              [QB_U16] = 2,
                              [QB_I16] = 3,
                              [QB_U32] = 4,
                              /* numbers as in prepare_rows.clh */
                              [QB_I32] = 5,
                              [QB_F16] = 6,
                              [QB_F32] = 7,
                              [QB_F64] = 8};
    qb__macros_add(m, "RAW", raw[dtype]);
}

static float bound_of(const qb__device_prep *prep) {
    if (prep->quantity != QB_LINE_INTEGRAL) return prep->floor;
    return prep->most > 0 ? prep->most : QB__MOST_INTEGRAL;
}

static void define_prep(qb__macros *m, const qb__device_filter *filter, const qb__device_prep *prep) {
    qb__define_raw(m, prep->dtype);
    qb__macros_add(m, "COLUMNS", (long long)filter->spectrum.columns);
    if (filter->share) {
        qb__macros_add(m, "HAS_SHARE", 1);
        qb__macros_add(m, "SHARE_ROWS", filter->share_rows);
        qb__macros_add(m, "HAS_VIEW_SHARE", filter->view_share != NULL);
        qb__macros_add(m, "RAW_COLUMNS", (long long)filter->measured);
        qb__macros_add(m, "BEFORE", (long long)filter->before);
    }
    qb__macros_add(m, "LOGARITHM", prep->quantity != QB_LINE_INTEGRAL);
    const float top = qb__dtype_top(prep->dtype);
    if (prep->quantity == QB_COUNTS && top < INFINITY) qb__macros_add_float(m, "TOP", top);
    qb__macros_add(m, "HAS_DARK", filter->dark != NULL);
    qb__macros_add(m, "HAS_GAIN", filter->gain != NULL);
    qb__macros_add(m, "HAS_AIR", filter->air != NULL);
    if (filter->mode) qb__macros_add(m, "DRIFT", (long long)prep->modes);
    if (filter->courses) qb__macros_add(m, "COURSES", (long long)prep->course_room);
}

static void define_filter(qb__macros *m, const qb__device_filter *filter) {
    const qb__filter_plan *plan = &filter->plan;
    static const char *const names[] = {"RADIX0", "RADIX1", "RADIX2", "RADIX3"};
    for (int i = 0; i < 4; i++) qb__macros_add(m, names[i], i < plan->passes ? plan->radix[i] : 1);
    qb__macros_add(m, "RADIX_LAST", plan->last);
    qb__macros_add(m, "HALF", (long long)filter->spectrum.half);
    qb__macros_add(m, "ITEMS", (long long)plan->items);
    qb__macros_add(m, "GROUP_ROWS", (long long)plan->group_rows);
    qb__macros_add(m, "GROUPS_RESIDENT", (long long)plan->groups);
    qb__macros_add(m, "LEFT", (long long)filter->spectrum.left);
    qb__macros_add(m, "PAD", filter->spectrum.pad);
}

/* ---- create ---- */

static qb_status upload(qb__device_filter *filter, qb__queue *queue, const void *bytes, size_t count,
                        qb__memory **memory) {
    QB__OR_RETURN(qb__memory_create(filter->device, count, memory));
    filter->bytes += count;
    QB__OR_RETURN(qb__memory_upload(queue, *memory, 0, bytes, count));
    QB__OR_RETURN(qb__queue_finish(queue)); /* the caller may free the bytes */
    return QB_OK;
}

/* `bytes`: size of a field of the detector. */
static qb_status upload_shares(qb__device_filter *filter, qb__queue *queue, const qb__device_prep *prep, size_t bytes) {
    const size_t line = filter->measured * sizeof(float);
    size_t all;
    if (!prep->share) return QB_OK;
    QB__OR_RETURN(upload(filter, queue, prep->share, prep->share_rows ? bytes : line, &filter->share));
    if (!prep->view_share) return QB_OK;
    if (!qb__mul(prep->views, line, 1, &all))
        return qb__fail(QB_NO_MEMORY, "shares of %zu views of %zu columns", prep->views, filter->measured);
    return upload(filter, queue, prep->view_share, all, &filter->view_share);
}

/* `bytes`: size of a field of the detector. */
static qb_status upload_drift(qb__device_filter *filter, qb__queue *queue, const qb__device_prep *prep, size_t bytes) {
    const size_t weights = prep->views * (prep->modes + 1) * sizeof(float);
    size_t all;
    if (!qb__mul(prep->modes, bytes, 1, &all)) return qb__fail(QB_NO_MEMORY, "%zu series of flats", prep->modes);
    QB__OR_RETURN(upload(filter, queue, prep->drift, weights, &filter->drift));
    QB__OR_RETURN(qb__memory_create(filter->device, all, &filter->mode));
    filter->bytes += all;
    for (size_t k = 0; k < prep->modes; k++)
        QB__OR_RETURN(qb__memory_upload(queue, filter->mode, k * bytes, prep->mode + k * prep->mode_apart, bytes));
    return qb__queue_finish(queue);
}

static qb_status upload_prep(qb__device_filter *filter, qb__queue *queue, const qb__device_prep *prep) {
    bool logarithm = prep->quantity != QB_LINE_INTEGRAL;
    size_t views = prep->views, bytes;
    const uint32_t none[QB__FILTER_FOUND_WORDS] = {0};
    float *inverse = NULL;
    qb_status status;
    if (!qb__mul(prep->rows, filter->measured, sizeof(float), &bytes))
        return qb__fail(QB_NO_MEMORY, "fields of %zu rows", prep->rows);
    QB__TRY(upload(filter, queue, prep->weights, views * sizeof(float), &filter->weights));
    QB__TRY(upload_shares(filter, queue, prep, bytes));
    if (prep->dark) QB__TRY(upload(filter, queue, prep->dark, bytes, &filter->dark));
    if (logarithm && prep->gain) QB__TRY(upload(filter, queue, prep->gain, bytes, &filter->gain));
    if (logarithm && prep->gain && prep->modes) QB__TRY(upload_drift(filter, queue, prep, bytes));
    if (prep->courses)
        QB__TRY(upload(filter, queue, prep->courses, prep->rows * prep->course_room * QB__DEVICE_COURSE * sizeof(float),
                       &filter->courses));
    if (logarithm && prep->air) {
        QB__TRY(qb__alloc(views, sizeof *inverse, &inverse));
        for (size_t v = 0; v < views; v++) inverse[v] = 1 / prep->air[v];
        QB__TRY(upload(filter, queue, inverse, views * sizeof(float), &filter->air));
    }
    QB__TRY(upload(filter, queue, none, sizeof none, &filter->counts));
out:
    qb__free(inverse);
    return status;
}

/* Uploads exp(-2 pi i k/half), and the three coefficients of each frequency, padded to four. */
static qb_status upload_tables(qb__device_filter *filter, qb__queue *queue, const qb__filter_spectrum *spectrum) {
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
    QB__TRY(upload(filter, queue, roots, half * 2 * sizeof(float), &filter->roots));
    QB__TRY(upload(filter, queue, four, count * 4 * sizeof(float), &filter->coefficients));
out:
    QB__FREE(roots, four);
    return status;
}

/* Builds the kernel that reads the raw rows: filter_rows.cl, or prepare_rows.cl if another way filters. */
static qb_status build(qb__device_filter *filter, const qb__device_prep *prep, bool local) {
    const qb__device_info *info = qb__device_info_of(filter->device);
    const char *source = local ? "filter_rows.cl" : "prepare_rows.cl";
    qb__macros m = prep->steps;
    define_prep(&m, filter, prep);
    if (local) {
        define_filter(&m, filter);
        filter->group_rows = filter->plan.group_rows;
        filter->items = filter->plan.items * filter->group_rows;
        filter->local_bytes = filter->plan.local_bytes;
    } else {
        filter->group_rows = 1;
        filter->items = info->group_size < PREPARE_ITEMS ? info->group_size : PREPARE_ITEMS;
        qb__macros_add(&m, "ITEMS", (long long)filter->items);
    }
    QB__OR_RETURN(qb__program_build(filter->device, source, m.list, &filter->program));
    return qb__kernel_get(filter->program, local ? "filter_rows" : "prepare_rows", &filter->kernel);
}

qb_status qb__device_filter_create(qb__device *device, const qb__filter_spectrum *spectrum, const qb__device_prep *prep,
                                   qb__filter_method method, qb__device_filter **out) {
    qb__device_filter *filter = NULL;
    qb__queue *queue = NULL;
    bool local;
    qb_status status;
    *out = NULL;
    if (spectrum->columns == 0 || spectrum->columns > INT32_MAX / 8 || prep->views == 0 || prep->rows == 0 ||
        !(prep->floor > 0) ||
        (prep->share &&
         (prep->columns == 0 || prep->columns > spectrum->columns || prep->before > spectrum->columns - prep->columns)))
        return qb__fail(QB_BAD_ARGUMENT, "filtering %zu rows of %zu columns, %zu views, floor %g", prep->rows,
                        spectrum->columns, prep->views, (double)prep->floor);
    QB__TRY(qb__alloc(1, sizeof *filter, &filter));
    *filter = (qb__device_filter){.device = device,
                                  .spectrum = *spectrum,
                                  .views = prep->views,
                                  .rows = prep->rows,
                                  .bound = bound_of(prep),
                                  .measured = prep->share ? prep->columns : spectrum->columns,
                                  .before = prep->share ? prep->before : 0,
                                  .share_rows = prep->share_rows,
                                  .number_bytes = qb_dtype_size(prep->dtype)};
    filter->spectrum.turn = filter->spectrum.low = filter->spectrum.high = NULL;
    QB__TRY(qb__queue_create(device, &queue));
    QB__TRY(upload_prep(filter, queue, prep));
    if (!spectrum->identity) QB__TRY(upload_tables(filter, queue, spectrum));
    QB__TRY(qb__filter_take_way(filter, method, &local));
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
    qb__memory *const all[] = {filter->weights, filter->share, filter->view_share,   filter->air,
                               filter->dark,    filter->gain,  filter->mode,         filter->drift,
                               filter->courses, filter->roots, filter->coefficients, filter->counts};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) qb__memory_destroy(all[i]);
    qb__free(filter);
}

const char *qb__device_filter_method(const qb__device_filter *filter) { return filter->method; }
size_t qb__device_filter_bytes(const qb__device_filter *filter) { return filter->bytes; }

size_t qb__device_filter_forecast(const qb__device_info *info, const qb__filter_spectrum *filter,
                                  qb__filter_method method, size_t views, size_t rows, size_t modes) {
    size_t bytes = (2 + modes) * views * sizeof(float) + ((2 + modes) * rows + 1) * filter->columns * sizeof(float) +
                   QB__FILTER_FOUND_WORDS * sizeof(uint32_t);
    bytes += rows * qb__larger(QB__DEVICE_COURSES, filter->columns / QB__DEVICE_COURSE_COLUMNS) * QB__DEVICE_COURSE *
             sizeof(float);
    qb__filter_plan plan;
    if (filter->identity) return bytes;
    bytes += (2 * filter->half + 4 * (filter->half / 2 + 1)) * sizeof(float); /* as upload_tables() allocates */
    return bytes + (qb__filter_not_local(filter, info, method, &plan) ? qb__filter_long_forecast(filter) : 0);
}
