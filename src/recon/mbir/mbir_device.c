/* SPDX-License-Identifier: MIT */
/* A device as an engine of qb mbir: slices stay on the device during the descent. The CPU prepares line integrals. */
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/status.h"
#include "kernels/icd/icd_surrogate.h"
#include "planner/device_pick.h"
#include "recon/device_arrays.h"
#include "recon/mbir/mbir_descent.h"

typedef struct on_device {
    qb__mbir_descent descent; /* must be the first member */
    qb__icd_size size;
    qb__device_pick pick;
    qb__locked_ring ring; /* of line integrals */
} on_device;

static const qb__icd_device_variant *variant_of(const on_device *gpu) {
    return qb__icd_device_of(gpu->pick.choice.variant);
}

static qb__icd_size size_of(const qb__mbir *m, const qb__system_matrix *matrix, const qb__icd_settings *settings) {
    return (qb__icd_size){m->info->views,
                          m->info->columns,
                          qb__icd_pixels(matrix->nx, matrix->ny, settings->radius),
                          qb__icd_taps(&matrix->footprints),
                          settings->prior.interslice > 0 && m->grid.n[2] > 1,
                          m->images.proximal,
                          m->rays != NULL,
                          m->options->deterministic};
}

/* True if the device computes a level. The CPU computes coarser voxels that the kernel cannot process. */
static bool is_for_device(const on_device *gpu, const qb__system_matrix *matrix, const qb__icd_settings *settings) {
    const qb__icd_size size = size_of(gpu->descent.m, matrix, settings);
    return !variant_of(gpu)->head.unusable(qb__device_info_of(gpu->pick.device), &size, gpu->pick.choice.values);
}

static qb_status stack_of(qb__mbir_descent *d, qb__system_matrix *matrix, const qb__icd_settings *settings,
                          size_t slices, qb__icd_stack **stack) {
    const on_device *gpu = (const on_device *)d;
    matrix->env = d->run->env;
    if (!is_for_device(gpu, matrix, settings))
        return qb__icd_stack_create(matrix, QB_MATRIX_FLY, settings, slices, d->run->pool, stack);
    return qb__icd_stack_create_on(gpu->pick.device, variant_of(gpu), gpu->pick.choice.values, matrix, settings, slices,
                                   qb__mbir_all(d->m), d->run->pool, stack);
}

/* ---- cost ---- */

static qb__icd_room room_of(const on_device *gpu, const qb__cut *cut) {
    const qb__mbir *m = gpu->descent.m;
    const qb__icd_settings settings = qb__mbir_settings(&gpu->descent);
    return qb__icd_stack_room(variant_of(gpu), gpu->pick.choice.values, &m->matrix, &settings, cut->slices,
                              qb__mbir_all(m));
}

/* Memory for the levels and the volume; levels are computed one after another, so the largest counts. */
static qb__icd_room with_levels(const on_device *gpu, const qb__cut *cut, qb__icd_room most) {
    const qb__mbir *m = gpu->descent.m;
    for (size_t i = 0; i < m->coarse.levels; i++) {
        const qb__mbir_level *l = &m->coarse.level[i];
        qb__icd_room room = {0, qb__icd_stack_bytes(&l->matrix, &l->settings, cut->slices, gpu->descent.threads)};
        if (is_for_device(gpu, &l->matrix, &l->settings))
            room = qb__icd_stack_room(variant_of(gpu), gpu->pick.choice.values, &l->matrix, &l->settings, cut->slices,
                                      qb__mbir_all(m));
        most = (qb__icd_room){qb__larger(most.device, room.device), qb__larger(most.host, room.host)};
    }
    return most;
}

/* Device memory of the filter of the start. */
static size_t filter_bytes(const on_device *gpu) {
    const qb__mbir *m = gpu->descent.m;
    qb__filter_spectrum spectrum;
    if (!m->filter) return 0;
    qb__filter_describe(m->filter, &spectrum);
    return qb__device_filter_forecast(qb__device_info_of(gpu->pick.device), &spectrum, QB__FILTER_AUTO, m->info->views,
                                      1, 0);
}

static qb__room memory(void *state, const qb__cut *cut) {
    const on_device *gpu = state;
    const qb__mbir *m = gpu->descent.m;
    const qb__icd_room stack = with_levels(gpu, cut, room_of(gpu, cut));
    const size_t filters = (size_t)gpu->descent.threads * (m->filter ? qb__filter_scratch(m->filter) : 0);
    qb__room room = {.host = qb__mbir_descent_bytes(m, cut, stack.host + filters),
                     .device = stack.device + filter_bytes(gpu)};
    room.host += qb__device_pick_host_bytes(&gpu->pick, room.device);
    return room;
}

/* Equits of the volume's own voxels that cost as much as all coarser levels with their starts. */
static double equits_of_levels(const qb__mbir *m) {
    double sum = 0;
    for (size_t i = 0; i < m->coarse.levels; i++) sum += ldexp(qb__mbir_level_equits(m, i) + 1.5, -2 * (int)(i + 1));
    return sum;
}

