/* SPDX-License-Identifier: MIT */
/* Finds the range of integers from the whole volume: the job runs once before the main run, its values are counted, and
 * no voxel is kept. */
#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "job/grey_levels.h"
#include "recon/reconstruction.h"
#include "recon/reconstruction_parts.h"

static qb_status count(void *user, const qb_slab *slab) {
    qb__value_bins_add(user, slab->data, slab->count * slab->shape[1] * slab->shape[2]);
    return QB_OK;
}

/* Options of a run whose results are discarded. */
static qb_status copy_options(const qb__reconstruction *r, void **options) {
    const qb_param *resume = qb_param_find(r->method->params, "resume");
    qb_status status = qb__alloc(1, qb_params_size(r->method->params), options);
    if (status == QB_OK) status = qb_params_copy(r->method->params, r->options, *options);
    if (status == QB_OK && resume) *(bool *)((char *)*options + resume->offset) = false;
    return status;
}

qb_status qb__range_of_volume(const qb__reconstruction *r, qb__planner *planner, double *low, double *high) {
    uint64_t *bins = NULL;
    void *options = NULL;
    qb_job *job = NULL;
    qb_env env = *r->running.env;
    env.ranks = NULL;
    env.log = NULL; /* the main run prints all messages */
    env.writes = NULL;
    qb_status status;
    QB__TRY(qb__alloc(QB__VALUE_BINS, sizeof *bins, &bins));
    QB__TRY(copy_options(r, &options));
    const qb_output_options output = {.output = "/dev/null", .dtype = QB_F32, .slab = count, .slab_user = bins};
    const qb__request request = {.scan = (qb_scan *)r->job.scan,
                                 .input = r->input,
                                 .more = r->task.more,
                                 .read = r->job.inputs.also[1],
                                 .prep = &r->prep,
                                 .options = options,
                                 .output = &output,
                                 .silent = true};
    QB__TRY(planner(r->method, &request, &env, &job));
    QB__TRY(qb_job_run(job, &env, NULL));
    qb__value_bins_range(bins, low, high);
    qb__info(r->running.env, "integer range %g..%g, from the whole volume", *low, *high);
out:
    qb_job_destroy(job);
    if (options) qb_params_clear(r->method->params, options);
    QB__FREE(options, bins);
    return status;
}
