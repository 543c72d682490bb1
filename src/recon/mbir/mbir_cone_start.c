/* SPDX-License-Identifier: MIT */
/* Makes the start image of a model-based reconstruction of a cone beam. */
#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/comm.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/params.h"
#include "base/status.h"
#include "io/scan/scan.h"
#include "ops/project.h"
#include "recon/fdk/fdk.h"
#include "recon/mbir/mbir_cone.h"

/* Reconstruct the slices of this rank. Both this job and the main job read the same scan; what this one reads must not
 * enter the main job's digest of the data. */
static qb_status run_fdk(qb__mbir_cone *cone, const qb__running *run, const qb_env *quiet) {
    const qb__iterative *it = &cone->it;
    const size_t *n = it->asked.n;
    const qb__run own = it->slices;
    const qb_tensor to = qb_tensor_f32(cone->start, qb__run_count(own), n[1], n[0]);
    const double *voxel = it->asked.voxel;
    char slices[48];
    qb_fdk_options options;
    qb_output_options output;
    qb_job *job = NULL;
    qb_status status = QB_OK;
    if (qb__run_count(own) == 0) return QB_OK;
    QB__TRY(qb__params_view(qb_fdk_params, NULL, &options));
    QB__TRY(qb__params_view(qb_output_params, NULL, &output));
    options.filter = "hann";
    options.size = (qb_numbers){3, {(double)n[0], (double)n[1], (double)n[2]}};
    options.voxels = (qb_numbers){3, {voxel[0], voxel[1], voxel[2]}};
    options.allow_limited = true;
    snprintf(slices, sizeof slices, "%zu:%zu", own.first, own.end);
    if (it->ranks > 1) options.slices = slices;
    output.array = &to;
    QB__TRY(qb__fdk_plan_within(it->scan, it->geometry, it->prep, &options, &output, quiet, &job));
    qb__digest_detach(&it->scan->digests, &run->job->digest);
    status = qb_job_run(job, quiet, NULL);
    qb__digest_attach(&it->scan->digests, &run->job->digest);
out:
    qb_job_destroy(job);
    return status;
}

/* If one rank has failed to make its slices, no rank uses a start image. */
static qb_status agree(const qb__running *run, qb_status mine) {
    const bool ends = mine == QB_CANCELLED || mine == QB_NO_MEMORY;
    uint64_t lack = mine != QB_OK;
    const qb_status status = qb__comm_sum(qb__comm_of(run->env), ends ? mine : QB_OK, &lack, 1);
    if (status != QB_OK || mine != QB_OK || !lack) return status != QB_OK ? status : mine;
    return qb__fail(QB_UNSUPPORTED, "another rank has no start");
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
    qb_env quiet = qb__comm_single_rank(run->env);
    QB__OR_RETURN(qb__alloc(count, sizeof *cone->start, &cone->start));
    /* the threads of this rank only: the other ranks work at the same time */
    if (run->env) quiet.threads = run->env->threads;
    if (run->device && cone->it.ranks > 1) quiet.device = qb__device_info_of(run->device)->spec;
    quiet.log = NULL;
    quiet.progress = NULL;
    quiet.reads = NULL;
    quiet.writes = NULL;
    qb_status status = agree(run, run_fdk(cone, run, &quiet));
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
