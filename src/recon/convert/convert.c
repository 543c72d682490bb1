/* SPDX-License-Identifier: MIT */
/* qb convert of a scan: writes the line integrals to a file of another kind or to an array, some views at a time. */
#include <math.h>
#include <string.h>

#include "base/json.h"
#include "base/fork.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/params.h"
#include "base/pool.h"
#include "base/status.h"
#include "io/geometry/geometry_file.h"
#include "io/mbirct/mbirct.h"
#include "io/publish/outputs.h"
#include "io/scan/scan.h"
#include "io/tensor/tensor_stack.h"
#include "io/writer.h"
#include "job/budget.h"
#include "job/job.h"
#include "job/describe.h"
#include "job/job_input.h"
#include "prep/levels_said.h"
#include "planner/device_select.h"
#include "prep/phase.h"
#include "prep/two_materials.h"
#include "prep/prepare.h"
#include "prep/warp.h"
#include "quickbeam/recon.h"
#include "recon/convert/pairing.h"
#include "recon/convert/rest.h"
#include "recon/convert/thickness.h"

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

typedef struct conversion {
    qb_scan *scan, *given; /* with the phase retrieved; as the caller gave it */
    const qb_scan_info *info;
    const qb_convert_options *options;
    const qb_prep_options *prep;
    const char *command;
    qb__pool *pool;
    qb__prepare *prepare;
    qb__phase *phase;        /* NULL: no phase retrieval */
    qb__prep_counts *counts; /* [thread] */
    qb__rest rest;
    qb_stack stack;      /* the output */
    size_t block, first; /* number of views at a time; first view of the current block */
    char *raw;
    float *lines; /* [view][row][column] */
    /* attenuation in 1/mm of the material whose thickness is written; 1: line integrals are written */
    double mu;
    qb__pairing *pairing; /* NULL: views are written as they are */
    float *joined;        /* [view][row][column] output of the pairing */
    qb_geometry geometry; /* of a scan that states its geometry; views 0: it states none */
    double axis;          /* column of the axis that the output file states; NAN: it states none */
    char *report;
} conversion;

static qb_detector detector_of(const qb_scan_info *info) {
    return (qb_detector){
        .rows = info->rows, .columns = info->columns, .pixel_u = info->pixel_size, .pixel_v = info->pixel_v};
}

/* Whether the scan states a circle for the images as they are read. */
static bool is_circle(const qb_scan_info *info) {
    const bool moved = info->image && isfinite(info->detector_offset[0]); /* the offset is that of the whole detector */
    return info->sod > 0 && !info->geometry_from && !moved && info->angles && info->pixel_size > 0;
}

static void keep_geometry(const conversion *c, cJSON *provenance) {
    const qb_scan_info *info = c->info;
    const qb_detector detector = detector_of(info);
    const qb__kept_circle circle = {.sod = info->sod,
                                    .sdd = info->sdd,
                                    .offset = {info->detector_offset[0], info->detector_offset[1]},
                                    .tilt = {info->detector_tilt, info->detector_lean},
                                    .rows_down = info->rows_down};
    if (c->geometry.views)
        qb__geometry_keep(&c->geometry, provenance);
    else if (!c->pairing && is_circle(info))
        qb__circle_keep(&circle, &detector, info->views, info->angles, provenance);
}

/* The output's format does not state the axis: keep it out of the file, and tell the user to pass it on. */
static qb_status leave_axis(const conversion *c, const qb_env *env) {
    const char *output = c->options->output;
    if (c->options->half_turn) return QB_OK; /* pairing.c needs the axis and says so */
    if (c->options->center)
        return qb__fail(QB_BAD_ARGUMENT,
                        "--center: a file like %s does not state its axis, BASE.sinoparams and .h5 do; give it to what "
                        "reads this one",
                        output);
    if (isfinite(c->info->center))
        qb__info(env, "%s will not state its axis, which falls on column %g", output, c->info->center);
    return QB_OK;
}

