/* SPDX-License-Identifier: MIT */
/* The work of a model-based reconstruction on any engine: a slab is prepared as a whole, then the descent runs. */
#include "recon/mbir/mbir_descent.h"

#include <math.h>
#include <stdio.h>

#include "base/comm.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/status.h"
#include "job/job.h"
#include "quickbeam/io.h"
#include "quickbeam/version.h"

enum { READ_VIEWS = 64 };

/* ---- reading ---- */

static size_t chunk_first(const qb__mbir *m, size_t chunk) { return m->cut.all_slices.first + chunk * m->cut.slices; }

void qb__mbir_rows(const void *plan, size_t first, size_t count, size_t *row0, size_t *row1) {
    const qb__mbir *m = plan;
    *row0 = m->first_row + first;
    *row1 = *row0 + count;
}

static size_t chunk_slices(const qb__mbir *m, size_t chunk) {
    return qb__smaller(m->cut.slices, qb__run_count(m->cut.all_slices) - chunk * m->cut.slices);
}

static size_t raw_row(const qb__mbir *m) { return m->info->columns * qb_dtype_size(m->info->dtype); }

static size_t read_tasks(void *self, size_t chunk) {
    (void)chunk;
    return qb__ceil_div(((const qb__mbir *)self)->info->views, READ_VIEWS);
}

static qb_status read_run(void *self, size_t chunk, size_t task, int worker, const void *in, void *out) {
    (void)worker, (void)in;
    const qb__mbir *m = self;
    const size_t first = task * READ_VIEWS, row = m->first_row + chunk_first(m, chunk);
    const size_t slices = chunk_slices(m, chunk);
    return qb_scan_read(m->scan, first, qb__smaller(first + READ_VIEWS, m->info->views), row, row + slices,
                        (char *)out + first * slices * raw_row(m));
}

int qb__mbir_stages(void *plan, const qb__cut *cut, qb__stage *stages) {
    const qb__mbir *m = plan;
    const size_t slice = m->info->views * raw_row(m);
    stages[0] = (qb__stage){.name = "read",
                            .self = plan,
                            .blocking = true,
                            .slots = cut->slots,
                            .slot_bytes = cut->slices * slice,
                            .last_bytes = qb__cut_last(cut, qb__run_count(cut->all_slices)) * slice,
                            .tasks = read_tasks,
                            .run = read_run};
    return 1;
}

/* ---- preparation ---- */

static size_t prepare_tasks(void *self, size_t chunk) {
    (void)chunk;
    return ((const qb__mbir_descent *)self)->m->info->views;
}

static qb_status prepare_run(void *self, size_t chunk, size_t view, int worker, const void *in, void *out) {
    const qb__mbir_descent *d = self;
    const qb__mbir *m = d->m;
    const size_t slices = chunk_slices(m, chunk);
    qb__prepare_view(d->run->prepare, view, m->first_row + chunk_first(m, chunk), slices,
                     (const char *)in + view * slices * raw_row(m), (float *)out + view * slices * m->info->columns,
                     &d->run->counts[worker]);
    return QB_OK;
}

/* ---- weights of a file ---- */

static size_t slice_floats(const qb__mbir *m) { return qb__mbir_has_reference(m) ? m->grid.n[0] * m->grid.n[1] : 0; }

static size_t weight_rows(const qb__mbir *m, size_t slices) {
    return m->terms.weights_file ? m->info->views * slices * m->info->columns : 0;
}

/* Settings with the scales found in the data. */
static qb__icd_settings settings_of(const qb__mbir *m) {
    qb__icd_settings settings = m->settings;
    settings.prior.sigma = m->images.proximal ? m->measured.sigmas.p : m->measured.sigmas.x;
    settings.sigma_y = m->measured.sigmas.y;
    return settings;
}

/* ---- descent ---- */

