/* SPDX-License-Identifier: MIT */
/* qb project: block of views by block of views, for each the volume slab by slab. */
#include "recon/project/projection.h"

#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "io/outputs.h"
#include "io/tensor.h"
#include "job/volume_out.h"

static void release(qb__projection *p) {
    qb_writer_abort(p->writer);
    qb__free(p->slices);
    qb__free(p->sums);
    qb__free(p->images);
    qb__free(p->raw);
    p->writer = NULL;
    p->slices = p->sums = p->images = NULL;
    p->raw = NULL;
}

static void destroy(qb_job *job) {
    qb__projection *p = (qb__projection *)job;
    qb_projector_destroy(p->projector);
    qb__simulation_destroy(&p->scan);
    qb__source_close(p->source);
    qb_params_clear(qb_project_params, &p->options);
    qb_params_clear(qb_geometry_params, &p->place);
    qb_params_clear(qb_output_params, &p->output);
    qb__free(p->volume);
    qb__free(p->command);
    qb__free(p);
}

/* ---- reading ---- */

/* What stored numbers stand for: integers of ours have a scale, Hounsfield units are relative. */
static void to_attenuation(const qb__projection *p, float *values, size_t count) {
    const double *scale = p->source->scale;
    const double hu = p->options.hu;
    double most = p->source->dtype == QB_U8 ? 255 : 65535, a = 1, b = 0;
    if (!qb_dtype_is_float(p->source->dtype) && scale[1] > scale[0])
        a = (scale[1] - scale[0]) / most, b = scale[0];
    if (hu > 0) a *= hu / 1000, b = hu * (1 + b / 1000);
    if (a == 1 && b == 0) return;
    for (size_t i = 0; i < count; i++) values[i] = (float)(a * (double)values[i] + b);
}

/* Slices z0 <= z < z1 as attenuations into p->slices. */
static qb_status read_slab(qb__projection *p, size_t z0, size_t z1) {
    const size_t slice = p->grid.n[0] * p->grid.n[1];
    const qb_dtype dtype = p->source->dtype;
    size_t step = z1 - z0;
    if (dtype != QB_F32) step = qb__projection_raw_bytes(p) / (slice * qb_dtype_size(dtype));
    qb_status status = QB_OK;
    for (size_t z = z0; status == QB_OK && z < z1; z += step) {
        const size_t end = z1 - z < step ? z1 : z + step, count = (end - z) * slice;
        float *to = p->slices + (z - z0) * slice;
        const qb__region region = {z, end - z, 1, 0, p->grid.n[1]};
        status = p->source->read(p->source, &region, dtype == QB_F32 ? (void *)to : p->raw);
        if (status != QB_OK) break;
        if (dtype != QB_F32) qb_convert_to_float(p->raw, dtype, count, to);
        to_attenuation(p, to, count);
    }
    return status;
}

/* ---- writing ---- */

static qb_status open_writer(qb__projection *p) {
    const qb__simulation *s = &p->scan;
    qb_stack stack = {
        .dtype = qb__projection_dtype(p),
        .shape = {s->views, s->rows, s->columns},
        .units = "",
        .quantity = qb_quantity_name(QB_LINE_INTEGRAL),
        .description = "quickbeam projections",
        .angles = s->angles,
        .beam = s->geometry.beam,
    };
    if (p->in_mm) stack.voxel[0] = s->pixel, stack.voxel[1] = s->pixel_v;
    return qb__output_create(&p->output, &stack, &p->writer);
}

static qb_status write_views(qb__projection *p, size_t first, size_t end) {
    const size_t image = p->scan.rows * p->scan.columns;
    qb_status status = QB_OK;
    if (p->output.preview && first == 0)
        status =
            qb_preview_write(p->output.preview, p->images, p->scan.columns, p->scan.rows, 0, 0);
    if (status != QB_OK) return status;
    if (qb__projection_dtype(p) == QB_F32) return qb_writer_write(p->writer, first, end, p->images);
    for (size_t view = first; status == QB_OK && view < end; view++) {
        qb_convert_from_float(p->images + (view - first) * image, image, QB_F16, 0, 0, p->raw);
        status = qb_writer_write(p->writer, view, view + 1, p->raw);
    }
    return status;
}

/* ---- the run ---- */

enum { READ, PROJECT, WRITE, STAGES };

typedef struct clocks {
    double wall[STAGES], cpu[STAGES], last_wall, last_cpu;
} clocks;

/* What has passed since the last call belongs to this stage. */
static void tick(clocks *c, int stage) {
    const double wall = qb__now(), cpu = qb__now_process();
    if (c->last_wall > 0) c->wall[stage] += wall - c->last_wall, c->cpu[stage] += cpu - c->last_cpu;
    c->last_wall = wall, c->last_cpu = cpu;
}

