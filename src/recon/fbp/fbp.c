/* SPDX-License-Identifier: MIT */
/* Filtered back-projection: decide everything (qb_fbp_plan), then do it (run). */
#include "recon/fbp/fbp.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/sort.h"
#include "base/status.h"
#include "geometry/grid.h"
#include "geometry/parallel.h"
#include "io/scan.h"
#include "planner/backproject.h"
#include "recon/fbp/fbp_device.h"
#include "recon/fbp/fbp_plan.h"

static void destroy(qb_job *job) {
    qb__fbp *fbp = (qb__fbp *)job;
    qb__fbp_device_destroy(fbp);
    qb_params_clear(qb_prep_params, &fbp->prep);
    qb_params_clear(qb_fbp_params, &fbp->options);
    qb_params_clear(qb_output_params, &fbp->output);
    qb__free(fbp->command);
    qb__free(fbp->weights);
    qb__free(fbp->share);
    qb__free(fbp->ax);
    qb__free(fbp->ay);
    qb__free(fbp->h0);
    qb__free(fbp->largest);
    qb__filter_destroy(fbp->filter);
    qb__free(fbp);
}

/* ---- run ---- */

static qb_status allocate(qb__fbp *fbp) {
    size_t bytes = qb__fbp_scratch(fbp, qb__fbp_scratch_slices(fbp));
    qb_status status;
    QB__TRY(qb__alloc((size_t)fbp->threads, sizeof *fbp->counts, &fbp->counts));
    QB__TRY(qb__alloc((size_t)fbp->threads, sizeof *fbp->scratch, &fbp->scratch));
    for (int i = 0; i < fbp->threads; i++) QB__TRY(qb__alloc(bytes, 1, &fbp->scratch[i]));
    if (fbp->cache_rows)
        QB__TRY(qb__alloc(fbp->cache_rows * fbp->info->views * fbp->info->columns,
                          qb_dtype_size(fbp->info->dtype), &fbp->cache));
out:
    return status;
}

static void release(qb__fbp *fbp) {
    if (fbp->device) qb__compile_done(&fbp->device->set, NULL); /* after a failure */
    qb__fbp_device_close(fbp);
    for (int i = 0; fbp->scratch && i < fbp->threads; i++) qb__free(fbp->scratch[i]);
    qb__free(fbp->scratch);
    qb__free(fbp->counts);
    qb__free(fbp->cache);
    qb__prepare_destroy(fbp->prepare);
    qb__volume_abort(&fbp->volume);
    fbp->scratch = NULL;
    fbp->counts = NULL;
    fbp->cache = NULL;
    fbp->cache_first = fbp->cache_end = 0;
    fbp->prepare = NULL;
}

static qb_status find_center(qb__fbp *fbp, const qb_env *env) {
    if (!isnan(fbp->center)) return QB_OK;
    qb_center_options options = {.method = fbp->options.center, .search = fbp->options.search};
    qb_center_result found;
    /* Preparation says what it did when the reconstruction itself prepares. */
    qb_env hushed = env ? *env : (qb_env){0};
    hushed.log = NULL;
    qb_status status = qb_center_find(fbp->scan, &fbp->prep, &options, &hushed, &found);
    if (status != QB_OK) return status;
    fbp->center = found.column;
    if (found.warning[0]) qb__warn(env, "%s", found.warning);
    qb__info(env, "axis at column %.2f, confidence %.2f (--center %s)", found.column,
             found.confidence, fbp->options.center);
    status = qb__fbp_decide_found(fbp, env);
    if (status != QB_OK) return status;
    cJSON *center = cJSON_AddObjectToObject(fbp->job.report, "center");
    cJSON_AddNumberToObject(center, "column", found.column);
    cJSON_AddNumberToObject(center, "confidence", found.confidence);
    return QB_OK;
}

const char *qb__fbp_kernel(const qb__fbp *fbp) {
    return fbp->device ? fbp->device->choice.variant->id : fbp->variant->id;
}

/* Integer output without --range: the middle slice says which values matter; 1 in 10,000 pixels at
 * either end may be clipped. */
static qb_status find_range(qb__fbp *fbp, qb__pool *pool, const qb_env *env) {
    size_t pixels = fbp->grid.n[0] * fbp->grid.n[1];
    float *image;
    qb_status status = qb__alloc(pixels, sizeof *image, &image);
    if (status != QB_OK) return status;
    size_t row = fbp->first_row + fbp->grid.n[2] / 2 * fbp->step;
    status = qb__fbp_slice(fbp, row, pool, image);
    if (status == QB_OK) {
        double shift = fbp->options.hu > 0 ? -1000.0 : 0.0;
        qb__sort_floats(image, pixels);
        fbp->volume.low = image[pixels / 10000] + shift;
        fbp->volume.high = image[pixels - 1 - pixels / 10000] + shift;
        if (fbp->volume.high <= fbp->volume.low) fbp->volume.high = fbp->volume.low + 1;
        qb__info(env, "integer range %g..%g, from slice %zu; give --range LO,HI to fix it", fbp->volume.low,
                 fbp->volume.high, row);
    }
    qb__free(image);
    return status;
}

static qb_status open_output(qb__fbp *fbp, qb__pool *pool, const qb_env *env) {
    if (!qb_dtype_is_float(qb__volume_dtype(&fbp->volume)) && fbp->output.range.count == 0) {
        qb_status status = find_range(fbp, pool, env);
        if (status != QB_OK) return status;
    }
    return qb__volume_open(&fbp->volume);
}

