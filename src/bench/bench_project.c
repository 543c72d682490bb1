/* SPDX-License-Identifier: MIT */
/* qb bench project: forward projection and adjoint of noise for a cone beam, or for one slice of a parallel beam, on
 * the device that env names or the CPU. On a device all data are in its memory. An update is a voxel and view, as for
 * back-projection. */
#include <math.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/sort.h"
#include "base/status.h"
#include "bench/bench_parts.h"
#include "bench/project_check.h"
#include "cpu/features.h"
#include "quickbeam/project.h"

enum { REPEAT_MAX = 64 };

static int repeats(const qb_tool_bench_options *options) {
    return options->repeat > REPEAT_MAX ? REPEAT_MAX : options->repeat;
}

static qb__trial_sizes sizes_of(const qb_tool_bench_options *o) {
    qb__trial_sizes sizes = qb__bench_sizes(o, 0);
    sizes.parallel = sizes.nz == 1 && o->geometry == QB_BEAM_PARALLEL;
    return sizes;
}

static void add_part(cJSON *result, const char *name, const qb__trial_sizes *s, double seconds, double rel_l2) {
    cJSON *part = cJSON_AddObjectToObject(result, name);
    const double updates = (double)(s->nx * s->ny) * (double)s->nz * (double)s->views;
    cJSON_AddNumberToObject(part, "seconds_median", seconds);
    cJSON_AddNumberToObject(part, "giga_updates_per_second", updates / seconds * 1e-9);
    cJSON_AddNumberToObject(part, "gups", updates / seconds / 0x1p30);
    cJSON_AddNumberToObject(part, "rel_l2", rel_l2);
}

static void add_sizes(cJSON *result, const qb__trial_sizes *s) {
    const int volume[] = {(int)s->nx, (int)s->ny, (int)s->nz},
              images[] = {(int)s->views, (int)s->rows, (int)s->columns};
    cJSON_AddItemToObject(result, "size", cJSON_CreateIntArray(volume, 3));
    cJSON_AddItemToObject(result, "views_rows_columns", cJSON_CreateIntArray(images, 3));
}

/* ---- a device ---- */

static qb_status run_trial(qb__trial *trial, const qb_tool_bench_options *options, qb__device *device,
                           const qb__trial_sizes *sizes, cJSON *result) {
    static const char *const names[] = {[QB__TRIAL_FORWARD] = "forward", [QB__TRIAL_ADJOINT] = "adjoint"};
    qb__trial_result found;
    qb__choice choice;
    double both = 0;
    QB__OR_RETURN(qb__bench_choose(trial, options, options->kernel, &choice));
    cJSON_AddStringToObject(result, "kernel", choice.variant->id);
    cJSON_AddItemToObject(result, "parameters", qb__parameters_json(choice.variant, choice.values));
    for (qb__trial_part part = QB__TRIAL_FORWARD; part <= QB__TRIAL_ADJOINT; part++) {
        qb__joseph_trial_part(trial, part);
        QB__OR_RETURN(qb__trial_run(trial, choice.variant, choice.values, 1, repeats(options), &found));
        add_part(result, names[part], sizes, found.seconds, found.rel_l2);
        both += found.seconds;
    }
    cJSON_AddNumberToObject(result, "seconds_median", both);
    cJSON_AddNumberToObject(result, "predicted_seconds", 2 * choice.predicted);
    cJSON_AddNumberToObject(result, "share_of_prediction", 2 * choice.predicted / both);
    cJSON_AddStringToObject(result, "device", qb__device_info_of(device)->name);
    return QB_OK;
}

static qb_status on_device(const qb_tool_bench_options *options, qb__device *device, const qb_env *env, cJSON *result) {
    (void)env;
    const qb__trial_sizes sizes = sizes_of(options);
    qb__trial *trial;
    add_sizes(result, &sizes);
    qb_status status = qb__trial_create(QB__PROJECT_JOSEPH, device, &sizes, &trial);
    if (status == QB_OK) status = run_trial(trial, options, device, &sizes, result);
    qb__trial_destroy(trial);
    return status;
}

/* ---- the CPU ---- */

typedef struct bench {
    qb__trial_sizes sizes;
    qb_geometry geometry;
    qb_grid grid;
    qb_projector *projector;
    float *volume, *lines, *back;
} bench;

static qb_status once(const bench *b, bool back, const qb_env *env) {
    return back ? qb_projector_adjoint(b->projector, b->lines, 0, b->sizes.views, false, env, b->back)
                : qb_projector_forward(b->projector, b->volume, 0, b->sizes.views, env, b->lines);
}

static qb_status median(const bench *b, bool back, int repeat, const qb_env *env, double *seconds) {
    double took[REPEAT_MAX];
    qb_status status = once(b, back, env);
    for (int i = 0; i < repeat && status == QB_OK; i++) {
        const double from = qb__now();
        status = once(b, back, env);
        took[i] = qb__now() - from;
    }
    if (status == QB_OK) *seconds = qb__median(took, (size_t)repeat);
    return status;
}

static qb_status measure(const bench *b, const qb_tool_bench_options *options, const qb_env *env, cJSON *result) {
    const qb__trial_sizes *s = &b->sizes;
    const size_t voxels = s->nx * s->ny * s->nz, pixels = s->views * s->rows * s->columns;
    double forward, adjoint;
    qb_status status = median(b, false, repeats(options), env, &forward);
    if (status == QB_OK) status = median(b, true, repeats(options), env, &adjoint);
    if (status != QB_OK) return status;
    const double square = qb__project_dot(b->lines, b->lines, pixels);
    cJSON_AddStringToObject(result, "kernel", qb_projector_kernel(b->projector));
    add_part(result, "forward", s, forward, qb__project_error(&b->geometry, &b->grid, b->volume, b->lines));
    add_part(result, "adjoint", s, adjoint, fabs(qb__project_dot(b->back, b->volume, voxels) - square) / square);
    cJSON_AddNumberToObject(result, "seconds_median", forward + adjoint);
    cJSON_AddNumberToObject(result, "threads", env && env->threads > 0 ? env->threads : qb__cpu_count());
    cJSON_AddStringToObject(result, "cpu", qb__cpu_name());
    return QB_OK;
}

static qb_status on_cpu(const qb_tool_bench_options *options, const qb_env *env, cJSON *result) {
    const qb__trial_sizes sizes = sizes_of(options), *s = &sizes;
    const size_t voxels = s->nx * s->ny * s->nz, pixels = s->views * s->rows * s->columns;
    bench b = {.sizes = *s, .grid = {.n = {s->nx, s->ny, s->nz}, .voxel = {1, 1, 1}}};
    qb_env here = env ? *env : (qb_env){0};
    qb_status status;
    here.device = "cpu";
    add_sizes(result, s);
    QB__TRY(qb__project_circle(s, &b.geometry));
    QB__TRY(qb_projector_create(&b.geometry, &b.grid, options->kernel, &here, &b.projector));
    QB__TRY(qb__alloc(voxels, sizeof *b.volume, &b.volume));
    QB__TRY(qb__alloc(voxels, sizeof *b.back, &b.back));
    QB__TRY(qb__alloc(pixels, sizeof *b.lines, &b.lines));
    qb__noise(b.volume, voxels, 20262);
    status = measure(&b, options, &here, result);
out:
    qb_projector_destroy(b.projector);
    qb_geometry_destroy(&b.geometry);
    QB__FREE(b.volume, b.back, b.lines);
    return status;
}

qb_status qb__bench_project(const qb_tool_bench_options *options, const qb_env *env, cJSON *result) {
    return qb__bench_either(options, on_device, on_cpu, env, result);
}
