/* SPDX-License-Identifier: MIT */
/* The image that a model-based reconstruction of a cone begins with. */
#include <math.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/params.h"
#include "base/status.h"
#include "io/scan/scan.h"
#include "ops/project.h"
#include "recon/fdk/fdk.h"
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
    QB__TRY(qb__fdk_plan_within(it->scan, it->geometry, it->prep, &options, &output, quiet, &job));
    qb__digest_detach(&it->scan->digests, &run->job->digest);
    status = qb_job_run(job, quiet, NULL);
    qb__digest_attach(&it->scan->digests, &run->job->digest);
out:
    qb_job_destroy(job);
    return status;
}

enum { PIECE = 1 << 16 };

static void clamp_piece(void *context, size_t piece, int worker) {
    qb__mbir_cone *cone = context;
    const size_t first = piece * PIECE, end = qb__smaller(first + PIECE, qb__iterative_kept(&cone->it));
    (void)worker;
    for (size_t i = first; i < end; i++)
        if (!isfinite(cone->start[i]) || (cone->options.nonneg && cone->start[i] < 0)) cone->start[i] = 0;
}

qb_status qb__mbir_cone_start(qb__mbir_cone *cone, const qb__running *run) {
    const size_t count = qb__iterative_kept(&cone->it);
    const double begun = qb__now();
    qb_env quiet = {0};
    qb_status status = qb__alloc(count, sizeof *cone->start, &cone->start);
    if (status != QB_OK) return status;
    if (run->env) quiet = *run->env;
    quiet.log = NULL;
    quiet.progress = NULL;
    quiet.reads = NULL;
    quiet.writes = NULL;
    status = run_fdk(cone, run, &quiet);
    cone->start_seconds = qb__now() - begun;
    if (status == QB_OK) {
        qb__pool_for(cone->it.projector->pool, qb__ceil_div(count, PIECE), clamp_piece, cone);
        return QB_OK;
    }
    qb__free(cone->start);
    cone->start = NULL;
    if (status == QB_CANCELLED || status == QB_NO_MEMORY) return status;
    qb__info(run->env, "mbir begins with zeros: %s", qb_detail());
    return QB_OK;
}
