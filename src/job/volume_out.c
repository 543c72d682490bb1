/* SPDX-License-Identifier: MIT */
#include "job/volume_out.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "io/formats.h"
#include "io/outputs.h"
#include "io/tensor.h"

qb_dtype qb__volume_dtype(const qb__volume_out *out) {
    return out->options->dtype;
}

bool qb__volume_converts(const qb__volume_out *out) {
    return qb__volume_dtype(out) != QB_F32 || out->hu > 0;
}

const char *qb__volume_units(const qb__volume_out *out) {
    return out->hu > 0 ? "HU" : out->in_mm ? "1/mm" : "1/pixel";
}

/* A folder that is read as a scan is one series of images; a second one would spoil it. */
static qb_status check_folder(const char *output, const char *input) {
    bool joins = false;
    if (!qb__is_folder(input)) return QB_OK;
    char *folder = qb__has_number(output) ? qb__folder_of(output) : qb__strdup(output);
    if (!folder) return qb__fail(QB_NO_MEMORY, "%s: no memory for its name", output);
    qb_status status = qb__same_place(folder, input, &joins);
    qb__free(folder);
    if (status != QB_OK || !joins) return status;
    return qb__fail(QB_BAD_ARGUMENT,
                    "writing %s would overwrite the input %s: give another name", output, input);
}

qb_status qb__volume_check(const qb_output_options *options, const char *input) {
    const qb_numbers *range = &options->range;
    if (!options->output) return qb__fail(QB_BAD_ARGUMENT, "where to? give -o OUTPUT");
    qb_status status = check_folder(options->output, input);
    if (status == QB_OK && options->preview) status = qb__preview_check(options->preview);
    if (status != QB_OK) return status;
    if (range->count == 0) return QB_OK;
    if (range->count != 2 || range->value[0] >= range->value[1])
        return qb__fail(QB_BAD_ARGUMENT, "--range needs two numbers LO,HI with LO < HI");
    if (qb_dtype_is_float(options->dtype))
        return qb__fail(QB_BAD_ARGUMENT, "--range is for --dtype uint16 or uint8 only");
    return QB_OK;
}

qb_status qb__output_take(const qb_output_options *from, qb_output_options *to) {
    static const char what[] = "the array for the result";
    char name[QB__TENSOR_NAME];
    qb__tensor tensor;
    qb_status status = qb_params_copy(qb_output_params, from, to);
    if (status != QB_OK || !to->array) return status;
    if (to->output)
        return qb__fail(QB_BAD_ARGUMENT, "the result goes to an array: it cannot go to %s, too",
                        to->output);
    status = qb__tensor_look(to->array, what, QB__MISSING_IMAGE, &tensor);
    if (status == QB_OK) status = qb__tensor_check_sink(&tensor, what);
    if (status != QB_OK) return status;
    qb__tensor_name(&tensor, name);
    to->output = qb__strdup(name);
    if (!to->output) return qb__fail(QB_NO_MEMORY, "no memory for a name");
    return qb_params_set(qb_output_params, to, "dtype", qb_dtype_name(to->array->dtype));
}

qb_status qb__output_fits(const qb_output_options *options, const size_t n[3]) {
    if (!options->array) return QB_OK;
    qb_stack stack = {.shape = {n[0], n[1], n[2]}, .dtype = options->array->dtype};
    qb_writer *writer;
    qb_status status = qb__tensor_create(options->array, &stack, &writer);
    qb_writer_abort(writer);
    return status;
}

qb_status qb__volume_spare(const qb__volume_out *out, const qb__inputs *inputs, const qb_env *env) {
    const bool array = out->options->array;
    const size_t *n = out->grid.n, shape[] = {n[2], n[1], n[0]};
    const qb__output outputs[] = {
        {.path = array ? NULL : out->options->output, .images = out->grid.n[2], .first = out->first},
        {.path = out->options->preview}};
    qb_status status = qb__output_fits(out->options, shape);
    if (status != QB_OK) return status;
    return qb__outputs_check(outputs, 2, inputs, env);
}

