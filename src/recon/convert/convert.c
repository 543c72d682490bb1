/* SPDX-License-Identifier: MIT */
/* qb convert of a scan: writes the line integrals to a file of another kind or to an array, some views at a time. */
#include <math.h>

#include "base/fork.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/params.h"
#include "base/status.h"
#include "io/mbirct/mbirct.h"
#include "io/publish/outputs.h"
#include "io/tensor/tensor_stack.h"
#include "job/job.h"
#include "prep/levels_said.h"
#include "planner/device_select.h"
#include "prep/spectrum.h"
#include "recon/convert/conversion.h"

const qb_param qb_convert_params[] = {
    {"output", QB_PARAM_TEXT, offsetof(qb_convert_options, output), "OUT", NULL, NULL, 0, 0,
     "what to write, a scan as float32; its kind follows from the name: .h5, .mha, .npy, .nrrd, .raw, BASE.sinoparams, "
     "a "
     "TIFF stack",
     'o'},
    {"center", QB_PARAM_TEXT, offsetof(qb_convert_options, center), "COLUMN|stated|middle", NULL, NULL, 0, 0,
     "the rotation axis, for BASE.sinoparams and .h5, which state it; default: as the scan states it, else the middle "
     "(.h5: none)",
     0},
    {"stitch", QB_PARAM_TEXT, offsetof(qb_convert_options, stitch), "SCAN", NULL, NULL, 0, 0,
     "join the views of a second camera, which saw the columns to the right", 0},
    {"overlap", QB_PARAM_TEXT, offsetof(qb_convert_options, overlap), "COLUMNS|auto", NULL, NULL, 0, 0,
     "columns that both cameras see; default: auto, by comparing them", 0},
    {"compress", QB_PARAM_TEXT, offsetof(qb_convert_options, compress), "none|gzip|zstd|blosc|bitshuffle", NULL, NULL,
     0, 0, "HDF5 and Zarr: compress chunks, by all threads; .mha: gzip", 0},
    {"zarr", QB_PARAM_CHOICE, offsetof(qb_convert_options, zarr), NULL, "0.5", "0.5|0.4", 0, 0, "version of OME-Zarr",
     0},
    {"volume", QB_PARAM_FLAG, offsetof(qb_convert_options, volume), NULL, NULL, NULL, 0, 0,
     "the input is a volume, though the file does not say so", 0},
    {"resume", QB_PARAM_FLAG, offsetof(qb_convert_options, resume), NULL, NULL, NULL, 0, 0,
     "go on where an earlier run was stopped", 0},
    {"checkpoint", QB_PARAM_DOUBLE, offsetof(qb_convert_options, checkpoint), "SECONDS", "300", NULL, 0, 1e9,
     "note that often what is done; 0: never", 0},
    {"dtype", QB_PARAM_TEXT, offsetof(qb_convert_options, dtype), "float32|float16|uint16|uint8", NULL, NULL, 0, 0,
     "volumes: type of the numbers written; default: as stored", 0},
    {"range", QB_PARAM_NUMBERS, offsetof(qb_convert_options, range), "LO,HI", NULL, NULL, 0, 0,
     "volumes: values that become 0 and the maximum of integers; default: of all slices", 0},
    {"thickness", QB_PARAM_TEXT, offsetof(qb_convert_options, thickness), "MU|beta:B|delta:D", NULL, NULL, 0, 0,
     "write the thickness of one material in mm in place of line integrals: these over its attenuation in 1/mm, which "
     "may "
     "follow from beta, or with --paganin from delta, of its refractive index and the energy",
     0},
    {"half-turn", QB_PARAM_FLAG, offsetof(qb_convert_options, half_turn), NULL, NULL, NULL, 0, 0,
     "join opposite views of a whole turn to those of half a turn, for other programs; needs --center", 0},
    QB_PARAMS_END(qb_convert_options),
};

static qb_status check(const qb__convert_job *c, const qb_env *env) {
    const char *output = c->options->output;
    const qb_tensor *array = c->options->array;
    if ((c->options->dtype && *c->options->dtype) || c->options->range.count)
        return qb__fail(QB_BAD_ARGUMENT,
                        "--dtype and --range: a scan's line integrals are written as float32; give --volume if %s is "
                        "a volume",
                        c->info->path);
    if (array && c->options->resume)
        return qb__fail(QB_BAD_ARGUMENT, "--resume: it goes on from files next to the output: give -o OUT");
    if (array && (output || (c->options->center && !c->options->half_turn)))
        return qb__fail(QB_BAD_ARGUMENT, "output and center are for a file: leave them out with an array");
    if (!array && (!output || !*output)) return qb__fail(QB_BAD_ARGUMENT, "--output: where to write to");
    const qb_status usable = qb__scan_usable(c->scan);
    if (usable != QB_OK || array) return usable;
    if (!c->info->angles)
        return qb__fail(QB_BAD_INPUT, "%s: %s, or --volume if it is a volume", c->info->path,
                        c->info->no_angles ? c->info->no_angles : "it has no angles: give --angles");
    const qb__output outputs[] = {{.path = output, .images = c->info->views, .projections = true}};
    return qb__outputs_check(outputs, 1, &c->scan->inputs, env);
}

