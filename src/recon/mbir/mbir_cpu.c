/* SPDX-License-Identifier: MIT */
/* The CPU as an engine of qb mbir. */
#include <stdio.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/warning.h"
#include "planner/choose.h"
#include "planner/rates.h"
#include "recon/mbir/mbir_descent.h"

static qb_status stack_of(qb__mbir_descent *d, qb__system_matrix *matrix, const qb__icd_settings *settings,
                          size_t slices, qb__icd_stack **stack) {
    const qb_mbir_matrix kind = matrix == &d->m->matrix ? d->m->kind : QB_MATRIX_FLY;
    matrix->env = d->run->env;
    qb_status status = qb__icd_stack_create(matrix, kind, settings, slices, d->run->pool, stack);
    if (matrix->cache_told[0]) qb__warn(d->run->env, "%s" QB__CODE("matrix-cache"), matrix->cache_told);
    matrix->cache_told[0] = '\0'; /* warn only once */
    return status;
}

/* ---- cost ---- */

static qb__room memory(void *state, const qb__cut *cut) {
    const qb__mbir_descent *d = state;
    const qb__mbir *m = d->m;
    const qb__icd_settings settings = qb__mbir_settings(d);
    const size_t stack = qb__larger(qb__icd_stack_bytes(&m->matrix, &settings, cut->slices, d->threads),
                                    qb__mbir_coarse_stack_bytes(m, cut->slices, d->threads)) +
                         qb__system_matrix_bytes(&m->matrix, m->kind, qb__mbir_voxels(m)) +
                         (size_t)d->threads * (m->filter ? qb__filter_scratch(m->filter) : 0);
    return (qb__room){.host = qb__mbir_descent_bytes(m, cut, stack)};
}

/* Seconds of the job with a kind of matrix. The matrix is not counted if it is stored in the cache for later runs. */
static double seconds_by(const qb__mbir_descent *d, qb_mbir_matrix kind, const qb__cut *cut) {
    const qb__mbir_cost cost = qb__mbir_cost_of(d->m, kind, cut->slices, d->threads);
    const double making = d->m->options->matrix_cache ? 0 : cost.matrix;
    return making + (double)cut->slabs * (qb__mbir_coarse_seconds(d->m, cut->slices, d->threads) + cost.start +
                                          qb__mbir_equits(d->m) * cost.equit);
}

static double seconds(void *state, const qb__cut *cut) {
    const qb__mbir_descent *d = state;
    return seconds_by(d, d->m->kind, cut);
}

/* Add the option that does without a kept matrix to `facts`, if that fits. */
static void offer_fly(const qb__mbir_descent *d, const qb__cut *least, qb__job_facts *facts) {
    qb__mbir_descent fly = *d;
    qb__mbir m = *fly.m;
    if (m.kind == QB_MATRIX_FLY) return;
    m.kind = QB_MATRIX_FLY, fly.m = &m;
    const size_t need = least->need.host - memory((void *)d, least).host + memory(&fly, least).host;
    if (need > d->cap.host) return;
    snprintf(facts->alternative, sizeof facts->alternative,
             "--matrix fly computes what it would keep, and needs %.1f MiB", (double)need / 1048576);
}

/* True if the cut fits. Besides the engine's share, the frame needs about as much memory as line integrals and images
 * once more. */
static bool has_room(const qb__mbir_descent *d, const qb__cut *cut, const qb__room *cap) {
    const qb__mbir *m = d->m;
    const size_t lines = m->info->views * m->info->columns, image = m->grid.n[0] * m->grid.n[1];
    const size_t need = memory((void *)d, cut).host + cut->slices * (2 * lines + 2 * image) * sizeof(float);
    return need + need / 8 <= cap->host;
}

/* Choose how the matrix is kept, among kinds that give the same bits. Memory is not spent for a small gain, or if no
 * rates were measured. */
static void choose_matrix(qb__mbir_descent *d, const qb__cut_space *space) {
    static const double worth = 0.9;
    qb__mbir *m = d->m;
    const qb__cut cut = {.slices = space->most, .slabs = qb__ceil_div(space->slices, space->most)};
    if (m->options->matrix != QB_MATRIX_AUTO || m->settings.supervoxels || !qb__rates_known()) return;
    if (m->info->columns + 2 * m->matrix.footprints.taps > UINT16_MAX) return;
    if (seconds_by(d, QB_MATRIX_FLOATS, &cut) > worth * seconds_by(d, QB_MATRIX_FLY, &cut)) return;
    m->kind = QB_MATRIX_FLOATS;
    if (!has_room(d, &cut, &space->cap)) m->kind = QB_MATRIX_FLY;
}

static int stages(void *state, const qb__cut *cut, qb__slot_maker *source, qb__stage *stages) {
    const int count = qb__mbir_descent_stages(state, cut, source, stages);
    stages[0].forecast = (double)stages[0].slot_bytes / sizeof(float) / QB__PREPARED;
    stages[1].forecast = seconds(state, cut) / (double)cut->slabs;
    return count;
}

static qb_status decide(const qb__task *task, void *plan, const qb_env *env, qb__offer *offer) {
    (void)env;
    qb__mbir *m = plan;
    if (qb__kernel_of_cpu(m->options->kernel) != QB_OK) return QB_BAD_ARGUMENT;
    const size_t slices = m->grid.n[2], lanes = QB__ICD_LANES;
    const bool apart = !(m->settings.prior.interslice > 0) && !m->settings.supervoxels;
    qb__mbir_descent *d;
    QB__OR_RETURN(qb__alloc(1, sizeof *d, &d));
    *d = (qb__mbir_descent){.m = m,
                            .threads = task->threads,
                            .stack = stack_of,
                            .engine = "cpu",
                            .memory = memory,
                            .cap = offer->space.cap,
                            .kernel = m->variant->head.id};
    offer->state = d;
    offer->space = (qb__cut_space){
        .slices = slices,
        .views = m->info->views,
        .layers = {.thickness = apart ? lanes : 1},
        .most = apart ? qb__smaller(qb__round_up(slices, lanes), lanes * (size_t)task->threads) : slices,
        .thinner = apart ? qb__thinner_layers : qb__thinner_never,
        .cap = offer->space.cap};
    choose_matrix(d, &offer->space);
    return QB_OK;
}

/* ---- facts and report ---- */

static void facts(void *state, const qb__cut *cut, qb__job_facts *facts) {
    static const char *const kinds[] = {"auto", "fly", "bytes", "floats"};
    const qb__mbir_descent *d = state;
    facts->kernel = &d->m->variant->head;
    offer_fly(d, cut, facts);
    qb__fact_text(facts, "matrix", kinds[d->m->kind]);
    qb__fact_text(facts, "threads_share", d->m->settings.supervoxels ? "supervoxels" : "slices");
    for (int kind = QB_MATRIX_FLY; kind <= QB_MATRIX_FLOATS; kind++)
        qb__fact_number(facts, "matrix_seconds", kinds[kind], seconds_by(d, (qb_mbir_matrix)kind, cut));
}

const qb__engine qb__mbir_cpu = {
    .decide = decide,
    .memory = memory,
    .seconds = seconds,
    .stages = stages,
    .open = qb__mbir_descent_open,
    .finish = qb__mbir_descent_finish,
    .close = qb__mbir_descent_close,
    .facts = facts,
    .destroy = qb__free,
};
