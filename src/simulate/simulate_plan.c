/* SPDX-License-Identifier: MIT */
#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "io/outputs.h"
#include "job/budget.h"
#include "simulate/simulate.h"

static qb_status check_names(const qb_simulate_options *o) {
    if (!o->output || !*o->output) return qb__fail(QB_BAD_ARGUMENT, "--output: where to write to");
    return o->geometry_out ? qb_geometry_can_save(o->geometry_out) : QB_OK;
}

static qb_status check_outputs(const qb__simulation *s, const qb_env *env) {
    const qb_simulate_options *o = s->options;
    const qb__output outputs[] = {{.path = o->output, .images = s->views, .projections = true},
                                  {.path = o->truth, .images = s->grid.n[2]},
                                  {.path = o->geometry_out}};
    return qb__outputs_check(outputs, 3, &s->inputs, env);
}

static void announce(const qb__simulation *s, const qb_env *env) {
    qb__info(env, "%s: %zu shapes, %zu views of %zu x %zu pixels of %.6g mm, axis at column %.6g",
             s->name, s->phantom.count, s->views, s->columns, s->rows, s->pixel, s->center);
    if (s->detector.gain < 1)
        qb__info(env, "%g photons do not fit into 16 bits: one count is %.4g photons",
                 s->detector.photons, 1 / s->detector.gain);
}

/* As many images at a time as --max-ram lets, up to what makes no difference any more. */
static qb_status cut_chunks(qb__simulation *s, const qb_env *env) {
    const qb__held held = {.threads = qb__pool_threads(s->pool), .more = qb__simulate_least(s)};
    size_t most = (size_t)64 << 20, cap = qb__memory_cap(env), need = qb__held_bytes(&held);
    if (need > cap)
        return qb__fail(
            QB_BAD_ARGUMENT,
            "--max-ram of %.1f MiB is too small: even one image at a time needs %.1f MiB",
            (double)cap / 1048576.0, (double)need / 1048576.0);
    s->chunk_bytes = cap - need < most ? cap - need : most;
    return QB_OK;
}

qb_status qb__simulation_plan(const char *phantom, const qb_simulate_options *options,
                              const qb_env *env, qb__simulation *s) {
    *s = (qb__simulation){.name = phantom, .options = options};
    uint64_t seed = (uint64_t)options->seed;
    qb_status status;
    QB__TRY(check_names(options));
    qb__inputs_begin(&s->inputs);
    status = qb__simulate_place(s, env);
    qb__inputs_end(&s->inputs);
    if (status == QB_OK) status = check_outputs(s, env);
    if (status != QB_OK) goto out;
    QB__TRY(qb__phantom_create(phantom, &s->grid, options->attenuation, seed, &s->phantom));
    QB__TRY(qb__simulate_check_sources(s));
    QB__TRY(qb__detector_create(s->rows, s->columns, options->photons, options->rings, seed,
                                &s->detector));
    QB__TRY(qb__pool_create(env ? env->threads : 0, &s->pool));
    QB__TRY(cut_chunks(s, env));
    announce(s, env);
out:
    return status;
}

void qb__simulation_destroy(qb__simulation *s) {
    qb__publication_abort(s->set);
    qb__pool_destroy(s->pool);
    qb__detector_destroy(&s->detector);
    qb_geometry_destroy(&s->geometry);
    qb__phantom_destroy(&s->phantom);
    qb__free(s->angles);
    qb__inputs_release(&s->inputs);
    *s = (qb__simulation){0};
}
