/* SPDX-License-Identifier: MIT */
/* The range of integers from all of the volume: the job is done once before, its values are counted, and none is kept. A count has
 * a bin for the sign, the exponent and the first 11 bits of a value, so that it needs no range itself, is right to 1 in 2000, and does
 * not depend on how the volume was cut or shared. */
#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "recon/reconstruction.h"
#include "recon/reconstruction_parts.h"

enum { DROPPED = 12, BINS = 1 << (32 - DROPPED) }; /* bits of a value */

/* In ascending order of the values. */
static uint32_t bin_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (bits & 0x80000000 ? ~bits : bits | 0x80000000) >> DROPPED;
}

/* The least value of a bin, of the next one the largest of this. */
static double value_of(uint32_t bin) {
    const uint32_t key = bin << DROPPED, bits = key & 0x80000000 ? key & 0x7fffffff : ~key;
    float value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

static qb_status count(void *user, const qb_slab *slab) {
    uint64_t *bins = user;
    const float *value = slab->data;
    const size_t values = slab->count * slab->shape[1] * slab->shape[2];
    for (size_t i = 0; i < values; i++)
        if (isfinite(value[i])) bins[bin_of(value[i])]++;
    return QB_OK;
}

/* 1 in 10,000 values at either end may be clipped. */
static void find(const uint64_t *bins, double *low, double *high) {
    uint64_t all = 0, below = 0, above = 0;
    uint32_t first = 0, last = BINS - 1;
    for (uint32_t b = 0; b < BINS; b++) all += bins[b];
    *low = 0, *high = 1;
    if (!all) return;
    for (; below + bins[first] <= all / 10000; first++) below += bins[first];
    for (; above + bins[last] <= all / 10000; last--) above += bins[last];
    *low = value_of(first), *high = value_of(last + 1);
    if (!(*low < *high)) *high = *low + 1;
}

/* Options of a run that is to be forgotten. */
static qb_status copy_options(const qb__reconstruction *r, void **options) {
    const qb_param *resume = qb_param_find(r->method->params, "resume");
    qb_status status = qb__alloc(1, r->method->options_bytes, options);
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
    env.log = NULL; /* the run that counts says all of it */
    env.writes = NULL;
    qb_status status;
    QB__TRY(qb__alloc(BINS, sizeof *bins, &bins));
    QB__TRY(copy_options(r, &options));
    const qb_output_options output = {.output = "/dev/null", .dtype = QB_F32, .slab = count, .slab_user = bins};
    const qb__request request = {.scan = (qb_scan *)r->job.scan, /* of the request */
                                 .input = r->input,
                                 .more = r->task.more,
                                 .read = r->job.inputs.also[1],
                                 .prep = &r->prep,
                                 .options = options,
                                 .output = &output,
                                 .silent = true};
    QB__TRY(planner(r->method, &request, &env, &job));
    QB__TRY(qb_job_run(job, &env, NULL));
    find(bins, low, high);
    qb__info(r->running.env, "integer range %g..%g, from the whole volume", *low, *high);
out:
    qb_job_destroy(job);
    if (options) qb_params_clear(r->method->params, options);
    qb__free(options);
    qb__free(bins);
    return status;
}