/* The number of views read at a time: as many as --max-ram allows, up to the number where more views are no longer
 * faster. */
static qb_status cut(qb__convert_job *c, const qb_env *env) {
    enum { AMPLE = 64 << 20 };
    const size_t pixels = c->info->rows * c->info->columns,
                 /* the result is up to twice as wide */
        joined = c->options->stitch || c->options->half_turn ? 2 * sizeof(float) : 0,
                 each = pixels * (sizeof(float) + joined + qb_dtype_size(c->info->dtype));
    const qb__held held = {.threads = qb__pool_threads(c->pool),
                           .scan = c->info,
                           .prepared = qb__prepare_bytes(c->info, c->prep, c->info->rows) + qb__phase_bytes(c->phase)};
    const size_t held_bytes = qb__held_bytes(&held), cap = qb__memory_cap(env);
    if (held_bytes > cap || each > cap - held_bytes)
        return qb__fail_ram(env, (double)cap, (double)held_bytes + (double)each, "even one view at a time needs");
    c->block = qb__smaller(c->info->views, qb__smaller((cap - held_bytes) / each, AMPLE / each + 1));
    return QB_OK;
}

static qb_status create(qb__convert_job *c, const qb_env *env) {
    const qb_scan_info *info = c->info;
    qb_stack *stack = &c->stack;
    *stack = (qb_stack){.dtype = QB_F32,
                        .shape = {info->views, info->rows, info->columns},
                        .voxel = {info->pixel_size, info->pixel_v, 0},
                        .units = c->options->thickness ? "mm" : "",
                        .quantity = qb_quantity_name(QB_LINE_INTEGRAL),
                        .description = c->options->thickness ? "quickbeam thickness" : "quickbeam line integrals",
                        .angles = info->angles,
                        .beam = info->beam,
                        .compress = c->options->compress,
                        .zarr = c->options->zarr};
    if (c->pairing) stack->shape[0] = qb__pairing_views(c->pairing), stack->shape[2] = qb__pairing_columns(c->pairing);
    if (c->options->array) {
        c->rest.images = stack->shape[0];
        return qb__tensor_create(c->options->array, stack, &c->rest.writer);
    }
    QB__OR_RETURN(qb__convert_axis(c, env, stack));
    if (info->beam == QB_BEAM_UNKNOWN && qb__mbirct_is_scan(c->options->output)) stack->beam = QB_BEAM_PARALLEL;
    const double column = stack->axis + ((double)info->columns - 1) / 2;
    if (c->pairing) stack->axis = qb__pairing_shift(c->pairing) + column - ((double)stack->shape[2] - 1) / 2;
    c->axis = !stack->axis_stated ? NAN : c->pairing ? qb__pairing_shift(c->pairing) + column : column;
    QB__OR_RETURN(qb__convert_mask(c, env, stack));
    QB__OR_RETURN(qb__rest_open(&c->rest, c->options, stack, qb__convert_tell, c, env));
    qb__convert_leave_angles(c, stack->shape[0], env);
    if (c->options->half_turn && !stack->axis_stated)
        qb__info(env, "the axis falls on column %.6g of %s", qb__pairing_shift(c->pairing) + qb__convert_asked_axis(c),
                 c->options->output);
    return QB_OK;
}

static void prepare_view(void *context, size_t task, int worker) {
    const qb__convert_job *c = context;
    const size_t pixels = c->info->rows * c->info->columns;
    float *lines = c->lines + task * pixels;
    qb__prepare_view(c->prepare, c->first + task, 0, c->info->rows,
                     c->raw + task * pixels * qb_dtype_size(c->info->dtype), lines, &c->counts[worker]);
    for (size_t i = 0; c->options->thickness && i < pixels; i++) lines[i] = (float)((double)lines[i] / c->mu);
}