/* Find the identity of the job for a checkpoint: options, values found in the data, and the data. */
static qb_status tell_job(const qb__mbir_descent *d, const qb__checkpoint_slab *slab, const void *lines, char **text) {
    const qb__mbir *m = d->m;
    const size_t data = m->info->views * slab->slices * m->info->columns * sizeof(float);
    cJSON *json = qb__mbir_job_of(m, d->engine, d->kernel);
    char hash[20];
    cJSON_AddNumberToObject(json, "slices", (double)slab->slices);
    if (m->settings.halo) cJSON_AddNumberToObject(json, "ranks", qb__comm_count(m->halo.comm));
    cJSON_AddNumberToObject(json, "column", m->center);
    uint64_t sum = qb__hash(m->geometry.view, m->geometry.views * sizeof *m->geometry.view, 0);
    if (m->geometry.radius > 0) sum = qb__hash(&m->geometry.radius, sizeof m->geometry.radius, sum);
    sum = qb__hash(lines, data, sum);
    if (m->terms.weights_file) sum = qb__hash(d->some, data, sum);
    for (int i = 0; i < QB__MBIR_IMAGES; i++)
        if (m->images.image[i].data.data)
            sum = qb__hash(qb__mbir_image_at(m, &m->images.image[i], slab->first - m->first_row),
                           slab->slices * slab->image * sizeof(float), sum);
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)sum);
    cJSON_AddStringToObject(json, "data", hash);
    return qb__json_text(json, "a checkpoint's job", text);
}

typedef struct turning {
    qb__mbir_descent *d;
    qb__checkpoint_slab *slab;
    qb_status status;
} turning;

static bool turned(void *self, const qb__icd_stack *stack, const qb__icd_trace *trace) {
    turning *t = self;
    qb__mbir_descent *d = t->d;
    const int turn = (int)(trace - d->trace);
    t->slab->turns = turn + 1;
    if (qb__mbir_has_reference(d->m))
        t->status = qb__mbir_reference_rmse(d->m, stack, t->slab->first - d->m->first_row, t->slab->slices, d->slice,
                                            &d->trace[turn].rmse);
    if (t->status == QB_OK) qb__checkpoint_swept(&d->m->keep, t->slab);
    return t->status != QB_OK;
}

/* Make the start image of a fan. The transposed matrix cannot do it, because it lacks the voxels' distances from the
 * source. */
static qb_status begin_in_fan(const qb__mbir_descent *d, const qb__checkpoint_slab *slab, qb__icd_given *given,
                              float **images) {
    if (!d->m->rays || !given->filter || given->images) return QB_OK;
    const qb_status status = qb__mbir_fan_start(d->m, slab->slices, given, d->run->pool, d->run->env, images);
    given->images = *images;
    given->filter = NULL;
    return status;
}

static qb_status stack_of_level(void *self, qb__system_matrix *matrix, const qb__icd_settings *settings, size_t slices,
                                qb__icd_stack **stack) {
    qb__mbir_descent *d = self;
    return d->stack(d, matrix, settings, slices, stack);
}

/* Make the start image on coarser voxels. */
static qb_status begin_coarsely(qb__mbir_descent *d, const qb__checkpoint_slab *slab, qb__icd_given *given,
                                float **image) {
    d->coarsely = d->m->coarse.levels > 0;
    if (!d->coarsely) return QB_OK;
    d->coarse = (qb__mbir_coarse){.self = d,
                                  .stack = stack_of_level,
                                  .settings = &d->settings,
                                  .env = &d->env,
                                  .pool = d->run->pool,
                                  .slices = slab->slices,
                                  .trace = d->trace};
    const qb_status status = qb__mbir_coarse_run(d->m, &d->coarse, given, image);
    given->images = *image;
    given->filter = NULL;
    return status;
}

/* Descend from the start, or from a checkpoint. */
static qb_status descend(qb__mbir_descent *d, qb__checkpoint_slab *slab, bool resumed, const float *lines) {
    qb__mbir *m = d->m;
    const size_t first = slab->first - m->first_row;
    qb__icd_given given = {.lines = lines,
                           .weights = d->some,
                           .more = d->masked.more,
                           .most = d->masked.far ? d->masked.limit : 0,
                           .told = d->masked.told,
                           .toward = qb__mbir_image_at(m, &m->images.image[QB__MBIR_TOWARD], first),
                           .images = resumed ? NULL : qb__mbir_image_at(m, m->images.begins_with, first),
                           .filter = resumed ? NULL : m->filter,
                           .theta = m->theta,
                           .constant = resumed ? 0 : m->terms.constant};
    turning t = {d, slab, QB_OK};
    const qb__icd_watch watch = {turned, &t, qb__mbir_has_reference(m) ? qb__mbir_units(m) : NULL};
    float *begun = NULL, *fan = NULL;
    qb_status status;
    if (!resumed) QB__TRY(begin_in_fan(d, slab, &given, &fan));
    if (!resumed) QB__TRY(begin_coarsely(d, slab, &given, &begun));
    QB__TRY(d->stack(d, &m->matrix, &d->settings, slab->slices, &slab->stack));
    QB__TRY(qb__icd_stack_start(slab->stack, &given));
    QB__FREE(begun, fan);
    begun = fan = NULL;
    if (resumed) QB__TRY(qb__checkpoint_load(&m->keep, slab));
    status = qb__icd_stack_run(slab->stack, &d->env, &watch, d->trace, &slab->turns, &slab->stopped);
    if (status == QB_OK) status = t.status;
out:
    QB__FREE(begun, fan);
    return status;
}

