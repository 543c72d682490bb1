/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "quickbeam/scan.h"
#include "recon/job.h"
#include "recon/simulate.h"

enum { COLUMNS = 256 };
static const double field_of_view = 256; /* mm */

static qb_status whole(const qb_numbers *numbers, const char *flag, int most) {
    if (numbers->count > most)
        return qb__fail(QB_BAD_ARGUMENT, "--%s takes at most %d numbers", flag, most);
    for (int i = 0; i < numbers->count; i++) {
        if (numbers->value[i] != floor(numbers->value[i]) || !(numbers->value[i] >= 1))
            return qb__fail(QB_BAD_ARGUMENT, "--%s %g: is not a number of pixels", flag,
                            numbers->value[i]);
    }
    return QB_OK;
}

static size_t number(const qb_numbers *numbers, int index) {
    return (size_t)numbers->value[index];
}

/* Detector and box follow from each other when only one is given; a lone number is every side. */
static qb_status decide_sizes(qb__simulation *s) {
    const qb_numbers *detector = &s->options->detector, *size = &s->options->size;
    qb_status status;
    QB__TRY(whole(detector, "detector", 2));
    QB__TRY(whole(size, "size", 3));
    s->rows = s->columns = COLUMNS;
    if (size->count) s->rows = s->columns = number(size, 0);
    if (size->count > 1 && number(size, 1) > s->columns) s->columns = number(size, 1);
    if (size->count > 2) s->rows = number(size, 2);
    if (detector->count) s->rows = s->columns = number(detector, 0);
    if (detector->count > 1) s->rows = number(detector, 1);
    size_t *n = s->grid.n;
    n[0] = n[1] = s->columns;
    n[2] = s->rows;
    if (size->count) n[0] = n[1] = number(size, 0);
    if (size->count > 1) n[1] = number(size, 1);
    if (size->count > 2) n[2] = number(size, 2);
out:
    return status;
}

static qb_status decide_lengths(qb__simulation *s) {
    const qb_simulate_options *o = s->options;
    bool cone = o->geometry == QB_BEAM_CONE;
    if (!cone && (o->sod > 0 || o->sdd > 0))
        return qb__fail(QB_BAD_ARGUMENT, "--sod and --sdd are for --geometry cone");
    if (cone && !(o->sod > 0 && o->sdd >= o->sod))
        return qb__fail(QB_BAD_ARGUMENT, "a cone beam needs --sod and --sdd, in mm, the second not "
                                         "the smaller");
    double magnification = cone ? o->sdd / o->sod : 1;
    s->pixel = o->pixel_size;
    if (!(s->pixel > 0)) s->pixel = field_of_view * magnification / (double)s->columns;
    for (int k = 0; k < 3; k++) s->grid.voxel[k] = s->pixel / magnification;
    s->center = 0.5 * ((double)s->columns - 1) + o->center_offset;
    return QB_OK;
}

/* --views, else the N of --angles FROM:TO:N, else what the columns want. */
static size_t decide_views(const qb__simulation *s) {
    double span[3];
    const char *angles = s->options->angles;
    if (s->options->views > 0) return (size_t)s->options->views;
    if (angles && qb__read_numbers(angles, ':', 3, span, NULL) == 3 && span[2] >= 1 && span[2] < 1e9)
        return (size_t)span[2];
    return (size_t)lround(M_PI / 2 * (double)s->columns);
}

static qb_status decide_angles(qb__simulation *s) {
    const char *text = s->options->angles;
    if (!text) text = s->options->geometry == QB_BEAM_CONE ? "0:360" : "0:180";
    s->views = decide_views(s);
    qb_status status = qb__alloc(s->views, sizeof *s->angles, &s->angles);
    return status == QB_OK ? qb_angles_parse(text, s->views, s->angles) : status;
}

static qb_status build_geometry(qb__simulation *s) {
    const qb_simulate_options *o = s->options;
    if (o->geometry == QB_BEAM_PARALLEL)
        return qb_geometry_parallel(s->views, s->angles, s->rows, s->columns, s->pixel, s->center,
                                    &s->geometry);
    double reach = qb__phantom_reach(&s->phantom);
    if (!(reach < o->sod))
        return qb__fail(QB_BAD_ARGUMENT,
                        "--sod %g: the source would run through the phantom, which reaches %.4g mm",
                        o->sod, reach);
    return qb_geometry_cone(s->views, s->angles, s->rows, s->columns, s->pixel, s->pixel, o->sod,
                            o->sdd, -o->center_offset * s->pixel, 0, &s->geometry);
}

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
    QB__TRY(decide_sizes(s));
    QB__TRY(decide_lengths(s));
    QB__TRY(qb__phantom_create(phantom, &s->grid, options->attenuation, seed, &s->phantom));
    QB__TRY(decide_angles(s));
    QB__TRY(build_geometry(s));
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
