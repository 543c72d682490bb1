/* SPDX-License-Identifier: MIT */
/* Resuming a run of the same job that was killed or failed: what identifies the job, and the remaining chunks. */
#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "io/writer.h"
#include "job/job.h"
#include "quickbeam/version.h"
#include "recon/reconstruction_parts.h"

/* ---- possibility ---- */

qb_status qb__keep_check(qb__reconstruction *r) {
    const qb__decision *d = &r->decision;
    const char *why = NULL;
    if (r->output.array)
        why = "it goes on from files next to the output: give -o OUT";
    else if (!r->job.inputs.also[0] || !r->job.inputs.also[0]->count)
        why = "what is read is no file, which nothing tells from another one";
    else
        why = qb__writer_for_good(r->output.output, &r->volume.stack);
    r->volume.keep = (qb__keep){.resume = d->resume, .every = why ? 0 : d->checkpoint, .journal.fd = -1};
    if (!d->resume) return QB_OK;
    if (!why && qb__observed(&r->output))
        why = "a picture is of slices that a run sees: leave --preview and --report away";
    if (why) return qb__fail(QB_BAD_ARGUMENT, "--resume: %s", why);
    return qb__hash_for_resume();
}

/* ---- identity of the job ---- */

static void add_output(cJSON *json, const qb__reconstruction *r) {
    const qb_stack *s = &r->volume.stack;
    const char *slash = strrchr(r->output.output, '/');
    cJSON_AddStringToObject(json, "output", slash && slash[1] ? slash + 1 : r->output.output);
    cJSON_AddStringToObject(json, "dtype", qb_dtype_name(s->dtype));
    cJSON_AddNumberToObject(json, "range_low", r->volume.low);
    cJSON_AddNumberToObject(json, "range_high", r->volume.high);
    cJSON_AddItemToObject(json, "clip", cJSON_CreateDoubleArray(r->output.clip.value, r->output.clip.count));
    if (r->output.denoise) cJSON_AddStringToObject(json, "denoise", r->output.denoise);
    cJSON_AddNumberToObject(json, "first_slice", (double)s->first);
    cJSON_AddNumberToObject(json, "slices", (double)s->shape[0]);
    cJSON_AddNumberToObject(json, "size_y", (double)s->shape[1]);
    cJSON_AddNumberToObject(json, "size_x", (double)s->shape[2]);
    cJSON_AddNumberToObject(json, "voxel_mm", s->voxel[0]);
    cJSON_AddNumberToObject(json, "parts", (double)s->parts);
    cJSON_AddStringToObject(json, "compress", s->compress ? s->compress : "none");
    cJSON_AddNumberToObject(json, "zarr", (double)s->zarr);
}

/* Add a hash of the positions of rays and voxels, and the numbers that users know, for the message of a refusal. */
static void add_layout(cJSON *json, const qb__job_facts *facts) {
    qb_geometry_info info = {.struct_size = sizeof info};
    if (facts->geometry && qb_geometry_describe(facts->geometry, &info) == QB_OK) {
        const struct {
            const char *name;
            double value;
        } numbers[] = {{"sod_mm", info.sod},
                       {"sdd_mm", info.sdd},
                       {"pixel_u_mm", info.pixel_u},
                       {"pixel_v_mm", info.pixel_v},
                       {"offset_u_mm", info.offset_u},
                       {"offset_v_mm", info.offset_v},
                       {"detector_radius_mm", facts->geometry->radius}};
        for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
            cJSON_AddNumberToObject(json, numbers[i].name, round(numbers[i].value * 1e6) / 1e6 + 0.0);
    }
    qb__job_add_hash(json, "rays_and_voxels", facts->layout);
}

/* The processor, and the division of views among columns of ranks, change bits; threads, cuts and rows of ranks do
 * not. */