/* Warn of truncation and outliers before the end, if there is one slab and one process, because all values are prepared
 * by now. */
static qb_status check_values(const qb__mbir_descent *d) {
    const bool all = d->m->cut.slabs == 1 && qb__comm_count(qb__comm_of(d->run->env)) == 1;
    return all ? qb__prepare_check(d->m->info->path, d->run->counts, qb__pool_threads(d->run->pool)) : QB_OK;
}

/* Give masked values the weight 0 even if the plan has no weights: a slab with masked values then needs weights. */
static qb_status weigh_masked(qb__mbir_descent *d) {
    const qb__mbir *m = d->m;
    d->settings.weighting = m->settings.weighting;
    if (!d->masked.values || m->settings.weighting != QB__WEIGH_NONE) return QB_OK;
    const qb__room without = d->memory(d, &m->cut);
    d->settings.weighting = QB__WEIGH_MEASURED;
    const qb__room with = d->memory(d, &m->cut), *need = &m->cut.need;
    const size_t host = need->host + (with.host - without.host), device = need->device + (with.device - without.device);
    if (host <= d->cap.host && device <= d->cap.device) return QB_OK;
    const bool here = host > d->cap.host;
    return qb__fail(QB_NO_MEMORY,
                    "some line integrals were not measured, and with weights that say so the job takes %.1f MiB%s, "
                    "where %.1f MiB may be "
                    "used: give more by --max-%s, or fewer --slices",
                    (double)(here ? host : device) / 1048576, here ? "" : " on the device",
                    (double)(here ? d->cap.host : d->cap.device) / 1048576, here ? "ram" : "vram");
}

static qb_status look_for_masked(qb__mbir_descent *d, const qb__checkpoint_slab *slab, const float *lines) {
    const qb__mbir *m = d->m;
    QB__OR_RETURN(qb__mbir_masked_find(m, slab->first, slab->slices, lines, m->terms.weights_file ? d->some : NULL,
                                       d->run->pool, &d->masked));
    qb__mbir_masked_report(m, slab->first, slab->slices, &d->masked, d->run->env);
    if (!d->warned_far) d->warned_far = qb__mbir_far_warn(m, slab->first, slab->slices, &d->masked, d->run->env);
    const float *weights = m->terms.weights_file ? d->some : NULL;
    QB__OR_RETURN(
        qb__mbir_truncation_find(m, slab->slices, lines, weights, d->masked.limit, d->run->pool, &d->truncation));
    if (!d->warned_truncation)
        d->warned_truncation = qb__mbir_truncation_warn(m, slab->first, slab->slices, &d->truncation, d->run->env);
    return weigh_masked(d);
}

static qb_status descend_run(void *self, size_t chunk, size_t task, int worker, const void *in, void *out) {
    (void)task, (void)worker;
    qb__mbir_descent *d = self;
    qb__mbir *m = d->m;
    qb__checkpoint_slab slab = {.first = m->first_row + chunk_first(m, chunk),
                                .slices = chunk_slices(m, chunk),
                                .image = m->grid.n[0] * m->grid.n[1],
                                .trace = d->trace,
                                .most = qb__icd_sweeps(m->settings.equits)};
    const float scale = m->options->hu > 0 ? (float)(1000 / m->options->hu) : 1;
    qb__checkpoint_found found;
    char *job = NULL;
    qb_status status;
    d->coarsely = false;
    QB__TRY(check_values(d));
    if (m->terms.weights_file) qb__mbir_weights(m, slab.first, slab.slices, d->some);
    QB__TRY(look_for_masked(d, &slab, in));
    QB__TRY(tell_job(d, &slab, in, &job));
    slab.job = job;
    QB__TRY(qb__checkpoint_look(&m->keep, &slab, &found));
    if (found == QB__FOUND_DONE) {
        slab.images = out;
        QB__TRY(qb__checkpoint_load(&m->keep, &slab));
    } else {
        QB__TRY(descend(d, &slab, found == QB__FOUND_TURNING, in));
        for (size_t s = 0; s < slab.slices; s++)
            QB__TRY(qb__icd_stack_image(slab.stack, s, scale, (float *)out + s * slab.image));
        slab.images = out;
        qb__checkpoint_done(&m->keep, &slab);
    }
    status = qb__mbir_note_slab(d, slab.first - m->first_row, &slab);
out:
    qb__mbir_masked_release(&d->masked);
    qb__icd_stack_destroy(slab.stack);
    cJSON_free(job);
    return status;
}

