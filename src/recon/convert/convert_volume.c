/* SPDX-License-Identifier: MIT */
/* qb convert of a volume: writes it to a file of another kind, some images at a time. Values are copied as stored, or
 * converted to another type. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/fork.h"
#include "base/inputs.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/params.h"
#include "base/status.h"
#include "base/warning.h"
#include "io/formats.h"
#include "io/publish/outputs.h"
#include "job/job.h"
#include "recon/convert/conversion.h"

typedef struct conversion {
    const char *path, *command;
    const qb_convert_options *options;
    qb__source *source;
    qb__inputs inputs;
    qb_stack stack;
    qb__revalue revalue;
    qb__rest rest;
    size_t block; /* images at a time */
    char *images;
    char *before; /* provenance of the input; NULL: the input has none */
} conversion;

static qb_status check(conversion *c, const qb_env *env) {
    const qb_convert_options *o = c->options;
    if (!o->output || !*o->output) return qb__fail(QB_BAD_ARGUMENT, "--output: where to write to");
    if (o->array || o->center || o->stitch || o->half_turn || o->thickness)
        return qb__fail(QB_BAD_ARGUMENT,
                        "%s is a volume: --center, --stitch, --half-turn and --thickness are for scans", c->path);
    const qb__output outputs[] = {{.path = o->output, .images = c->stack.shape[0]}};
    return qb__outputs_check(outputs, 1, &c->inputs, env);
}

static void describe(conversion *c) {
    const qb__source *s = c->source;
    c->stack = (qb_stack){.dtype = s->dtype,
                          .shape = {s->shape[0], s->shape[1], s->shape[2]},
                          .voxel = {s->voxel[0], s->voxel[1], s->voxel[2]},
                          .offset = {s->offset[0], s->offset[1], s->offset[2]},
                          .units = s->units,
                          .quantity = *s->quantity ? s->quantity : "volume",
                          .scale_low = s->scale[0],
                          .scale_high = s->scale[1],
                          .description = "quickbeam volume",
                          .compress = c->options->compress,
                          .zarr = c->options->zarr,
                          .z_down = s->z_down};
}

/* The number of images read at a time: whole chunks of the source, as many as --max-ram allows, up to the number where
 * more images are no longer faster. */
static qb_status cut(conversion *c, const qb_env *env) {
    enum { AMPLE = 256 << 20, SPARE = 32 << 20 };
    const qb__source *s = c->source;
    const size_t image = s->shape[1] * qb__source_row_bytes(s) + qb__revalue_bytes(&c->revalue),
                 cap = qb__memory_cap(env);
    const size_t held = qb__source_held(s) + SPARE, each = s->chunk[0] > 1 ? s->chunk[0] : 1;
    if (held > cap || image > cap - held)
        return qb__fail_ram(env, (double)cap, (double)held + (double)image, "even one image at a time needs");
    const size_t fit = qb__smaller((cap - held) / 2, AMPLE) / image;
    c->block = fit >= each ? fit - fit % each : qb__larger(fit, 1);
    c->block = qb__smaller(c->block, s->shape[0]);
    const size_t gap = 64; /* bytes between stored and converted images */
    return qb__alloc(c->block * image + gap, 1, &c->images);
}

/* The type and the range of the output. */
static qb_status set_values(conversion *c, const qb_env *env) {
    qb__revalue *r = &c->revalue;
    const qb_status status = qb__revalue_range(r, c->source, c->block, c->images, env);
    if (!r->used) return status;
    c->stack.dtype = r->to;
    const bool whole = !qb_dtype_is_float(r->to);
    c->stack.scale_low = whole ? r->low : 0, c->stack.scale_high = whole ? r->high : 0;
    return status;
}

/* The job fingerprint: a later run resumes only if the input files and the output are the same. */
static qb_status tell(void *self, char **job) {
    const conversion *c = self;
    cJSON *json = cJSON_CreateObject();
    qb__job_add_files(json, c->path, &c->inputs);
    cJSON_AddStringToObject(json, "compress", c->options->compress ? c->options->compress : "none");
    cJSON_AddNumberToObject(json, "zarr", c->options->zarr);
    cJSON_AddStringToObject(json, "dtype", qb_dtype_name(c->stack.dtype));
    cJSON_AddNumberToObject(json, "range_low", c->stack.scale_low);
    cJSON_AddNumberToObject(json, "range_high", c->stack.scale_high);
    return qb__json_text(json, "what is converted", job);
}

static qb_status run(conversion *c, const qb_env *env) {
    for (size_t first = 0, end; qb__rest_next(&c->rest, c->block, &first, &end); first = end) {
        QB__OR_RETURN(qb__check_cancel(env));
        const qb__region region = {first, end - first, 1, 0, c->stack.shape[1]};
        QB__OR_RETURN(qb__source_check_holes(c->source, NULL, first, end - first, 1));
        QB__OR_RETURN(c->source->read(c->source, &region, c->images));
        const void *made;
        QB__OR_RETURN(qb__revalue_images(&c->revalue, c->source->threads, end - first, c->images, &made));
        QB__OR_RETURN(qb__rest_write(&c->rest, first, end, made, env));
    }
    return QB_OK;
}

