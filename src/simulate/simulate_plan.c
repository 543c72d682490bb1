/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "job/job.h"
#include "simulate/simulate.h"

static qb_status check_files(const qb_simulate_options *o) {
    const char *file[3] = {o->output, o->truth, o->geometry_out};
    if (!o->output || !*o->output) return qb__fail(QB_BAD_ARGUMENT, "--output: where to write to");
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < i; k++) {
            if (file[i] && file[k] && strcmp(file[i], file[k]) == 0)
                return qb__fail(QB_BAD_ARGUMENT, "%s is to hold two things", file[i]);
        }
    }
    return o->geometry_out ? qb_geometry_can_save(o->geometry_out) : QB_OK;
}

static void announce(const qb__simulation *s, const qb_env *env) {
    qb__info(env, "%s: %zu shapes, %zu views of %zu x %zu pixels of %.6g mm, axis at column %.6g",
             s->name, s->phantom.count, s->views, s->columns, s->rows, s->pixel, s->center);
    if (s->detector.gain < 1)
        qb__info(env, "%g photons do not fit into 16 bits: one count is %.4g photons",
                 s->detector.photons, 1 / s->detector.gain);
}

static size_t chunk_bytes(const qb_env *env) {
    size_t most = (size_t)64 << 20, cap = qb__memory_cap(env), held = qb__resident_bytes();
    size_t share = cap > held ? (cap - held) / 4 : 0;
    return share < most ? share : most;
}

qb_status qb__simulation_plan(const char *phantom, const qb_simulate_options *options,
                              const qb_env *env, qb__simulation *s) {
    *s = (qb__simulation){.name = phantom, .options = options};
    uint64_t seed = (uint64_t)options->seed;
    qb_status status;
    QB__TRY(check_files(options));
    QB__TRY(qb__simulate_place(s, env));
    QB__TRY(qb__phantom_create(phantom, &s->grid, options->attenuation, seed, &s->phantom));
    QB__TRY(qb__simulate_check_sources(s));
    QB__TRY(qb__detector_create(s->rows, s->columns, options->photons, options->rings, seed,
                                &s->detector));
    QB__TRY(qb__pool_create(env ? env->threads : 0, &s->pool));
    s->chunk_bytes = chunk_bytes(env);
    announce(s, env);
out:
    return status;
}

void qb__simulation_destroy(qb__simulation *s) {
    qb__pool_destroy(s->pool);
    qb__detector_destroy(&s->detector);
    qb_geometry_destroy(&s->geometry);
    qb__phantom_destroy(&s->phantom);
    qb__free(s->angles);
    *s = (qb__simulation){0};
}