/* Line integrals are uploaded twice: for the start, which the device filters, and for the descent. */
static double seconds(void *state, const qb__cut *cut) {
    const on_device *gpu = state;
    const qb__mbir *m = gpu->descent.m;
    const double lines = (double)m->info->views * (double)m->info->columns * (double)m->grid.n[2];
    const double images = (double)m->grid.n[0] * (double)m->grid.n[1] * (double)m->grid.n[2];
    (void)cut;
    return gpu->pick.choice.seconds * (qb__mbir_equits(m) + 1.5 + equits_of_levels(m)) +
           8 * lines / gpu->pick.costs.up + 4 * images / gpu->pick.costs.down + 1e-8 * lines / gpu->descent.threads;
}

/* Line integrals are uploaded from page-locked memory, unless locking that much takes longer than it saves. */
static int stages(void *state, const qb__cut *cut, qb__slot_maker *source, qb__stage *stages) {
    const size_t most = (size_t)4 << 30;
    on_device *gpu = state;
    const int count = qb__mbir_descent_stages(state, cut, source, stages);
    gpu->ring.device = gpu->pick.device;
    gpu->ring.env = gpu->descent.run ? gpu->descent.run->env : NULL;
    if (stages[0].slot_bytes <= most) stages[0].maker = qb__locked_slots(&gpu->ring);
    stages[1].all_seconds = seconds(state, cut);
    return count;
}

/* ---- the offer ---- */

static qb__cut_space space_of(const on_device *gpu, const qb_env *env) {
    enum { LANES_MOST = 128, GROUPS = 4 };
    const qb__mbir *m = gpu->descent.m;
    const size_t slices = m->grid.n[2];
    const bool apart = !(m->settings.prior.interslice > 0);
    return (qb__cut_space){.slices = slices,
                           .views = m->info->views,
                           .layers = {.thickness = apart ? LANES_MOST : 1},
                           .most = apart ? qb__smaller(qb__round_up(slices, LANES_MOST), LANES_MOST * GROUPS) : slices,
                           .thinner = apart ? qb__thinner_layers : qb__thinner_never,
                           .cap.device = qb__device_pick_cap(&gpu->pick, env)};
}

static qb__question question_of(const on_device *gpu) {
    const qb__mbir *m = gpu->descent.m;
    return (qb__question){.operation = QB__ICD,
                          .problem = &gpu->size,
                          .slices = m->grid.n[2],
                          .interp = QB_INTERP_LINEAR,
                          .accuracy = QB_ACCURACY_HIGH,
                          .id = m->options->kernel};
}

/* The reason why this job stays on the CPU; NULL = the device can do it. */
static const char *not_for_devices(const on_device *gpu) {
    const qb__mbir *m = gpu->descent.m;
    if (m->options->matrix == QB_MATRIX_BYTES || m->options->matrix == QB_MATRIX_FLOATS)
        return "a device computes the matrix as it goes: leave --matrix out";
    if (m->options->matrix_cache) return "a device computes the matrix as it goes: leave --matrix-cache out";
    return qb__device_pick_several(&gpu->pick);
}

static qb_status decide(const qb__task *task, void *plan, const qb_env *env, qb__offer *offer) {
    on_device *gpu;
    const qb__mbir *m = plan;
    qb_status status = qb__alloc(1, sizeof *gpu, &gpu);
    if (status != QB_OK) return status;
    gpu->descent = (qb__mbir_descent){.m = plan,
                                      .threads = task->threads,
                                      .stack = stack_of,
                                      .engine = "device",
                                      .memory = memory,
                                      .cap.host = offer->space.cap.host};
    gpu->size = size_of(m, &m->matrix, &m->settings);
    offer->state = gpu;
    gpu->pick = qb__device_pick_of(task->devices);
    const qb__question question = question_of(gpu);
    QB__TRY(qb__device_pick_admit(&gpu->pick, m->options->kernel, not_for_devices(gpu), env));
    offer->named = m->options->kernel;
    QB__TRY(qb__device_pick_choose(&gpu->pick, &question));
    gpu->descent.kernel = gpu->pick.choice.variant->id;
    offer->start = qb__device_pick_start(&gpu->pick, variant_of(gpu)->programs);
    offer->space = space_of(gpu, env);
    gpu->descent.cap.device = offer->space.cap.device;
out:
    return status;
}

/* ---- facts and report ---- */

static void facts(void *state, const qb__cut *cut, qb__job_facts *facts) {
    qb__facts_of_pick(facts, &((on_device *)state)->pick, "",
                      "fewer --slices, --neighbours 1,0.7071,0 for slices on their own, or --device cpu");
    snprintf(facts->needs, sizeof facts->needs, "%zu slices need", cut->slices);
    qb__fact_text(facts, "matrix", "fly");
}

/* ---- life ---- */

const qb__engine qb__mbir_device = {
    .on_device = true,
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
