/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/fork.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/params.h"
#include "base/status.h"
#include "io/publish/outputs.h"
#include "job/job.h"
#include "simulate/simulate.h"

static qb_status check_names(const qb_simulate_options *o) {
    if (!o->output || !*o->output) return qb__fail(QB_BAD_ARGUMENT, "--output: where to write to");
    if ((o->photons > 0 || o->rings > 0 || o->faults || o->spectrum) && qb__simulate_describes(o))
        return qb__fail(QB_BAD_ARGUMENT, "%s is computed when it is read, without noise: leave --%s out, or give .h5",
                        o->output,
                        o->photons > 0 ? "photons"
                        : o->rings > 0 ? "rings"
                        : o->faults    ? "faults"
                                       : "spectrum");
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
    qb__info(env, "%s: %zu shapes, %zu views of %zu x %zu pixels of %.6g mm, axis at column %.6g", s->name,
             s->phantom.count, s->views, s->columns, s->rows, s->pixel, s->center);
    if (s->detector.gain < 1)
        qb__info(env, "%g photons do not fit into 16 bits: one count is %.4g photons", s->detector.photons,
                 1 / s->detector.gain);
    const double sod = s->options->sod, sdd = s->options->sdd, wide = (double)s->columns * s->pixel * sod / sdd;
    if (!s->from_file && sod > 0 && sod <= wide * M_SQRT1_2)
        qb__info(env,
                 "the source, %.6g mm from the axis, runs through a volume as wide as the columns see, %.6g mm: give a "
                 "--pixel-size below %.3g, or later a smaller --size",
                 sod, wide, M_SQRT2 * sdd / (double)s->columns);
}

/* Memory of the images of one kind. */
typedef struct images {
    double each, other; /* bytes of an image; bytes of everything else in the process */
} images;

static qb__room need(void *context, const qb__cut *cut) {
    const images *of = context;
    const double bytes = (double)cut->slices * of->each + of->other;
    return (qb__room){.host = bytes < 1e18 ? (size_t)bytes : (size_t)1e18};
}

/* As many images at a time as --max-ram allows, up to a size beyond which nothing is gained. */
static qb_status cut_images(const images *of, size_t count, const qb_env *env, qb__cut *cut) {
    enum { AMPLE = 64 << 20 }; /* bytes */
    const qb__cut_space space = {.slices = count,
                                 .views = 1,
                                 .layers = {.thickness = 1},
                                 .most = qb__smaller(count, (size_t)(AMPLE / of->each) + 1),
                                 .thinner = qb__thinner_half,
                                 .cap = {.host = qb__memory_cap(env), .device = SIZE_MAX},
                                 .need = need,
                                 .context = (void *)of};
    bool fits;
    qb_status status = qb__cut_search(&space, cut, &fits);
    if (status != QB_OK || fits) return status;
    return qb__fail_ram(env, (double)space.cap.host, (double)cut->need.host, "even one image at a time needs");
}

/* Flats and darks are held in memory while the truth is written. */
static qb_status cut(qb__simulation *s, const qb_env *env) {
    const qb__simulate_bytes bytes = qb__simulate_needs(s);
    const double held = (double)qb__held_bytes(&(qb__held){.threads = qb__pool_threads(s->pool)}) + bytes.fields;
    const images views = {bytes.view, held + bytes.scratch};
    const images slices = {4.0 * (double)s->grid.n[0] * (double)s->grid.n[1], held};
    qb_status status = cut_images(&views, s->views, env, &s->scan);
    if (status == QB_OK && s->options->truth) status = cut_images(&slices, s->grid.n[2], env, &s->truth);
    return status;
}

static qb_status move_views(qb__simulation *s) {
    s->exposed = s->geometry;
    if (!s->faults.shift) return QB_OK;
    qb_status status = qb__alloc(s->views, sizeof *s->exposed.view, &s->exposed.view);
    for (size_t i = 0; i < s->views && status == QB_OK; i++) {
        s->exposed.view[i] = s->geometry.view[i];
        qb__faults_move(&s->faults, i, &s->exposed.view[i]);
    }
    return status;
}

/* Check the options against each other and fill in those that were not given. Destroy also after a failure. */
static qb_status make_plan(const char *phantom, const qb_simulate_options *options, const qb_env *env,
                           qb__simulation *s) {
    *s = (qb__simulation){.name = phantom};
    uint64_t seed = (uint64_t)options->seed;
    qb_status status;
    QB__TRY(check_names(options));
    if (options->flat_series && !(options->photons > 0))
        QB__TRY(qb__fail(QB_BAD_ARGUMENT, "--flat-series %d is about counts: give --photons N", options->flat_series));
    s->flat_series = qb__larger(1, (size_t)options->flat_series);
    qb__inputs_begin(&s->inputs);
    status = qb__simulate_place(s, options, env);
    if (status == QB_OK) status = qb__faults_create(options->faults, s->views, s->rows, s->columns, seed, &s->faults);
    qb__inputs_end(&s->inputs);
    if (status == QB_OK) status = check_outputs(s, env);
    if (status != QB_OK) goto out;
    QB__TRY(qb__phantom_create(phantom, &s->grid, options->attenuation, seed, &s->phantom));
    QB__TRY(qb__simulate_check_sources(s));
    QB__TRY(qb__detector_create(s->rows, s->columns, options->photons, options->rings, seed, &s->detector));
    QB__TRY(move_views(s));
    QB__TRY(qb__polychromatic_create(options->spectrum, options->attenuation, &s->phantom, &s->polychromatic));
    QB__TRY(qb__pool_create(env ? env->threads : 0, &s->pool));
    QB__TRY(cut(s, env));
    announce(s, env);
out:
    return status;
}

void qb__simulation_destroy(qb__simulation *s) {
    qb__publication_abort(s->set);
    qb__pool_destroy(s->pool);
    qb__detector_destroy(&s->detector);
    if (s->faults.shift) qb__free(s->exposed.view);
    qb__faults_destroy(&s->faults);
    qb__polychromatic_destroy(&s->polychromatic);
    qb_geometry_destroy(&s->geometry);
    qb__phantom_destroy(&s->phantom);
    qb__free(s->angles);
    qb__inputs_release(&s->inputs);
    *s = (qb__simulation){0};
}

qb_status qb_simulate(const char *phantom, const qb_simulate_options *given, const qb_env *env) {
    QB__NEED(phantom);
    QB__CALL();
    qb__simulation simulation;
    qb_simulate_options asked, *options = &asked;
    qb_status status = qb__params_view(qb_simulate_params, given, options);
    if (status != QB_OK) return status;
    if (strcmp(phantom, "rabbitct") == 0) return qb__simulate_rabbitct(options, env);
    QB__TRY(make_plan(phantom, options, env, &simulation));
    QB__TRY(qb__publication_create(env, &simulation.set));
    QB__TRY(qb__simulate_write(&simulation, env));
    status = qb__publication_commit(simulation.set);
    simulation.set = NULL;
out:
    qb__simulation_destroy(&simulation);
    return status;
}
