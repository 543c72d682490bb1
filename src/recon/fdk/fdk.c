/* SPDX-License-Identifier: MIT */
#include "recon/fdk/fdk.h"

#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "io/scan.h"

static void destroy(qb_job *job) {
    qb__fdk *fdk = (qb__fdk *)job;
    qb_params_clear(qb_prep_params, &fdk->prep);
    qb_params_clear(qb_fdk_params, &fdk->options);
    qb_params_clear(qb_output_params, &fdk->output);
    qb__cone_weights_destroy(&fdk->weights);
    qb__filter_destroy(fdk->filter);
    qb__upright_destroy(&fdk->upright);
    qb__resampler_destroy(fdk->resampler);
    qb__free(fdk->window);
    qb__free(fdk->command);
    qb__free(fdk->matrix);
    qb__free(fdk->largest);
    qb__free(fdk);
}

static qb_status allocate(qb__fdk *fdk) {
    const qb_geometry *geometry = fdk->geometry;
    qb_status status;
    QB__TRY(qb__alloc((size_t)fdk->threads, sizeof *fdk->counts, &fdk->counts));
    QB__TRY(qb__alloc((size_t)fdk->threads, sizeof *fdk->scratch, &fdk->scratch));
    for (int i = 0; i < fdk->threads; i++)
        QB__TRY(qb__alloc(qb__fdk_scratch(fdk), 1, &fdk->scratch[i]));
    if (fdk->same_weights) {
        QB__TRY(qb__alloc(geometry->rows * geometry->columns, sizeof(float), &fdk->pixel_weights));
        qb__cone_pixel_weights(geometry, &fdk->weights, 0, 0, geometry->rows, fdk->pixel_weights);
    }
out:
    return status;
}

static void release(qb__fdk *fdk) {
    for (int i = 0; fdk->scratch && i < fdk->threads; i++) qb__free(fdk->scratch[i]);
    qb__free(fdk->scratch);
    qb__free(fdk->counts);
    qb__free(fdk->pixel_weights);
    qb__prepare_destroy(fdk->prepare);
    qb__volume_abort(&fdk->volume);
    fdk->scratch = NULL;
    fdk->counts = NULL;
    fdk->pixel_weights = NULL;
    fdk->prepare = NULL;
}

static qb_status run(qb_job *job, const qb_env *env) {
    qb__fdk *fdk = (qb__fdk *)job;
    qb__stage stages[QB__STAGES_MAX];
    qb__pipeline_report times;
    qb__pool *pool = NULL;
    qb_status status;
    QB__TRY(qb__prepare_create(fdk->scan, &fdk->prep, 0, fdk->info->rows, env, &fdk->prepare));
    QB__TRY(allocate(fdk));
    QB__TRY(qb__pool_create(fdk->threads, &pool));
    QB__TRY(qb__volume_open(&fdk->volume));
    int count = qb__fdk_stages(fdk, stages);
    QB__TRY(qb__pipeline_run(stages, count, fdk->slabs * fdk->blocks, fdk, pool, env, &times));
    QB__TRY(qb__prepare_check(fdk->info->path, fdk->counts, fdk->threads));
    qb__prepare_report(fdk->prepare, fdk->counts, fdk->threads, job->report, env);
    qb__report_stages(job->report, &times, fdk->threads);
    qb__volume_report(&fdk->volume, job->report, env);
    cJSON_AddStringToObject(job->report, "output", fdk->output.output);
    cJSON_AddStringToObject(job->report, "kernel", fdk->variant->id);
    char *provenance = qb__provenance(job, fdk->command, fdk->info->path);
    status = qb__volume_commit(&fdk->volume, provenance);
    cJSON_free(provenance);
out:
    qb__pool_destroy(pool);
    release(fdk);
    return status;
}

qb_status qb_fdk_plan(qb_scan *scan, const qb_geometry *geometry, const qb_prep_options *prep,
                      const qb_fdk_options *options, const qb_output_options *output,
                      const char *command, const qb_env *env, qb_job **job) {
    *job = NULL;
    qb__fdk *fdk;
    qb_status status = qb__alloc(1, sizeof *fdk, &fdk);
    if (status != QB_OK) return status;
    fdk->job.run = run;
    fdk->job.destroy = destroy;
    fdk->scan = scan;
    fdk->info = qb_scan_describe(scan);
    fdk->real = fdk->geometry = geometry;
    fdk->command = qb__strdup(command);
    if (command && !fdk->command) {
        status = qb__fail(QB_NO_MEMORY, "no memory for the command");
        goto out;
    }
    QB__TRY(qb_params_copy(qb_prep_params, prep, &fdk->prep));
    QB__TRY(qb_params_copy(qb_fdk_params, options, &fdk->options));
    QB__TRY(qb__output_take(output, &fdk->output));
    fdk->job.inputs.also[0] = &scan->inputs;
    fdk->job.inputs.also[1] = geometry->read_from;
    qb__inputs_begin(&fdk->job.inputs);
    status = qb__fdk_decide(fdk, env);
    qb__inputs_end(&fdk->job.inputs);
    if (status == QB_OK) status = qb__volume_spare(&fdk->volume, &fdk->job.inputs, env);
out:
    if (status != QB_OK) {
        qb_job_destroy(&fdk->job);
        return status;
    }
    *job = &fdk->job;
    return QB_OK;
}