/* The file does not state the angles: tell the user how to pass them to the program that reads it. */
static void leave_angles(const conversion *c, size_t views, const qb_env *env) {
    const qb_scan_info *info = c->info;
    const double degrees = 57.29577951308232, first = info->angles[0] * degrees,
                 last = info->angles[views - 1] * degrees, step = views > 1 ? (last - first) / (double)(views - 1) : 0;
    double off = 0;
    if (c->rest.writer->kind->keeps_angles || c->geometry.views || (!c->pairing && is_circle(info))) return;
    for (size_t i = 0; i < views; i++) off = fmax(off, fabs(info->angles[i] * degrees - first - (double)i * step));
    if (step != 0 && off < 1e-3 * fabs(step))
        qb__info(env, "%s keeps no angles: give --angles %.6g:%.6g:%zu to what reads it", c->options->output, first,
                 last + step, views);
    else
        qb__info(env, "%s keeps no angles: give those of %s to what reads it, as --angles FILE", c->options->output,
                 info->path);
}

/* The axis without --center. An axis of the input is kept if the input holds it for certain, or if the output is for
 * sv-mbirct, whose readers do not search for the axis. Otherwise the output leaves it out. */
static const char *usual_axis(const conversion *c, const qb_env *env) {
    const qb_scan_info *info = c->info;
    const bool known = isfinite(info->center);
    if (known && (info->center_holds || qb__mbirct_is_scan(c->options->output))) return "stated";
    if (known)
        qb__info(env,
                 "%s states an axis at column %g, which may be an estimate: %s will not (--center stated: it will)",
                 info->path, info->center, c->options->output);
    if (!qb__mbirct_is_scan(c->options->output)) return NULL;
    qb__info(env, "%s does not state its axis: taken to be the middle column, %g", info->path,
             ((double)info->columns - 1) / 2);
    return "middle";
}

/* Find the axis, as columns from the middle of the detector. */
static qb_status find_axis(const conversion *c, const qb_env *env, qb_stack *stack) {
    const qb_scan_info *info = c->info;
    const double last = (double)info->columns - 1, middle = last / 2;
    const char *text = c->options->center;
    char *end;
    stack->axis = NAN;
    if (!qb__writer_keeps_axis(c->options->output)) return leave_axis(c, env);
    if (info->beam == QB_BEAM_CONE && text)
        return qb__fail(QB_BAD_ARGUMENT, "--center %s: %s is of a cone beam, whose geometry says where the axis is",
                        text, info->path);
    if (info->beam == QB_BEAM_CONE) return QB_OK;
    if (!text) text = usual_axis(c, env);
    if (!text) return QB_OK;
    stack->axis_stated = true;
    if (strcmp(text, "stated") == 0 && !isfinite(info->center))
        return qb__fail(QB_BAD_INPUT, "%s does not state its axis: give --center COLUMN (qb center finds it)",
                        info->path);
    if (strcmp(text, "middle") == 0 || strcmp(text, "stated") == 0) {
        stack->axis = *text == 's' ? qb__column_read(info, info->center) - middle : 0;
        return QB_OK;
    }
    const double column = qb__strtod(text, &end);
    stack->axis = qb__column_read(info, column) - middle;
    if (end == text || *end || !isfinite(column))
        return qb__fail(QB_BAD_ARGUMENT, "--center %s: a column, stated or middle", text);
    if (fabs(stack->axis) <= middle) return QB_OK;
    return qb__fail(QB_BAD_ARGUMENT, "--center %s lies outside the detector's columns %g..%g", text,
                    qb__column_whole(info, 0), qb__column_whole(info, last));
}

/* Column about which --half-turn pairs the views, on the detector as read; NAN: none is given. */
static double asked_axis(const conversion *c) {
    const char *text = c->options->center;
    const double last = (double)c->info->columns - 1;
    char *end;
    if (!text) return c->info->center_holds ? qb__column_read(c->info, c->info->center) : NAN;
    if (strcmp(text, "middle") == 0) return last / 2;
    const double column =
        qb__column_read(c->info, strcmp(text, "stated") == 0 ? c->info->center : qb__strtod(text, &end));
    return column >= 0 && column <= last ? column : NAN;
}

