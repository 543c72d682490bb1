/* SPDX-License-Identifier: MIT */
#include "job/volume_out.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/share.h"
#include "base/status.h"
#include "io/codec/codec.h"
#include "io/formats.h"
#include "io/publish/outputs.h"
#include "io/publish/paths.h"
#include "io/tensor/tensor.h"
#include "io/tensor/tensor_stack.h"
#include "io/writer.h"
#include "job/grey_levels.h"
#include "planner/rates.h"
#include "planner/storage.h"

qb_dtype qb__volume_dtype(const qb__volume_out *out) { return out->options->dtype; }

bool qb__volume_converts(const qb__volume_out *out) {
    return qb__volume_dtype(out) != QB_F32 || out->hu > 0 || (out->mask && out->mask->used) ||
           qb__output_filters(out->options);
}

bool qb__output_filters(const qb_output_options *options) {
    return options->clip.count > 0 || (options->denoise && strcmp(options->denoise, "none") != 0);
}

qb_status qb__volume_begin(qb__volume_out *out) { return qb__denoise_parse(out->options->denoise, &out->denoise); }

qb_status qb__mask_of(qb_outside outside, bool circle, qb_dtype dtype, const qb_grid *grid, qb__mask *mask) {
    if (outside == QB_OUTSIDE_NAN && !qb_dtype_is_float(dtype))
        return qb__fail(QB_BAD_ARGUMENT, "--outside nan: %s has no such number; give --outside zero",
                        qb_dtype_name(dtype));
    mask->used = circle || outside != QB_OUTSIDE_KEEP;
    mask->along = outside != QB_OUTSIDE_KEEP;
    mask->value = outside == QB_OUTSIDE_NAN ? NAN : 0.0f;
    mask->grid = *grid;
    return QB_OK;
}

const char *qb__volume_units(double hu, bool in_mm) { return hu > 0 ? "HU" : in_mm ? "1/mm" : "1/pixel"; }

/* Refuse an output folder with images of the input: a folder is read as one series, and a second series would make it
 * useless as a scan. */
static qb_status check_folder(const char *output, const char *input) {
    bool joins = false;
    if (!qb__is_folder(input)) return QB_OK;
    char *folder = qb__has_number(output) ? qb__folder_of(output) : qb__strdup(output);
    if (!folder) return qb__fail(QB_NO_MEMORY, "%s: no memory for its name", output);
    qb_status status = qb__same_file(folder, input, &joins);
    qb__free(folder);
    if (status != QB_OK || !joins) return status;
    return qb__fail(QB_BAD_ARGUMENT, "writing %s would overwrite the input %s: give another name", output, input);
}

/* Check that a file of that name can be created. A series of files makes its folder. */
static qb_status check_name(const char *path) {
    const qb__format *format;
    char *folder;
    qb_status status = qb__format_to_write(path, &format);
    if (status != QB_OK || format->series) return status;
    if (!(folder = qb__folder_of(path))) return qb__fail(QB_NO_MEMORY, "%s: no memory for its name", path);
    if (access(folder, W_OK | X_OK) != 0)
        status = qb__fail(QB_IO, "a file cannot be put into %s: %s", folder, strerror(errno));
    qb__free(folder);
    return status;
}

qb_status qb__range_check(const qb_numbers *range) {
    const double low = range->value[0], high = range->value[1];
    if (range->count != 2 || low >= high)
        return qb__fail(QB_BAD_ARGUMENT, "--range needs two numbers LO,HI with LO < HI");
    if (isfinite((float)low) && isfinite((float)high)) return QB_OK;
    return qb__fail(QB_BAD_ARGUMENT, "--range %g,%g goes beyond what float32 holds: give values up to 3e38", low, high);
}

