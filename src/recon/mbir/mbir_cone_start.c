/* SPDX-License-Identifier: MIT */
/* The image that a model-based reconstruction of a cone begins with. */
#include <math.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/params.h"
#include "base/status.h"
#include "io/scan/scan.h"
#include "recon/mbir/mbir_cone.h"

/* The same scan is read by two jobs now, and this one is not to count among what the other reads. */
static qb_status run_fdk(qb__mbir_cone *cone, const qb__running *run, const qb_env *quiet) {
    const qb__iterative *it = &cone->it;
    const size_t *n = it->asked.n;
    const qb_tensor to = qb_tensor_f32(cone->start, n[2], n[1], n[0]);
    const double *voxel = it->asked.voxel;
    qb_fdk_options options;
    qb_output_options output;
    qb_job *job = NULL;
    qb_status status;
    QB__TRY(qb__params_view(qb_fdk_params, NULL, &options));
    QB__TRY(qb__params_view(qb_output_params, NULL, &output));
    options.filter = "hann";
    options.size = (qb_numbers){3, {(double)n[0], (double)n[1], (double)n[2]}};
    options.voxels = (qb_numbers){3, {voxel[0], voxel[1], voxel[2]}};
    options.allow_limited = true;
    output.array = &to;
    QB__TRY(qb_fdk_plan(it->scan, it->geometry, it->prep, &options, &output, "qb fdk", quiet, &job));
    qb__digest_detach(&it->scan->digests, &run->job->digest);
    status = qb_job_run(job, quiet, NULL);
    qb__digest_attach(&it->scan->digests, &run->job->digest);
out:
    qb_job_destroy(job);
    return status;
}

qb_status qb__mbir_cone_start(qb__mbir_cone *cone, const qb__running *run) {
    const size_t count = qb__iterative_kept(&cone->it);
    qb_env quiet = {0};
    qb_status status = qb__alloc(count, sizeof *cone->start, &cone->start);
    if (status != QB_OK) return status;
    if (run->env) quiet = *run->env;
    quiet.log = NULL;
    quiet.progress = NULL;
    quiet.reads = NULL;
    quiet.writes = NULL;
    status = run_fdk(cone, run, &quiet);
    if (status == QB_OK) {
        for (size_t i = 0; i < count; i++)
            if (!isfinite(cone->start[i]) || (cone->options.nonneg && cone->start[i] < 0)) cone->start[i] = 0;
        return QB_OK;
    }
    qb__free(cone->start);
    cone->start = NULL;
    if (status == QB_CANCELLED || status == QB_NO_MEMORY) return status;
    qb__info(run->env, "mbir begins with zeros: %s", qb_detail());
    return QB_OK;
}