static size_t pixels(const qb__volume_out *out) { return out->grid.n[0] * out->grid.n[1]; }

qb_status qb__volume_open(qb__volume_out *out) {
    if (out->options->range.count == 2) {
        out->low = out->options->range.value[0];
        out->high = out->options->range.value[1];
    }
    const qb_grid *grid = &out->grid;
    qb_stack stack = {
        .dtype = qb__volume_dtype(out),
        .shape = {grid->n[2], grid->n[1], grid->n[0]},
        .offset = {grid->offset[0], grid->offset[1], grid->offset[2]},
        .units = qb__volume_units(out),
        .quantity = out->hu > 0 ? "Hounsfield" : "attenuation",
        .scale_low = out->low,
        .scale_high = out->high,
        .first = out->first,
        .description = out->description,
    };
    for (int i = 0; out->in_mm && i < 3; i++) stack.voxel[i] = grid->voxel[i];
    if (out->options->preview) {
        qb_status status = qb__alloc(pixels(out), sizeof *out->preview, &out->preview);
        if (status != QB_OK) return status;
    }
    return qb__output_create(out->options, &stack, &out->writer);
}

static void keep(qb__volume_out *out, size_t slice, const float *image) {
    if (out->preview && slice == out->grid.n[2] / 2)
        memcpy(out->preview, image, pixels(out) * sizeof *image);
}

void qb__volume_convert(qb__volume_out *out, size_t slice, float *image, void *to) {
    if (out->hu > 0) {
        for (size_t i = 0; i < pixels(out); i++) image[i] -= 1000.0f;
    }
    keep(out, slice, image);
    qb_dtype dtype = qb__volume_dtype(out);
    uint64_t outside = qb_count_outside(image, pixels(out), dtype, out->low, out->high);
    if (outside) atomic_fetch_add_explicit(&out->outside, outside, memory_order_relaxed);
    qb_convert_from_float(image, pixels(out), dtype, out->low, out->high, to);
}

void qb__volume_report(qb__volume_out *out, cJSON *report, const qb_env *env) {
    uint64_t outside = atomic_load(&out->outside);
    double all = (double)pixels(out) * (double)out->grid.n[2];
    qb_dtype dtype = qb__volume_dtype(out);
    if (dtype == QB_F32) return;
    cJSON_AddNumberToObject(report, "clamped_values", (double)outside);
    if (!outside) return;
    /* A range that was chosen here leaves a few out by intent. */
    bool meant = out->options->range.count == 0 && (double)outside < 1e-3 * all;
    char limits[64] = "-65504..65504";
    if (!qb_dtype_is_float(dtype))
        qb__print(limits, sizeof limits, "%g..%g", out->low, out->high);
    qb__log(env, meant ? QB_LOG_INFO : QB_LOG_WARNING,
            "%llu of %.0f values (%.3g %%) lie outside %s, or are no numbers: clamped in %s",
            (unsigned long long)outside, all, 100 * (double)outside / all, limits,
            qb_dtype_name(dtype));
}

void qb__volume_keep(qb__volume_out *out, size_t first, size_t end, const float *slab) {
    size_t middle = out->grid.n[2] / 2;
    if (!qb__volume_converts(out) && middle >= first && middle < end)
        keep(out, middle, slab + (middle - first) * pixels(out));
}

qb_status qb__volume_commit(qb__volume_out *out, const char *provenance) {
    qb_status status = qb_writer_commit(out->writer, provenance);
    out->writer = NULL;
    if (status == QB_OK && out->preview)
        status = qb_preview_write(out->options->preview, out->preview, out->grid.n[0],
                                  out->grid.n[1], 0, 0);
    return status;
}

void qb__volume_abort(qb__volume_out *out) {
    qb_writer_abort(out->writer);
    qb__free(out->preview);
    out->writer = NULL;
    out->preview = NULL;
}