static qb_status run(qb__convert_job *c, const qb_env *env) {
    const qb_scan_info *info = c->info;
    const size_t pixels = info->rows * info->columns;
    const int threads = qb__pool_threads(c->pool);
    QB__OR_RETURN(qb__alloc((size_t)threads, sizeof *c->counts, &c->counts));
    QB__OR_RETURN(qb__alloc(c->block, pixels * qb_dtype_size(info->dtype), &c->raw));
    QB__OR_RETURN(qb__alloc(c->block, pixels * sizeof(float), &c->lines));
    QB__OR_RETURN(qb__levels_tell(c->scan, c->prepare, c->prep, 0, info->rows, env));
    qb__prepare_recount(c->prepare);
    if (c->pairing)
        QB__OR_RETURN(qb__alloc(c->block, info->rows * qb__pairing_columns(c->pairing) * sizeof(float), &c->joined));
    for (size_t end; qb__rest_next(&c->rest, c->block, &c->first, &end); c->first = end) {
        QB__OR_RETURN(qb__check_cancel(env));
        QB__OR_RETURN(qb_scan_read(c->scan, c->first, end, 0, info->rows, c->raw));
        qb__pool_for(c->pool, end - c->first, prepare_view, c);
        if (c->pairing) QB__OR_RETURN(qb__pairing_views_of(c->pairing, c->first, end, c->lines, c->pool, c->joined));
        QB__OR_RETURN(qb__rest_write(&c->rest, c->first, end, c->joined ? c->joined : c->lines, env));
    }
    return qb__prepare_check(info->path, c->counts, threads);
}

static void release(qb__convert_job *c) {
    qb__rest_release(&c->rest);
    qb_geometry_destroy(&c->geometry);
    qb__pairing_destroy(c->pairing);
    qb__prepare_destroy(c->prepare);
    qb__phase_destroy(c->phase);
    QB__FREE(c->counts, c->raw, c->lines, c->joined, c->mask);
    cJSON_free(c->report);
    qb__pool_destroy(c->pool);
}

qb_status qb_convert(qb_scan *scan, const qb_prep_options *prep, const qb_convert_options *options, const char *command,
                     const qb_env *env) {
    char *report;
    const qb_status status = qb_convert_report(scan, prep, options, command, env, &report);
    cJSON_free(report);
    return status;
}

qb_status qb_convert_report(qb_scan *scan, const qb_prep_options *given_prep, const qb_convert_options *given,
                            const char *command, const qb_env *env, char **report) {
    QB__NEED(report);
    *report = NULL;
    QB__NEED(scan);
    QB__NEED(given);
    QB__CALL();
    qb_prep_options prep;
    qb_convert_options options;
    qb__convert_job c = {.scan = scan,
                         .given = scan,
                         .info = qb_scan_describe(scan),
                         .options = &options,
                         .prep = &prep,
                         .command = command,
                         .axis = NAN,
                         .rest.keep.journal.fd = -1};
    qb_status status;
    QB__TRY(qb__params_view(qb_prep_params, given_prep, &prep));
    QB__TRY(qb__params_view(qb_convert_params, given, &options));
    QB__TRY(qb__check_callback());
    QB__TRY(check(&c, env));
    QB__TRY(qb__thickness_of(options.thickness, c.info, &prep, &c.mu));
    if (qb__two_wanted(&prep)) {
        status = qb__fail(QB_UNSUPPORTED, "--hardening two: needs a volume: give it to the reconstruction, or "
                                          "spectrum:MATERIAL,KV here");
        goto out;
    }
    QB__TRY(qb__phase_create(scan, NULL, &prep, env, &c.phase));
    if (qb__device_is_asked(env) && !qb__phase_by(c.phase))
        status = qb__fail(QB_BAD_ARGUMENT,
                          "--device %s: qb convert computes on the CPU only, except --paganin; use auto or cpu",
                          env->device);
    if (status != QB_OK) goto out;
    c.scan = qb__phase_scan(c.phase, scan);
    c.info = qb_scan_describe(c.scan);
    QB__TRY(qb__pool_create(env ? env->threads : 0, &c.pool));
    QB__TRY(cut(&c, env));
    QB__TRY(qb__prepare_create(c.scan, &prep, &(qb__prepared){.row1 = c.info->rows, .step = 1}, env, &c.prepare));
    QB__TRY(qb__pairing_create(c.scan, c.prepare, &prep, &options, options.half_turn ? qb__convert_asked_axis(&c) : NAN,
                               env, &c.pairing));
    QB__TRY(qb__convert_find_geometry(&c, env));
    QB__TRY(create(&c, env));
    QB__TRY(run(&c, env));
    QB__TRY(qb__convert_finish(&c, env));
    if (status == QB_OK) *report = c.report, c.report = NULL;
out:
    release(&c);
    return status;
}