static qb_status check(const conversion *c, const qb_env *env) {
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
static qb_status cut(conversion *c, const qb_env *env) {
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

/* The job fingerprint: a later run resumes only if what is read, done and written is the same. */
static qb_status tell(void *self, char **job) {
    const conversion *c = self;
    const qb_stack *s = &c->stack;
    const qb__inputs files = {.also = {&c->given->inputs, c->pairing ? qb__pairing_inputs(c->pairing) : NULL}};
    cJSON *json = cJSON_CreateObject(), *options = qb__describe_options(json, qb_convert_params, c->options);
    qb__describe_options(json, qb_prep_params, c->prep);
    cJSON_DeleteItemFromObject(options, "resume");
    cJSON_DeleteItemFromObject(options, "checkpoint");
    const double shape[] = {(double)s->shape[0], (double)s->shape[1], (double)s->shape[2]};
    cJSON_AddItemToObject(json, "shape", cJSON_CreateDoubleArray(shape, 3));
    cJSON_AddNumberToObject(json, "pixel_mm", s->voxel[0]);
    cJSON_AddNumberToObject(json, "pixel_v_mm", s->voxel[1]);
    if (s->axis_stated) cJSON_AddNumberToObject(json, "axis", s->axis);
    if (qb__warp_wanted(c->scan)) cJSON_AddStringToObject(json, "resampled", qb__warp_text(c->scan));
    if (qb__phase_by(c->phase)) cJSON_AddStringToObject(json, "phase_by", qb__phase_by(c->phase));
    const qb_status status = qb__job_add_input(json, c->given, c->info->path, &files);
    if (status == QB_OK) return qb__json_text(json, "what is converted", job);
    cJSON_Delete(json);
    return status;
}

/* A cone beam's geometry goes with its images: into the provenance, where every reader of this library finds it. */
static qb_status find_geometry(conversion *c, const qb_env *env) {
    const qb_scan_info *info = c->info;
    const qb_detector detector = detector_of(info);
    if (c->pairing || is_circle(info) || !(info->geometry_from || info->sod > 0)) return QB_OK;
    return qb_scan_geometry(info, NULL, &detector, env, &c->geometry);
}

static qb_status create(conversion *c, const qb_env *env) {
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
    qb_status status;
    if (c->pairing) stack->shape[0] = qb__pairing_views(c->pairing), stack->shape[2] = qb__pairing_columns(c->pairing);
    if (c->options->array) {
        c->rest.images = stack->shape[0];
        return qb__tensor_create(c->options->array, stack, &c->rest.writer);
    }
    QB__TRY(find_axis(c, env, stack));
    if (info->beam == QB_BEAM_UNKNOWN && qb__mbirct_is_scan(c->options->output)) stack->beam = QB_BEAM_PARALLEL;
    const double column = stack->axis + ((double)info->columns - 1) / 2;
    if (c->pairing) stack->axis = qb__pairing_shift(c->pairing) + column - ((double)stack->shape[2] - 1) / 2;
    c->axis = !stack->axis_stated ? NAN : c->pairing ? qb__pairing_shift(c->pairing) + column : column;
    QB__TRY(qb__rest_open(&c->rest, c->options, stack, tell, c, env));
    leave_angles(c, stack->shape[0], env);
    if (c->options->half_turn && !stack->axis_stated)
        qb__info(env, "the axis falls on column %.6g of %s", qb__pairing_shift(c->pairing) + asked_axis(c),
                 c->options->output);
out:
    return status;
}

static void prepare_view(void *context, size_t task, int worker) {
    const conversion *c = context;
    const size_t pixels = c->info->rows * c->info->columns;
    float *lines = c->lines + task * pixels;
    qb__prepare_view(c->prepare, c->first + task, 0, c->info->rows,
                     c->raw + task * pixels * qb_dtype_size(c->info->dtype), lines, &c->counts[worker]);
    for (size_t i = 0; c->options->thickness && i < pixels; i++) lines[i] = (float)((double)lines[i] / c->mu);
}

static qb_status run(conversion *c, const qb_env *env) {
    const qb_scan_info *info = c->info;
    const size_t pixels = info->rows * info->columns;
    const int threads = qb__pool_threads(c->pool);
    qb_status status;
    QB__TRY(qb__alloc((size_t)threads, sizeof *c->counts, &c->counts));
    QB__TRY(qb__alloc(c->block, pixels * qb_dtype_size(info->dtype), &c->raw));
    QB__TRY(qb__alloc(c->block, pixels * sizeof(float), &c->lines));
    QB__TRY(qb__levels_tell(c->scan, c->prepare, c->prep, 0, info->rows, env));
    qb__prepare_recount(c->prepare);
    if (c->pairing)
        QB__TRY(qb__alloc(c->block, info->rows * qb__pairing_columns(c->pairing) * sizeof(float), &c->joined));
    for (size_t end; qb__rest_next(&c->rest, c->block, &c->first, &end); c->first = end) {
        QB__TRY(qb__check_cancel(env));
        QB__TRY(qb_scan_read(c->scan, c->first, end, 0, info->rows, c->raw));
        qb__pool_for(c->pool, end - c->first, prepare_view, c);
        if (c->pairing) QB__TRY(qb__pairing_views_of(c->pairing, c->first, end, c->lines, c->pool, c->joined));
        QB__TRY(qb__rest_write(&c->rest, c->first, end, c->joined ? c->joined : c->lines, env));
    }
    QB__TRY(qb__prepare_check(info->path, c->counts, threads));
out:
    return status;
}

/* Write the provenance: what was done to the values, and the command that repeats it. */
static qb_status finish(conversion *c, const qb_env *env) {
    qb__json_forget();
    cJSON *root = qb__provenance_begin(c->command ? c->command : "");
    cJSON_AddItemToObject(root, "inputs", qb__inputs_list(&c->scan->inputs));
    cJSON_AddNumberToObject(root, "views", (double)c->info->views);
    if (c->options->thickness) cJSON_AddNumberToObject(root, "thickness_mu", c->mu);
    if (qb__warp_wanted(c->scan)) cJSON_AddStringToObject(root, "resampled", qb__warp_text(c->scan));
    if (c->pairing) cJSON_AddStringToObject(root, "joined", qb__pairing_text(c->pairing));
    if (c->pairing && qb__pairing_inputs(c->pairing))
        cJSON_AddItemToObject(root, "joined_inputs", qb__inputs_list(qb__pairing_inputs(c->pairing)));
    if (c->info->image) cJSON_AddStringToObject(root, "images", c->info->image);
    keep_geometry(c, root);
    const cJSON *prepared = qb__prepare_report(c->prepare, c->counts, qb__pool_threads(c->pool), root, env);
    if (qb__phase_text(c->phase)) cJSON_AddStringToObject(root, "phase_retrieval", qb__phase_text(c->phase));
    if (qb__phase_by(c->phase)) cJSON_AddStringToObject(root, "phase_by", qb__phase_by(c->phase));
    if (qb__phase_scatter(c->phase)) cJSON_AddStringToObject(root, "scatter", qb__phase_scatter(c->phase));
    qb__scan_add_findings(c->scan, root);
    cJSON *told = cJSON_CreateObject();
    qb__scan_add_findings(c->scan, told);
    if (c->options->output) cJSON_AddStringToObject(told, "output", c->options->output);
    cJSON_AddNumberToObject(told, "views", (double)c->rest.images);
    cJSON_AddNumberToObject(told, "images_resumed", (double)c->rest.resumed);
    if (c->pairing) cJSON_AddStringToObject(told, "joined", qb__pairing_text(c->pairing));
    if (isfinite(c->axis)) cJSON_AddNumberToObject(told, "column", c->axis);
    if (c->options->thickness) cJSON_AddNumberToObject(told, "thickness_mu", c->mu);
    cJSON_AddItemToObject(told, "preparation", cJSON_Duplicate(prepared, true));
    char *text = NULL;
    qb_status status = qb__json_text(told, "the report", &c->report);
    if (status != QB_OK) cJSON_Delete(root);
    if (status == QB_OK) status = qb__json_text(root, "the provenance", &text);
    if (status != QB_OK) return status;
    status = qb__rest_finish(&c->rest, text);
    cJSON_free(text);
    return status;
}

static void release(conversion *c) {
    qb__rest_release(&c->rest);
    qb_geometry_destroy(&c->geometry);
    qb__pairing_destroy(c->pairing);
    qb__prepare_destroy(c->prepare);
    qb__phase_destroy(c->phase);
    qb__free(c->counts);
    qb__free(c->raw);
    qb__free(c->lines);
    qb__free(c->joined);
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
    conversion c = {.scan = scan,
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
    QB__TRY(qb__pairing_create(c.scan, c.prepare, &prep, &options, options.half_turn ? asked_axis(&c) : NAN, env,
                               &c.pairing));
    QB__TRY(find_geometry(&c, env));
    QB__TRY(create(&c, env));
    QB__TRY(run(&c, env));
    QB__TRY(finish(&c, env));
    if (status == QB_OK) *report = c.report, c.report = NULL;
out:
    release(&c);
    return status;
}
