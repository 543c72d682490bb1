/* SPDX-License-Identifier: MIT */
/* An automatic range of integers: from the middle slice, by a separate job on the CPU, for any engine. */
#include <math.h>
#include <stdio.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/select.h"
#include "base/status.h"
#include "recon/fdk/fdk.h"

static qb_status make_slice(const qb__fdk *fdk, const qb__running *run, float *image) {
    const size_t *n = fdk->grid.n;
    const qb_tensor array = {.data = image, .ndim = 3, .dtype = QB_F32, .shape = {1, (int64_t)n[1], (int64_t)n[0]}};
    const qb_output_options output = {.array = &array};
    qb_fdk_options options = *fdk->options;
    qb_env env = *run->env;
    char slices[64];
    qb_job *job;
    snprintf(slices, sizeof slices, "%zu:%zu", fdk->middle, fdk->middle + 1);
    options.slices = slices;
    options.kernel = options.grid = NULL;
    options.resume = false;
    env.device = "cpu";
    env.max_vram = 0;
    env.ranks = NULL;
    env.log = NULL; /* all messages were already sent for the volume */
    env.progress = NULL;
    env.writes = NULL;
    qb_status status = qb_fdk_plan(fdk->scan, fdk->real, fdk->prep, &options, &output, NULL, &env, &job);
    if (status == QB_OK) status = qb_job_run(job, &env, NULL);
    qb_job_destroy(job);
    return status;
}

/* 1 in 10,000 pixels at either end may be clipped; pixels outside the field of view are not counted. */
static void find(float *image, size_t count, double *low, double *high) {
    size_t known = 0;
    for (size_t i = 0; i < count; i++)
        if (isfinite(image[i])) image[known++] = image[i];
    *low = *high = 0;
    if (known > 0) {
        const size_t end = known - 1 - known / 10000;
        *high = (double)qb__float_at(image, known, end);
        *low = (double)qb__float_at(image, end + 1, known / 10000);
    }
    if (*high <= *low) *high = *low + 1;
}

qb_status qb__fdk_range(void *plan, const qb__running *run, double *low, double *high) {
    const qb__fdk *fdk = plan;
    const size_t count = fdk->grid.n[0] * fdk->grid.n[1];
    float *image;
    QB__OR_RETURN(qb__alloc(count, sizeof *image, &image));
    qb_status status = make_slice(fdk, run, image);
    if (status == QB_OK) find(image, count, low, high);
    if (status == QB_OK)
        qb__info(run->env, "integer range %g..%g, from slice %zu; give --range LO,HI to fix it", *low, *high,
                 fdk->middle);
    qb__free(image);
    return status;
}