static qb_status project_block(qb__projection *p, size_t first, size_t end, const qb_env *env,
                               clocks *c) {
    const size_t nz = p->grid.n[2];
    qb_status status;
    memset(p->sums, 0, (end - first) * qb__project_view_floats(p->projector) * sizeof(float));
    for (size_t z = 0; z < nz; z += p->slab) {
        const size_t z1 = nz - z < p->slab ? nz : z + p->slab;
        if (p->slabs > 1 || first == 0) QB__TRY(read_slab(p, z, z1));
        tick(c, READ);
        QB__TRY(qb__project_add(p->projector, p->slices, z, z1, first, end, p->sums, env));
        tick(c, PROJECT);
    }
    qb__project_finish(p->projector, first, end, p->sums, p->images);
    tick(c, PROJECT);
    QB__TRY(write_views(p, first, end));
    tick(c, WRITE);
    qb__progress(env, "project", end, p->scan.views);
out:
    return status;
}

static qb_status allocate(qb__projection *p) {
    const size_t slice = p->grid.n[0] * p->grid.n[1], image = p->scan.rows * p->scan.columns;
    qb_status status;
    QB__TRY(qb__alloc(p->slab * slice, sizeof(float), &p->slices));
    QB__TRY(qb__alloc(p->views, qb__project_view_floats(p->projector) * sizeof(float), &p->sums));
    QB__TRY(qb__alloc(p->views * image, sizeof(float), &p->images));
    QB__TRY(qb__alloc(qb__projection_raw_bytes(p), 1, &p->raw));
out:
    return status;
}

static void report(qb__projection *p, const clocks *c, double wall) {
    qb__pipeline_report times = {.wall_seconds = wall, .stages = STAGES};
    static const char *const names[STAGES] = {"read", "project", "write"};
    for (int i = 0; i < STAGES; i++)
        times.stage[i] = (qb__stage_time){names[i], c->cpu[i], c->wall[i]};
    qb__report_stages(p->job.report, &times, qb__pool_threads(p->projector->pool));
    cJSON_AddStringToObject(p->job.report, "output", p->output.output);
    cJSON_AddStringToObject(p->job.report, "kernel", p->projector->variant->id);
}

static qb_status run(qb_job *job, const qb_env *env) {
    qb__projection *p = (qb__projection *)job;
    clocks c = {0};
    const double begin = qb__now();
    char *provenance = NULL;
    qb_status status;
    QB__TRY(allocate(p));
    QB__TRY(open_writer(p));
    tick(&c, READ);
    for (size_t view = 0; view < p->scan.views; view += p->views) {
        const size_t end = view + p->views < p->scan.views ? view + p->views : p->scan.views;
        QB__TRY(project_block(p, view, end, env, &c));
    }
    if (p->options.geometry_out)
        QB__TRY(qb_geometry_save(p->options.geometry_out, &p->scan.geometry));
    report(p, &c, qb__now() - begin);
    provenance = qb__provenance(job, p->command, p->volume);
    status = qb_writer_commit(p->writer, provenance);
    p->writer = NULL;
out:
    cJSON_free(provenance);
    release(p);
    return status;
}

static qb_status check_outputs(const qb__projection *p, const qb_env *env) {
    const qb__output outputs[] = {
        {.path = p->output.array ? NULL : p->output.output, .images = p->scan.views, .projections = true},
        {.path = p->output.preview},
        {.path = p->options.geometry_out}};
    return qb__outputs_check(outputs, 3, &p->job.inputs, env);
}

qb_status qb__projection_create(const qb_project_options *options, const qb_output_options *output,
                                const char *command, qb__projection **out) {
    qb__projection *p;
    qb_status status = qb__alloc(1, sizeof *p, &p);
    *out = p;
    if (status != QB_OK) return status;
    p->job.run = run;
    p->job.destroy = destroy;
    p->command = qb__strdup(command ? command : "");
    if (!p->command) status = qb__fail(QB_NO_MEMORY, "no memory for a name");
    if (status == QB_OK) status = qb_params_copy(qb_project_params, options, &p->options);
    if (status == QB_OK) status = qb__output_take(output, &p->output);
    return status;
}

qb_status qb__projection_settle(qb__projection *p, const qb_env *env, qb_job **job) {
    qb__inputs_begin(&p->job.inputs);
    qb_status status = qb__projection_decide(p, env);
    qb__inputs_end(&p->job.inputs);
    if (status == QB_OK) status = check_outputs(p, env);
    if (status == QB_OK)
        *job = &p->job;
    else
        qb_job_destroy(&p->job);
    return status;
}

qb_status qb_project_plan(const char *volume, const qb_geometry_options *geometry,
                          const qb_project_options *options, const qb_output_options *output,
                          const char *command, const qb_env *env, qb_job **job) {
    qb__projection *p;
    *job = NULL;
    qb_status status = qb__projection_create(options, output, command, &p);
    if (status == QB_OK) status = qb_params_copy(qb_geometry_params, geometry, &p->place);
    if (status == QB_OK) p->volume = qb__strdup(volume);
    if (status == QB_OK && !p->volume) status = qb__fail(QB_NO_MEMORY, "no memory for a name");
    if (status == QB_OK) return qb__projection_settle(p, env, job);
    if (p) qb_job_destroy(&p->job);
    return status;
}