qb_status qb__volume_check(const qb_output_options *options, const char *input) {
    const qb_numbers *range = &options->range, *clip = &options->clip;
    qb__denoise denoise;
    if (!options->output) return qb__fail(QB_BAD_ARGUMENT, "where to? give -o OUTPUT");
    qb_status status = check_folder(options->output, input);
    if (status == QB_OK && !options->array && !qb__is_nothing(options->output)) status = check_name(options->output);
    if (status == QB_OK && options->preview) status = qb__preview_check(options->preview);
    qb__codec_kind codec;
    if (status == QB_OK) status = qb__codec_named(options->compress, &codec);
    qb__grey_levels window;
    if (status == QB_OK) status = qb__grey_levels_parse(options->window, &window);
    if (status == QB_OK) status = qb__denoise_parse(options->denoise, &denoise);
    if (status != QB_OK) return status;
    if (clip->count && (clip->count != 2 || clip->value[0] >= clip->value[1]))
        return qb__fail(QB_BAD_ARGUMENT, "--clip needs two numbers LO,HI with LO < HI");
    if (options->range_of == QB_RANGE_OF_VOLUME && (range->count || qb_dtype_is_float(options->dtype)))
        return qb__fail(QB_BAD_ARGUMENT, "--range-of volume is for --dtype uint16 or uint8 without --range");
    if (range->count == 0) return QB_OK;
    if (qb_dtype_is_float(options->dtype))
        return qb__fail(QB_BAD_ARGUMENT, "--range is for --dtype uint16 or uint8 only");
    return qb__range_check(range);
}

qb_status qb__output_take(const qb_output_options *from, qb_output_options *to) {
    static const char what[] = "the array for the result";
    char name[QB__TENSOR_NAME];
    qb__tensor tensor;
    qb_status status = qb_params_copy(qb_output_params, from, to);
    if (status != QB_OK || !to->array) return status;
    if (to->output)
        return qb__fail(QB_BAD_ARGUMENT, "the result goes to an array: it cannot go to %s, too", to->output);
    status = qb__tensor_look(to->array, what, QB__MISSING_IMAGE, &tensor);
    if (status == QB_OK) status = qb__tensor_check_sink(&tensor, what);
    if (status != QB_OK) return status;
    qb__tensor_name(&tensor, name);
    to->output = qb__strdup(name);
    if (!to->output) return qb__fail(QB_NO_MEMORY, "no memory for a name");
    return qb_params_set(qb_output_params, to, "dtype", qb_dtype_name(to->array->dtype));
}

size_t qb__value_written(const qb_output_options *options) {
    return qb__is_nothing(options->output) ? 0 : qb_dtype_size(options->dtype);
}

static size_t pixels(const qb__volume_out *out) { return out->stack.shape[1] * out->stack.shape[2]; }

/* The output is a file, an array, or none. */
static bool is_file(const qb__volume_out *out) { return !out->options->array && !qb__is_nothing(out->options->output); }

/* One file is the simplest for the user, so it is the default until its writing speed of a few GB/s limits the job. */
static const double one_file = 8e9;

static size_t threads_that_write(const qb_env *env) {
    const size_t all = qb__share_threads();
    return env && env->threads > 0 ? qb__smaller(all, (size_t)env->threads) : all;
}

/* If one file replaces an output with parts, the folder of the parts must be removed too. */
static qb_status tell_older_parts(const char *output, const qb_env *env) {
    char *folder;
    qb_status status = qb__parts_folder(output, &folder);
    if (status == QB_OK && access(folder, F_OK) == 0)
        qb__warn(env, "%s holds parts of an older volume that are not used: remove it" QB__CODE("old-parts"), folder);
    qb__free(folder);
    return status;
}

