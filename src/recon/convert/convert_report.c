/* SPDX-License-Identifier: MIT */
/* What the output of qb convert says of how it was made. */
#include <math.h>

#include "job/job.h"
#include "prep/warp.h"
#include "recon/convert/conversion.h"

qb_status qb__convert_tell(void *self, char **job) {
    const qb__convert_job *c = self;
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

qb_status qb__convert_finish(qb__convert_job *c, const qb_env *env) {
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
    qb__convert_keep_geometry(c, root);
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