static double pool_seconds(void *self) { return qb__pool_for_seconds(((const qb__mbir_descent *)self)->run->pool); }

int qb__mbir_descent_stages(void *state, const qb__cut *cut, qb__slot_maker *source, qb__stage *stages) {
    (void)source;
    const qb__mbir *m = ((qb__mbir_descent *)state)->m;
    const size_t lines = m->info->views * m->info->columns * sizeof(float);
    const size_t image = m->grid.n[0] * m->grid.n[1] * sizeof(float);
    const size_t last = qb__cut_last(cut, qb__run_count(cut->all_slices));
    stages[0] = (qb__stage){.name = "prepare",
                            .self = state,
                            .slots = 1,
                            .slot_bytes = cut->slices * lines,
                            .last_bytes = last * lines,
                            .tasks = prepare_tasks,
                            .run = prepare_run};
    stages[1] = (qb__stage){.name = "mbir",
                            .self = state,
                            .blocking = true,
                            .slots = 1,
                            .slot_bytes = cut->slices * image,
                            .last_bytes = last * image,
                            .run = descend_run,
                            .cpu_seconds = pool_seconds};
    return 2;
}

/* ---- cost ---- */

size_t qb__mbir_voxels(const qb__mbir *m) { return qb__icd_pixels(m->grid.n[0], m->grid.n[1], m->settings.radius); }

size_t qb__mbir_descent_bytes(const qb__mbir *m, const qb__cut *cut, size_t stack) {
    stack += qb__mbir_masked_bytes(m, cut->slices) + qb__mbir_truncation_bytes(m) +
             qb__mbir_coarse_image_bytes(m, cut->slices) + qb__mbir_fan_bytes(m, cut->slices);
    const size_t look = 2 * QB__MBIR_LOOK * m->info->views * m->info->columns * sizeof(float);
    const size_t trace = (size_t)qb__icd_sweeps(qb__mbir_coarse_equits(m)) * sizeof(qb__icd_trace);
    const size_t weights = (weight_rows(m, m->info->rows) + weight_rows(m, cut->slices)) * sizeof(float);
    return weights + slice_floats(m) * sizeof(float) + qb__mbir_images_bytes(m) + qb__larger(look, stack + trace);
}

/* ---- life ---- */

/* Open the checkpoint of a cut. With several ranks even a single slab is saved when it is finished, because it finishes
 * before the job does. */
static qb_status open_checkpoint(qb__mbir_descent *d, const qb__cut *cut) {
    qb__mbir *m = d->m;
    const qb_mbir_options *o = m->options;
    const bool alone = qb__comm_count(qb__comm_of(d->run->env)) == 1;
    return qb__checkpoint_open(m->output, o->resume, o->checkpoint, cut->slabs > 1 || !alone,
                               alone ? NULL : m->measured.job, m->settings.halo, d->run->env, &m->keep);
}

void qb__mbir_descent_close(void *state) {
    qb__mbir_descent *d = state;
    QB__FREE(d->some, d->slice, d->trace);
    cJSON_Delete(d->slabs);
    qb__checkpoint_close(&d->m->keep);
    *d = (qb__mbir_descent){.m = d->m,
                            .threads = d->threads,
                            .stack = d->stack,
                            .engine = d->engine,
                            .kernel = d->kernel,
                            .memory = d->memory,
                            .cap = d->cap};
}

qb_status qb__mbir_descent_open(void *state, const qb__cut *cut, const qb__running *run) {
    qb__mbir_descent *d = state;
    const qb__mbir *m = d->m;
    qb_status status;
    d->run = run;
    if (run->env) d->env = *run->env;
    if (cut->slabs > 1) d->env.progress = NULL;
    d->settings = settings_of(m);
    QB__TRY(qb__alloc(weight_rows(m, cut->slices), sizeof(float), &d->some));
    QB__TRY(qb__alloc(slice_floats(m), sizeof(float), &d->slice));
    QB__TRY(qb__alloc((size_t)qb__icd_sweeps(qb__mbir_coarse_equits(m)), sizeof *d->trace, &d->trace));
    d->slabs = cJSON_CreateArray();
    status = open_checkpoint(d, cut);
out:
    return status;
}