qb_status qb__volume_spread(qb__volume_out *out, const qb_env *env) {
    const char *text = out->options->parts ? out->options->parts : "auto";
    const size_t *n = out->stack.shape;
    const bool chosen = strcmp(text, "auto") != 0;
    const qb__format *format = NULL;
    qb__storage storage;
    size_t parts = 1;
    /* A path that is not a known format, such as the folder of a sweep, is checked elsewhere. */
    const bool able =
        !out->options->array && qb__format_to_write(out->options->output, &format) == QB_OK && format->writer->parts;
    if (chosen) {
        char *end;
        long number = strtol(text, &end, 10);
        if (end == text || *end || number < 1 || number > QB_PARTS_MOST)
            return qb__fail(QB_BAD_ARGUMENT, "--parts %s: give auto or a number from 1 to %d", text, QB_PARTS_MOST);
        parts = (size_t)number;
    } else if (able && !qb__compresses(out->options->compress) &&
               (double)n[0] * (double)n[1] * (double)n[2] * (double)qb_dtype_size(qb__volume_dtype(out)) >= one_file) {
        parts = threads_that_write(env);
        if (qb__storage_find(out->options->output, &storage))
            parts = qb__smaller(parts, qb__storage_pays(storage.write));
    }
    if (parts > 1 && !able)
        return qb__fail(QB_BAD_ARGUMENT, "--parts %s: only an HDF5 file (-o NAME.h5) can have parts", text);
    out->stack.parts = qb__smaller(parts, n[0]);
    out->stack.compress = out->options->compress;
    out->stack.zarr = out->options->zarr;
    QB__OR_RETURN(format && !qb__is_folder(out->options->output)
                      ? qb__packing_check(out->options->output, &out->stack, format->writer)
                      : QB_OK);
    return able && out->stack.parts == 1 ? tell_older_parts(out->options->output, env) : QB_OK;
}

double qb__volume_write_rate(const qb__volume_out *out, size_t threads, const char **from) {
    const char *path = out->options->output;
    qb__storage storage;
    const char *known = out->options->array ? "listed" : qb__storage_of(path, &storage);
    if (from) *from = known;
    if (out->options->array) return 5e9;
    const bool series = qb__is_folder(path) || qb__has_number(path);
    return qb__storage_rate(storage.write, series ? threads : out->stack.parts);
}

static double write_seconds(const qb__volume_out *out, size_t threads) {
    const double bytes =
        (double)pixels(out) * (double)out->stack.shape[0] * (double)qb_dtype_size(qb__volume_dtype(out));
    return qb__is_nothing(out->options->output) ? 0 : bytes / qb__volume_write_rate(out, threads, NULL);
}

/* For an array as output: its shape must be that of the result. */
static qb_status check_array(const qb__volume_out *out) {
    qb_stack stack = out->stack;
    qb__tensor tensor;
    if (!out->options->array) return QB_OK;
    stack.dtype = out->options->array->dtype;
    return qb__tensor_check_result(out->options->array, &stack, &tensor);
}

qb_status qb__volume_room(const qb__volume_out *out, const qb_env *env) {
    const size_t *n = out->stack.shape, image = n[1] * n[2] * qb_dtype_size(qb__volume_dtype(out));
    if (!is_file(out) || out->keep.resume) return QB_OK;
    char *folder = qb__folder_of(out->options->output);
    if (!folder) return qb__fail(QB_NO_MEMORY, "%s: no memory for its name", out->options->output);
    qb_status status = qb__recover_space(folder, out->options->output, (uint64_t)n[0] * image, env);
    qb__free(folder);
    return status;
}

qb_status qb__volume_protect_inputs(const qb__volume_out *out, const qb__inputs *inputs, const qb_env *env) {
    const qb__output outputs[] = {{.path = is_file(out) ? out->options->output : NULL,
                                   .images = out->stack.shape[0],
                                   .first = out->stack.first,
                                   .parts = out->stack.parts,
                                   .projections = out->stack.angles != NULL},
                                  {.path = out->options->preview},
                                  {.path = out->sidecar}};
    qb_status status = check_array(out);
    return status == QB_OK ? qb__outputs_check(outputs, 3, inputs, env) : status;
}

