/* SPDX-License-Identifier: MIT */
/* Choice of device, kernel, slabs and blocks for a cone-beam reconstruction. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/comm.h"
#include "base/status.h"
#include "recon/fdk/fdk_device.h"

/* An upper limit of the filtered rows of each view, as in qb fbp: the absolute values of the ramp's taps sum to 1/2,
 * our windows increase that at most 4 times, and a pixel's weight is at most 1. No limit is known for hardening
 * corrections that raise line integrals much (prep.h) and for a filter file. Accuracy class high needs none. */
static qb_status bound_rows(qb__fdk_gpu *gpu, const qb_prep_options *prep) {
    const qb__fdk *fdk = gpu->fdk;
    const char *filter = fdk->options->filter;
    const double hu = fdk->options->hu > 0 ? 1000.0 / fdk->options->hu : 1.0;
    double value;
    if ((fdk->options->accuracy == QB_ACCURACY_HIGH && !fdk->options->kernel) || access(filter, F_OK) == 0)
        return QB_OK;
    qb_status status = qb__prep_bound_of(fdk->scan, prep, &value);
    const double most = value * hu * (strncmp(filter, "none", 4) ? 0.5 * 4 / fdk->weights.pitch : 1);
    if (status != QB_OK || !(most < FLT_MAX / 4)) return status;
    QB__OR_RETURN(qb__alloc(fdk->problem.views, sizeof *gpu->largest, &gpu->largest));
    for (size_t v = 0; v < fdk->problem.views; v++) gpu->largest[v] = (float)(most * fabs(fdk->weights.view[v]));
    gpu->problem.largest = gpu->largest;
    return QB_OK;
}

/* Half as many views per block each time, down to one bundle if memory is short. */
static size_t views_after(const void *state, const qb__cut *cut, size_t before) {
    (void)cut;
    enum { MOST = 128 };
    const qb__fdk_gpu *gpu = state;
    const size_t turns = qb__fdk_gpu_turns(gpu);
    if (before == 0) return qb__smaller(MOST, gpu->fdk->problem.views) / turns;
    return before > 1 ? qb__ceil_div(before * turns / 2, turns) : 0;
}

/* Filtered rows kept on the device for all slabs, then also a thicker first slab: it is computed while those rows are
 * read and filtered, and nothing is written, so it should take as long. A device that is the CPU has no memory of its
 * own. */
static unsigned schedule_after(const void *state, const qb__cut *cut) {
    enum { MOST = 4 };
    const qb__fdk_gpu *gpu = state;
    const bool paired = qb__fdk_paired(cut);
    if (cut->slabs < 2 || cut->grid || gpu->ranks || qb__device_info_of(gpu->pick.device)->is_cpu) return 0;
    if (!qb__fdk_kept(cut)) return qb__fdk_schedule(paired, 1);
    if (qb__fdk_lead(cut) > 1 || cut->slabs < 3) return 0;
    const size_t lead = qb__smaller(qb__fdk_gpu_lead(gpu, cut), qb__smaller(MOST, cut->slabs - 1));
    return lead > 1 ? qb__fdk_schedule(paired, lead) : 0;
}

/* Slabs that begin or end within a layer compute the whole layer. Mirrored slices in one slab halve a kernel's work,
 * but slabs farther out need rows on both sides: if reading takes longest, slabs of neighbouring slices may be faster.
 * Ranks have agreed on the kind. */
static qb__cut_space space_of(qb__fdk_gpu *gpu, const qb_env *env) {
    const qb__bp_cone_problem *p = &gpu->fdk->problem;
    const qb__bp_cone_device_variant *variant = qb__fdk_gpu_variant(gpu);
    const int *values = gpu->pick.choice.values;
    const bool paired = gpu->ranks ? gpu->fdk->paired : gpu->fdk->pairable && qb__bp_cone_pairs(variant, values);
    const size_t turns = qb__fdk_gpu_turns(gpu);
    gpu->neighbours = (qb__cut_space){.slices = p->nz,
                                      .views = p->views / turns,
                                      .bundle = turns,
                                      .layers = {.thickness = variant->layer(values)},
                                      .most = p->nz,
                                      .thinner = qb__thinner_layers,
                                      .views_after = views_after,
                                      .schedule_after = schedule_after,
                                      .engine = gpu,
                                      .views_stream = true,
                                      .cap.device = qb__device_pick_cap(&gpu->pick, env)};
    qb__cut_space space = gpu->neighbours;
    if (!paired) return space;
    space.layers.thickness *= 2;
    space.grain = 2;
    space.schedule = qb__fdk_schedule(true, 0);
    return space;
}