static qb_status tell_job(void *self, char **text) {
    static const char *const free_to_change[] = {"resume", "checkpoint", "grid", "cluster", "nodes", "gpus-per-node"};
    qb__reconstruction *r = self;
    qb__engines_find_facts(r);
    const qb__job_facts *facts = &r->pick.facts;
    const char *engine = qb__engine_name(qb__chosen(r)->engine), *device = "cpu", *filter = engine;
    if (facts->pick) device = qb__device_info_of(facts->pick->device)->name;
    if (facts->filter_device && strcmp(facts->filter_device, "cpu") == 0)
        filter = "cpu"; /* else a device filters; its number does not matter */
    cJSON *json = cJSON_CreateObject();
    cJSON_AddStringToObject(json, "version", qb_version());
    cJSON_AddStringToObject(json, "verb", r->method->verb);
    qb__describe_options(json, r->method->params, r->options);
    cJSON *options = qb__describe_options(json, qb_prep_params, &r->prep);
    for (size_t i = 0; i < sizeof free_to_change / sizeof *free_to_change; i++)
        cJSON_DeleteItemFromObject(options, free_to_change[i]);
    add_output(json, r);
    const qb_status status = qb__job_add_input(json, r->task.scan, r->task.input, &r->job.inputs);
    add_layout(json, facts);
    cJSON_AddStringToObject(json, "engine", engine);
    cJSON_AddStringToObject(json, "device", device);
    cJSON_AddStringToObject(json, "kernel", facts->kernel->id);
    if (facts->pick) /* a new tuning file may choose others */
        cJSON_AddItemToObject(json, "kernel_parameters",
                              qb__parameters_json(facts->kernel, facts->pick->choice.values));
    cJSON_AddStringToObject(json, "filtered_by", filter);
    if (qb__phase_by(r->phase)) cJSON_AddStringToObject(json, "phase_by", qb__phase_by(r->phase));
    cJSON_AddNumberToObject(json, "columns_of_ranks", r->share.ranks ? r->share.ranks->columns : 1);
    if (status == QB_OK) return qb__json_text(json, "a checkpoint's job", text);
    cJSON_Delete(json);
    return status;
}

void qb__keep_begin(qb__reconstruction *r) {
    r->volume.keep.tell = tell_job;
    r->volume.keep.self = r;
    r->volume.keep.path = r->output.output;
    r->volume.keep.images = r->volume.stack.shape[0];
}

/* ---- remaining chunks ---- */

qb_status qb__keep_skip_done(qb__reconstruction *r, const qb_env *env) {
    qb__volume_out *out = &r->volume;
    const size_t slabs = r->pick.cut.slabs;
    const qb__chunk *chunk = out->chunks->chunk, *end = chunk + out->chunks->count;
    uint64_t *lacks = NULL;
    size_t left = 0;
    if (!out->keep.done) return QB_OK;
    qb_status status = qb__keep_still(&out->keep);
    qb__free(r->pick.todo);
    r->pick.todo = NULL;
    if (status == QB_OK) status = qb__alloc(slabs, sizeof *lacks, &lacks);
    if (status == QB_OK) status = qb__alloc(slabs, sizeof *r->pick.todo, &r->pick.todo);
    for (const qb__chunk *c = chunk; status == QB_OK && c < end; c++)
        for (const qb__run *run = c->images.of; run < c->images.of + 2; run++)
            lacks[c->slab] |= !qb__keep_has(&out->keep, run->first, run->end);
    /* Ranks of a grid make their slabs together: a slab that one of them lacks is made by all. */
    if (r->share.ranks) status = qb__comm_sum(r->comm, status, lacks, slabs);
    for (const qb__chunk *c = chunk; status == QB_OK && c < end; c++) {
        if (lacks[c->slab] && (c == chunk || c[-1].slab != c->slab)) r->pick.todo[left++] = c->slab;
        for (const qb__run *run = c->images.of; !lacks[c->slab] && run < c->images.of + 2; run++)
            qb__writer_count(out->writer, run->first, run->end);
    }
    qb__free(lacks);
    if (status != QB_OK) return status;
    qb__pipeline_only(r->line, slabs, r->pick.todo, left);
    cJSON_AddNumberToObject(r->job.report, "slabs_resumed", (double)(slabs - left));
    qb__info(env, "%zu of %zu slabs are taken from %s", slabs - left, slabs, out->keep.folder);
    return QB_OK;
}