static qb_status create(qb__volume_out *out, const qb_env *env) {
    qb_status status = qb__publication_create(env, &out->set);
    if (status == QB_OK && out->keep.resume) qb__publication_resume(out->set, qb__keep_look, &out->keep);
    return status == QB_OK ? qb__output_create(out->options, &out->stack, out->set, &out->writer) : status;
}

/* Rank 0 has created the file, or has failed to; the others open it. */
static qb_status join(qb__volume_out *out, qb_status status) {
    qb__writer_location place = {.files = 0};
    const bool first = out->comm->rank == 0;
    if (first && status == QB_OK) status = qb__writer_locate(out->writer, &place);
    status = qb__comm_bcast(out->comm, status, 0, &place, sizeof place);
    if (first || status != QB_OK) return status;
    return qb__writer_join(&place, out->options->output, &out->stack, &out->writer);
}

qb_status qb__volume_open(qb__volume_out *out, const qb_env *env) {
    if (out->options->range.count == 2) {
        out->low = out->options->range.value[0];
        out->high = out->options->range.value[1];
    }
    out->stack.dtype = qb__volume_dtype(out);
    out->stack.scale_low = out->low;
    out->stack.scale_high = out->high;
    atomic_store(&out->outside, 0);
    out->nan = (qb__volume_nan){0};
    qb_status status = qb__observers_open(&out->observers, out->options, &out->stack);
    if (status == QB_OK && qb__comm_rank(out->comm) == 0) status = create(out, env);
    if (out->comm) status = join(out, status);
    status = qb__keep_open(&out->keep, out->comm, out->writer, status, env);
    if (status == QB_OK) qb__writer_limit(out->writer, env);
    return status;
}

/* ---- stages ---- */

static size_t convert_tasks(void *self, size_t chunk) {
    return qb__runs_count(&((const qb__volume_out *)self)->chunks->chunk[chunk].images);
}

static void clip(const qb_numbers *limits, float *values, size_t count) {
    const float low = (float)limits->value[0], high = (float)limits->value[1];
    if (limits->count != 2) return;
    for (size_t i = 0; i < count; i++) values[i] = values[i] < low ? low : values[i] > high ? high : values[i];
}

/* One finished image. It is not used afterwards, so it is changed in place. */
static qb_status convert_run(void *self, size_t chunk, size_t task, int worker, const void *in, void *to) {
    (void)worker;
    enum { RUN = 4096 }; /* values that stay in the core's cache between counting and converting */
    qb__volume_out *out = self;
    qb_dtype dtype = out->stack.dtype;
    float *image = (float *)in + task * pixels(out);
    const qb__mask *mask = out->mask;
    const size_t number = qb__runs_slice(&out->chunks->chunk[chunk].images, task);
    qb__volume_nan_count(&out->nan, image, pixels(out), number);
    QB__OR_RETURN(qb__denoise_image(&out->denoise, image, out->stack.shape[2], out->stack.shape[1]));
    if (mask && mask->used) qb__fov_mask(&mask->fov, &mask->grid, number, mask->along, mask->value, image);
    if (out->hu > 0) {
        for (size_t i = 0; i < pixels(out); i++) image[i] -= 1000.0f;
    }
    clip(&out->options->clip, image, pixels(out));
    qb__observers_image(&out->observers, number, image);
    const size_t bytes = qb_dtype_size(dtype);
    char *numbers = (char *)to + task * pixels(out) * bytes;
    uint64_t outside = 0;
    for (size_t at = 0; at < pixels(out); at += RUN) {
        const size_t n = qb__smaller(RUN, pixels(out) - at);
        outside += qb_count_outside(image + at, n, dtype, out->low, out->high);
        qb_convert_from_float(image + at, n, dtype, out->low, out->high, numbers + at * bytes);
    }
    if (outside) atomic_fetch_add_explicit(&out->outside, outside, memory_order_relaxed);
    return QB_OK;
}