/* Refuse more columns of ranks than views in a range: columns share the views that a block takes from each of its
 * ranges. */
static qb_status check_columns(const qb__fdk_gpu *gpu, const qb__task *task) {
    const int columns = task->ranks ? task->ranks->columns : 1;
    const size_t turns = qb__fdk_gpu_turns(gpu), views = gpu->fdk->problem.views / turns;
    if (turns == 1 || views >= (size_t)columns) return QB_OK;
    return qb__fail(QB_BAD_ARGUMENT,
                    "--grid %s: the kernel takes views from %zu parts of the turn together, and %zu views of each "
                    "cannot be shared by %d columns: give fewer, or another --kernel",
                    gpu->fdk->options->grid, turns, views, columns);
}

qb_status qb__fdk_gpu_decide(const qb__task *task, void *plan, const qb_env *env, qb__offer *offer) {
    qb__fdk *fdk = plan;
    qb__fdk_gpu *gpu;
    if (fdk->region.asked) return qb__fail(QB_UNSUPPORTED, "--region is computed on the CPU");
    QB__OR_RETURN(qb__alloc(1, sizeof *gpu, &gpu));
    gpu->fdk = gpu->reading = fdk;
    gpu->problem = fdk->problem;
    gpu->ranks = qb__comm_count(qb__comm_of(env)) > 1;
    gpu->way_down = qb__down_of(task->output, &fdk->mask, !fdk->mask.along);
    offer->converts = gpu->way_down.converts;
    offer->sums = true;
    offer->state = gpu;
    gpu->pick = qb__device_pick_of(task->devices);
    offer->timed = true;
    const char *several = qb__device_pick_several(&gpu->pick);
    qb_status status = qb__device_pick_admit(&gpu->pick, fdk->options->kernel, several, env);
    offer->named = status == QB_OK && fdk->options->kernel;
    if (status == QB_OK) status = bound_rows(gpu, fdk->prep);
    qb__question question = qb__fdk_question(fdk);
    question.problem = &gpu->problem;
    if (status == QB_OK) status = qb__device_pick_choose(&gpu->pick, &question);
    if (status != QB_OK) return status;
    offer->space = space_of(gpu, env);
    if (offer->space.schedule && !gpu->ranks) offer->other = &gpu->neighbours;
    status = check_columns(gpu, task);
    if (status == QB_OK) status = qb__fdk_gpu_who_filters(gpu, offer->space, qb__comm_of(env));
    if (status == QB_OK) offer->start = qb__fdk_gpu_start(gpu);
    return status;
}

/* ---- facts ---- */

void qb__fdk_gpu_facts(void *state, const qb__cut *cut, qb__job_facts *facts) {
    const qb__fdk_gpu *gpu = state;
    const char *why = gpu->cpu_filter  ? gpu->cpu_filter
                      : gpu->there > 0 ? "the CPU is not forecast to be faster by a quarter"
                                       : NULL;
    qb__facts_of_pick(facts, &gpu->pick, "even one slice needs", "a smaller --size, or --device cpu");
    facts->class_matters = true;
    facts->filter_device = gpu->cpu_filter ? "cpu" : gpu->pick.question.device->spec;
    snprintf(facts->remark, sizeof facts->remark, "%s%s", gpu->cpu_filter ? "; the CPU filters: " : "; it filters, too",
             gpu->cpu_filter ? gpu->cpu_filter : "");
    qb__fact_truth(facts, "folded", qb__fdk_paired(cut));  /* slabs have mirrored slices */
    qb__fact_truth(facts, "rows_kept", qb__fdk_kept(cut)); /* filtered rows are kept on the device for all slabs */
    /* slices of the thinner slabs after the first */
    if (qb__fdk_lead(cut) > 1) qb__fact_number(facts, NULL, "slices_after_first", (double)cut->thickness);
    qb__fact_number(facts, NULL, "pieces_per_chunk",
                    (double)qb__fdk_gpu_pieces(gpu, cut)); /* pieces in which a slab is downloaded */
    qb__fact_text(facts, "filtered_by", facts->filter_device);
    if (why) qb__fact_text(facts, "filtered_by_why", why);
    if (!(gpu->there > 0)) return;
    /* forecast seconds of the whole job, for either filter */
    qb__fact_number(facts, "filtered_by_seconds", "device", gpu->there);
    qb__fact_number(facts, "filtered_by_seconds", "cpu", gpu->here);
}