static qb_status finish(conversion *c) {
    qb__json_forget();
    cJSON *root = qb__provenance_begin(c->command ? c->command : "");
    cJSON_AddItemToObject(root, "inputs", qb__inputs_list(&c->inputs));
    cJSON_AddStringToObject(root, "converted_from", c->source->format);
    cJSON *before = c->before ? cJSON_Parse(c->before) : NULL;
    if (before) cJSON_AddItemToObject(root, "provenance_of_input", before);
    char *text = NULL;
    QB__OR_RETURN(qb__json_text(root, "the provenance", &text));
    qb_status status = qb__rest_finish(&c->rest, text);
    cJSON_free(text);
    return status;
}

/* ---- what the other kind of file does not hold ---- */

static bool differ(const double a[3], const double b[3], double unit) {
    for (int i = 0; i < 3; i++)
        if (!(fabs(a[i] - b[i]) <= 1e-5 * fmax(fabs(a[i]), unit))) return true;
    return false;
}

/* Read the output file back, and report which texts of the input it does not hold. */
static qb_status find_lost(const conversion *c, cJSON *lost) {
    const qb__source *a = c->source;
    qb__source *b;
    char *made = NULL;
    if (qb__is_nothing(c->options->output)) return QB_OK;
    QB__OR_RETURN(qb__source_open(c->options->output, NULL, &b));
    const bool sized = a->voxel[0] > 0;
    const double low = c->stack.scale_low, high = c->stack.scale_high;
    const double range[2][3] = {{low, high, 0}, {b->scale[0], b->scale[1], 0}};
    const struct {
        const char *name;
        bool gone;
    } facts[] = {{"voxel size", sized && differ(a->voxel, b->voxel, 0)},
                 {"offset of the middle", sized && differ(a->offset, b->offset, a->voxel[0])},
                 {"quantity", *a->quantity && strcmp(a->quantity, b->quantity) != 0},
                 {"units", *a->units && strcmp(a->units, b->units) != 0},
                 {"range of the integers", high > low && differ(range[0], range[1], 0)},
                 {"directions of the axes", a->turned && !b->turned}};
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        if (facts[i].gone) cJSON_AddItemToArray(lost, cJSON_CreateString(facts[i].name));
    qb__source_close(b);
    qb_status status = qb_provenance_load(c->options->output, &made);
    if (status == QB_OK && !made) cJSON_AddItemToArray(lost, cJSON_CreateString("provenance"));
    qb_text_free(made);
    return status;
}

static void say_lost(const conversion *c, const cJSON *lost, const qb_env *env) {
    char text[256] = "";
    size_t n = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, lost) n +=
        (size_t)snprintf(text + n, sizeof text - n, "%s%s", n ? ", " : "", cJSON_GetStringValue(item));
    if (n) qb__info(env, "%s does not hold: %s", c->options->output, text);
}

static qb_status report_on(const conversion *c, const qb_env *env, char **report) {
    cJSON *root = cJSON_CreateObject(), *lost = cJSON_AddArrayToObject(root, "lost");
    qb_status status = find_lost(c, lost);
    say_lost(c, lost, env);
    qb__revalue_report(&c->revalue, root, env);
    cJSON_AddStringToObject(root, "output", c->options->output);
    cJSON_AddNumberToObject(root, "images", (double)c->stack.shape[0]);
    cJSON_AddNumberToObject(root, "images_resumed", (double)c->rest.resumed);
    if (status == QB_OK) return qb__json_text(root, "the report", report);
    cJSON_Delete(root);
    return status;
}

static void release(conversion *c) {
    qb__rest_release(&c->rest);
    qb__source_close(c->source);
    qb__inputs_release(&c->inputs);
    qb__free(c->images);
    qb_text_free(c->before);
}

static qb_status open_input(conversion *c, const char *dataset, const qb_env *env) {
    qb__inputs_begin(&c->inputs);
    qb_status status = qb__source_open(c->path, dataset, &c->source);
    qb__inputs_end(&c->inputs);
    if (status == QB_OK) status = qb_provenance_load(c->path, &c->before);
    if (status == QB_BAD_INPUT && c->source) {
        qb__warn(env, "%s: %s: it is left out" QB__CODE("metadata-unusable"), c->path, qb_detail());
        status = QB_OK;
    }
    if (status != QB_OK) return status;
    if (*c->source->trouble) qb__warn(env, "%s: %s", c->path, c->source->trouble);
    qb__source_limit(c->source, env);
    return QB_OK;
}

qb_status qb_convert_volume(const char *path, const char *dataset, const qb_convert_options *given, const char *command,
                            const qb_env *env, char **report) {
    QB__NEED(report);
    *report = NULL;
    QB__NEED(path);
    QB__NEED(given);
    QB__CALL();
    qb_convert_options options;
    conversion c = {.path = path, .command = command, .options = &options, .rest.keep.journal.fd = -1};
    qb_status status;
    QB__TRY(qb__params_view(qb_convert_params, given, &options));
    QB__TRY(open_input(&c, dataset, env));
    describe(&c);
    QB__TRY(check(&c, env));
    QB__TRY(qb__revalue_begin(&options, c.source, &c.revalue));
    QB__TRY(cut(&c, env));
    QB__TRY(set_values(&c, env));
    QB__TRY(qb__rest_open(&c.rest, &options, &c.stack, tell, &c, env));
    QB__TRY(run(&c, env));
    QB__TRY(finish(&c));
    status = report_on(&c, env, report);
out:
    release(&c);
    return status;
}