/* A masked value has no result: NaN, or the value for NaN of an integer type. */
static void blank_lost(const qb__volume_out *out, size_t first, size_t end, void *images) {
    const qb_dtype dtype = qb__volume_dtype(out);
    const size_t bytes = qb_dtype_size(dtype);
    const float nothing = NAN;
    char value[8];
    qb_convert_from_float(&nothing, 1, dtype, out->low, out->high, value);
    for (size_t i = first; i < end; i++) {
        char *image = (char *)images + (i - first) * pixels(out) * bytes;
        for (size_t k = 0; out->lost[i * out->lost_step] && k < pixels(out); k++)
            memcpy(image + k * bytes, value, bytes);
    }
}

/* Images from `first` on, side by side. */
typedef struct looking {
    qb__volume_out *out;
    const float *images;
    size_t first;
} looking;

static qb_status look_for_nan(void *self, size_t number, size_t worker) {
    const looking *l = self;
    (void)worker;
    qb__volume_nan_count(&l->out->nan, l->images + number * pixels(l->out), pixels(l->out), l->first + number);
    return QB_OK;
}

/* Looks for NaN with several threads, because one thread is slower than devices. */
static qb_status look_at_images(qb__volume_out *out, size_t first, size_t end, const void *in) {
    enum { WORTH = 1 << 22 /* pixels */ };
    looking l = {out, in, first};
    const size_t threads = (end - first) * pixels(out) < WORTH ? 1 : qb__smaller((size_t)out->threads, QB__SHARE_MOST);
    const qb_status status = qb__share(threads, end - first, look_for_nan, &l);
    for (size_t i = first; i < end && status == QB_OK; i++)
        qb__observers_image(&out->observers, i, l.images + (i - first) * pixels(out));
    return status;
}

static qb_status write_images(qb__volume_out *out, size_t first, size_t end, const void *in) {
    if (first == end) return QB_OK;
    if (out->lost && !out->in_place) blank_lost(out, first, end, (void *)in);
    if (out->in_place) return qb__writer_write(out->writer, first, end, NULL);
    qb_status status = qb__volume_converts(out) ? QB_OK : look_at_images(out, first, end, in);
    if (status == QB_OK) status = qb__observers_slab(&out->observers, first, end, in);
    return status == QB_OK ? qb__writer_write(out->writer, first, end, in) : status;
}

static qb_status write_run(void *self, size_t chunk, size_t task, int worker, const void *in, void *to) {
    (void)task, (void)worker, (void)to;
    qb__volume_out *out = self;
    const qb__runs *runs = &out->chunks->chunk[chunk].images;
    const size_t behind = qb__run_count(runs->of[0]) * pixels(out) * qb_dtype_size(qb__volume_dtype(out));
    if (qb__runs_count(runs) == 0) return QB_OK;
    qb_status status = write_images(out, runs->of[0].first, runs->of[0].end, in);
    if (status == QB_OK) status = write_images(out, runs->of[1].first, runs->of[1].end, (const char *)in + behind);
    return status == QB_OK && !out->in_place ? qb__keep_note(&out->keep) : status;
}

int qb__volume_stages(qb__volume_out *out, bool converted, size_t images, size_t last, size_t slots,
                      qb__stage *stages) {
    const size_t image = pixels(out) * qb_dtype_size(qb__volume_dtype(out));
    const double share = (double)images / (double)out->stack.shape[0];
    int n = 0;
    if (qb__volume_converts(out) && !converted)
        stages[n++] = (qb__stage){.name = "convert",
                                  .self = out,
                                  .slots = slots,
                                  .slot_bytes = images * image,
                                  .last_bytes = last * image,
                                  .forecast = (double)(images * pixels(out)) / qb__rate(QB__RATE_CONVERT, 0.3e9),
                                  .tasks = convert_tasks,
                                  .run = convert_run};
    stages[n++] = (qb__stage){.name = "write",
                              .self = out,
                              .blocking = true,
                              .run = write_run,
                              .forecast = write_seconds(out, (size_t)out->threads) * share};
    return n;
}