static qb_status stream(qb__fbp *fbp, qb__pool *pool, const qb_env *env) {
    qb__stage stages[QB__STAGES_MAX];
    int count = qb__fbp_stages(fbp, fbp->partition.slices_per_chunk, fbp->partition.slots, stages);
    qb__pipeline_report times;
    qb_status status =
        qb__pipeline_run(stages, count, fbp->partition.chunks, fbp, pool, env, &times);
    if (status == QB_OK && fbp->device) status = qb__fbp_device_counts(fbp, env, &fbp->counts[0]);
    if (status == QB_OK) status = qb__prepare_check(fbp->info->path, fbp->counts, fbp->threads);
    if (status != QB_OK) return status;
    qb__prepare_report(fbp->prepare, fbp->counts, fbp->threads, fbp->job.report, env);
    qb__report_stages(fbp->job.report, &times, fbp->threads);
    if (fbp->device) qb__compile_done(&fbp->device->set, fbp->job.report);
    return QB_OK;
}

static qb_status finish_output(qb__fbp *fbp) {
    char *provenance = qb__provenance(&fbp->job, fbp->command, fbp->info->path);
    qb_status status = qb__volume_commit(&fbp->volume, provenance);
    cJSON_free(provenance);
    return status;
}

/* Before anything else is held: what follows depends on how much fits, and on who computes. */
static qb_status take_device(qb__fbp *fbp, const qb_env *env) {
    qb__compile_watch(&fbp->device->set, env);
    qb_status status = qb__fbp_device_open(fbp, env);
    if (status != QB_OK) return status;
    if (!fbp->device) return qb__fbp_decide_without_device(fbp, env);
    return fbp->device->less ? qb__fbp_decide_less(fbp) : QB_OK;
}

static qb_status run(qb_job *job, const qb_env *env) {
    qb__fbp *fbp = (qb__fbp *)job;
    qb__pool *pool = NULL;
    qb_status status;
    QB__TRY(find_center(fbp, env));
    QB__TRY(qb__prepare_create(fbp->scan, &fbp->prep, fbp->first_row,
                               fbp->first_row + (fbp->grid.n[2] - 1) * fbp->step + 1, env,
                               &fbp->prepare));
    QB__TRY(qb__fbp_aim(fbp, fbp->center));
    if (fbp->device) QB__TRY(take_device(fbp, env));
    QB__TRY(allocate(fbp));
    QB__TRY(qb__pool_create(fbp->threads, &pool));
    if (fbp->sweep) {
        QB__TRY(qb__fbp_sweep(fbp, pool, env));
        goto out;
    }
    QB__TRY(open_output(fbp, pool, env));
    QB__TRY(stream(fbp, pool, env));
    qb__volume_report(&fbp->volume, job->report, env);
    cJSON_AddStringToObject(job->report, "output", fbp->output.output);
    cJSON_AddStringToObject(job->report, "kernel", qb__fbp_kernel(fbp));
    cJSON_AddNumberToObject(job->report, "column", fbp->center);
    QB__TRY(finish_output(fbp));
out:
    qb__pool_destroy(pool);
    release(fbp);
    return status;
}

qb_status qb__fbp_aim(qb__fbp *fbp, double center) {
    double columns = (double)fbp->info->columns;
    if (!(center >= 0 && center <= columns - 1))
        return qb__fail(QB_BAD_ARGUMENT, "--center %g lies outside the detector's columns 0..%g",
                        center, columns - 1);
    qb_geometry geometry;
    qb_status status =
        qb_geometry_parallel(fbp->info->views, fbp->info->angles, fbp->info->rows, fbp->width,
                             fbp->pixel, center + (double)fbp->fan.before, &geometry);
    if (status != QB_OK) return status;
    if (fbp->share) qb__half_fan_shares(fbp->info->columns, center, fbp->share);
    status = qb__grid_check_seen(&geometry, &fbp->grid);
    if (status == QB_OK) status = qb__parallel_rows(&geometry, &fbp->grid, fbp->ax, fbp->ay, fbp->h0);
    qb_geometry_destroy(&geometry);
    return status;
}

qb_status qb_fbp_plan(qb_scan *scan, const qb_prep_options *prep, const qb_fbp_options *options,
                      const qb_output_options *output, const char *command, const qb_env *env,
                      qb_job **job) {
    *job = NULL;
    qb__fbp *fbp;
    qb_status status = qb__alloc(1, sizeof *fbp, &fbp);
    if (status != QB_OK) return status;
    fbp->job.run = run;
    fbp->job.destroy = destroy;
    fbp->scan = scan;
    fbp->parts = 1;
    fbp->info = qb_scan_describe(scan);
    fbp->command = qb__strdup(command);
    if (command && !fbp->command) {
        status = qb__fail(QB_NO_MEMORY, "no memory for the command");
        goto out;
    }
    QB__TRY(qb_params_copy(qb_prep_params, prep, &fbp->prep));
    QB__TRY(qb_params_copy(qb_fbp_params, options, &fbp->options));
    QB__TRY(qb__output_take(output, &fbp->output));
    fbp->job.inputs.also[0] = &scan->inputs;
    qb__inputs_begin(&fbp->job.inputs);
    status = qb__fbp_decide(fbp, env);
    qb__inputs_end(&fbp->job.inputs);
    if (status == QB_OK)
        status = fbp->sweep ? qb__fbp_sweep_spare(fbp, env)
                            : qb__volume_spare(&fbp->volume, &fbp->job.inputs, env);
out:
    if (status != QB_OK) {
        qb_job_destroy(&fbp->job);
        return status;
    }
    *job = &fbp->job;
    return QB_OK;
}