qb_status qb__volume_report(qb__volume_out *out, cJSON *report, const qb_env *env) {
    uint64_t outside = atomic_load(&out->outside);
    const bool projections = qb__stack_is_projections(&out->stack);
    qb_status status =
        qb__volume_nan_report(&out->nan, out->comm, out->stack.shape, out->options->output, projections, report, env);
    if (status != QB_OK || qb__volume_dtype(out) == QB_F32) return status;
    status = qb__comm_sum(out->comm, QB_OK, &outside, 1);
    if (status != QB_OK) return status;
    double all = (double)pixels(out) * (double)out->stack.shape[0];
    qb_dtype dtype = qb__volume_dtype(out);
    cJSON_AddNumberToObject(report, "clamped_values", (double)outside);
    if (!outside) return QB_OK;
    if (dtype == QB_F16 && out->mask && out->mask->used &&
        isnan(out->mask->value)) { /* float16 has NaN, which --outside nan asks for */
        qb__info(env,
                 "%llu of %.0f values (%.3g %%) are no numbers, as --outside nan says, or lie outside -65504..65504 "
                 "and are clamped in float16",
                 (unsigned long long)outside, all, 100 * (double)outside / all);
        return QB_OK;
    }
    /* An automatic range clips a few values by intent. */
    bool meant = out->options->range.count == 0 && (double)outside < 1e-3 * all;
    char limits[64] = "-65504..65504";
    if (!qb_dtype_is_float(dtype)) qb__print(limits, sizeof limits, "%g..%g", out->low, out->high);
    qb__log(env, meant ? QB_LOG_INFO : QB_LOG_WARNING,
            "%llu of %.0f values (%.3g %%) lie outside %s or are NaN: clamped in %s%s", (unsigned long long)outside,
            all, 100 * (double)outside / all, limits, qb_dtype_name(dtype), meant ? "" : QB__CODE("range-clamped"));
    return QB_OK;
}

static qb_status commit(qb__volume_out *out, const char *provenance, cJSON *report) {
    qb_status status = qb__writer_finish(out->writer, provenance);
    out->writer = NULL;
    if (status == QB_OK) status = qb__observers_publish(&out->observers, out->set, report);
    if (status != QB_OK) return status;
    status = qb__publication_commit(out->set);
    out->set = NULL;
    return status;
}

static qb_status add_marks(void *context, int from, const void *data, size_t bytes) {
    qb__volume_out *out = context;
    (void)from;
    for (size_t i = 0; i < bytes; i++) out->writer->written[i] |= ((const unsigned char *)data)[i];
    return QB_OK;
}

/* Before the file gets its name, the data of the other ranks must be on the disk and visible here. */
static qb_status gather(qb__volume_out *out, qb_status status) {
    if (!out->comm) return status;
    if (status == QB_OK && out->comm->rank > 0) status = qb__writer_flush(out->writer);
    const unsigned char *marks = status == QB_OK ? out->writer->written : NULL;
    status = qb__comm_collect(out->comm, status, marks, marks ? qb__writer_marks(out->writer) : 0, add_marks, out);
    return qb__observers_gather(&out->observers, out->comm, out->chunks, status);
}

qb_status qb__volume_commit(qb__volume_out *out, qb_status status, const char *provenance, cJSON *report) {
    status = gather(out, status);
    if (status == QB_OK && qb__comm_rank(out->comm) == 0) status = commit(out, provenance, report);
    return qb__agree(out->comm, status);
}

void qb__volume_abort(qb__volume_out *out) {
    qb_writer_abort(out->writer);
    qb__publication_abort(out->set);
    qb__observers_close(&out->observers);
    qb__keep_close(&out->keep);
    out->writer = NULL;
    out->set = NULL;
}
