/* SPDX-License-Identifier: MIT */
/* The life of a job: planned, described, run, released; the same for every method. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/fork.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "cpu/features.h"
#include "geometry/circle.h"
#include "io/mbirct/mbirct.h"
#include "io/scan/scan.h"
#include "io/tensor/tensor_stack.h"
#include "job/grey_levels.h"
#include "job/job.h"
#include "planner/storage.h"
#include "recon/plane.h"
#include "recon/reconstruction.h"
#include "recon/reconstruction_parts.h"

static void destroy(qb_job *job) {
    qb__reconstruction *r = (qb__reconstruction *)job;
    qb__engines_destroy(r);
    qb__device_set_close(&r->devices);
    if (r->plan) r->method->release(r->plan);
    qb__free(r->plan);
    if (r->options) qb_params_clear(r->method->params, r->options);
    qb__free(r->options);
    qb__dense_destroy(r->dense);
    qb__phase_destroy(r->phase);
    qb_params_clear(qb_prep_params, &r->prep);
    qb_params_clear(qb_output_params, &r->output);
    cJSON_Delete(r->remarks);
    QB__FREE(r->command, r->input, r->pick.todo, r->share.parts, r->share.staged, r);
}

/* ---- plan ---- */

static qb_status copy_text(const char *text, char **copy) {
    *copy = qb__strdup(text);
    return *copy || !text ? QB_OK : qb__fail(QB_NO_MEMORY, "no memory for a name");
}

/* from->more is a geometry or NULL if the method reads a scan. */
static qb_status open_phase(qb__reconstruction *r, const qb__request *from, const qb_env *env) {
    qb_status status = qb_params_copy(qb_prep_params, from->prep, &r->prep);
    if (status == QB_OK) status = qb__phase_create(from->scan, from->more, &r->prep, env, &r->phase);
    if (status != QB_OK) return status;
    return qb__dense_create(qb__phase_scan(r->phase, from->scan), r->phase != NULL, &r->prep, &r->dense);
}

static qb_status copy_request(qb__reconstruction *r, const qb__request *from, const qb_env *env) {
    qb_status status;
    if (from->scan) QB__TRY(open_phase(r, from, env));
    qb_scan *scan = r->dense ? qb__dense_scan(r->dense) : qb__phase_scan(r->phase, from->scan);
    const qb_scan_info *info = scan ? qb_scan_describe(scan) : NULL;
    QB__TRY(copy_text(from->command, &r->command));
    QB__TRY(copy_text(from->input ? from->input : info->path, &r->input));
    QB__TRY(qb__alloc(1, qb_params_size(r->method->params), &r->options));
    QB__TRY(qb__alloc(1, r->method->plan_bytes, &r->plan));
    QB__TRY(qb_params_copy(r->method->params, from->options, r->options));
    QB__TRY(qb__output_take(from->output, &r->output));
    r->task = (qb__task){.scan = scan,
                         .info = info,
                         .input = r->input,
                         .more = from->more,
                         .prep = &r->prep,
                         .options = r->options,
                         .output = &r->output,
                         .threads = env && env->threads > 0 ? env->threads : qb__cpu_count()};
out:
    return status;
}

static void begin_subject(const qb__reconstruction *r, qb__subject *subject) {
    const qb_scan_info *info = r->task.info;
    *subject = (qb__subject){.verb = r->method->verb, .input = r->task.input, .units = ""};
    if (!info) return;
    subject->format = info->format;
    subject->quantity = qb_quantity_name(info->quantity);
    subject->quantity_from = info->quantity_from;
    subject->views = info->views, subject->rows = info->rows, subject->columns = info->columns;
}

static qb_status check_dtype(const qb__reconstruction *r) {
    if (qb_dtype_is_float(r->output.dtype)) return QB_OK;
    if (r->decision.of_views) return qb__fail(QB_BAD_ARGUMENT, "line integrals are written as float32 or float16");
    if (r->output.range.count == 0 && !r->method->range && !r->output.range_of)
        return qb__fail(QB_BAD_ARGUMENT, "--dtype uint16 and uint8 need --range LO,HI, or --range-of volume");
    return QB_OK;
}

/* Do not read with more threads than are worthwhile for this storage, by its measured speed. */
static void limit_reading(const qb__reconstruction *r) {
    qb__storage storage;
    if (r->task.scan && qb__storage_find(r->task.input, &storage))
        qb__scan_limit(r->task.scan, qb__storage_pays(storage.read));
}

static void rate_files(qb__reconstruction *r) {
    const size_t threads = (size_t)r->task.threads;
    qb__storage storage;
    qb__storage_of(r->task.input, &storage);
    r->task.read = qb__storage_rate(storage.read, threads);
    r->task.write = qb__volume_write_rate(&r->volume, threads, &r->task.write_from);
    r->task.in_memory =
        qb__storage_in_memory(r->task.input) && !r->output.array && qb__storage_in_memory(r->output.output);
}

/* sv-mbirct images carry the numbers of the slices that they show. */
static void number_images(const qb__reconstruction *r, qb_stack *stack) {
    const char *path = r->output.output;
    if (r->task.info && path && qb__mbirct_is_images(path)) stack->first += r->task.info->first_slice;
}

/* Peak memory before the first chunk: while the axis is searched for, and while the range of integers is found. The
 * search for the axis ends before other buffers are allocated. */
static qb_status look_before(qb__reconstruction *r, const qb_env *env) {
    const qb__decision *d = &r->decision;
    const size_t range = d->range_bytes ? r->held + d->range_bytes(r->plan) : 0,
                 begin = d->begin_bytes ? qb__resident_bytes() + d->begin_bytes : 0;
    r->before = qb__larger(range, begin);
    if (range <= r->cap) return QB_OK;
    return qb__fail_ram(env, (double)r->cap, (double)range,
                        "finding the range of the integers, which --range LO,HI saves, needs");
}

static qb_status decide(qb__reconstruction *r, const qb_env *env) {
    qb__decision *d = &r->decision;
    qb_status status;
    r->job.plan = cJSON_CreateObject();
    QB__TRY(qb__volume_check(&r->output, r->task.input));
    begin_subject(r, &d->subject);
    QB__TRY(r->method->decide(&r->task, r->plan, env, r->job.plan, d));
    QB__TRY(check_dtype(r));
    QB__TRY(qb__draft_check(r));
    number_images(r, &d->stack);
    d->stack.z_down = r->task.info && r->task.info->rows_down && !qb__stack_is_projections(&d->stack);
    QB__TRY(qb__ranks_share(r, env));
    if (!d->resume) qb__phase_keep(r->phase, d->row0, d->row1, env);
    r->volume =
        (qb__volume_out){.comm = r->comm,
                         .options = &r->output,
                         .stack = d->stack,
                         .hu = d->hu,
                         .mask = d->mask,
                         .lost = d->lost                                         ? d->lost
                                 : d->slices_are_rows && r->task.scan->lost_rows ? r->task.scan->lost_rows + d->row0
                                                                                 : NULL,
                         .lost_step = !d->lost && d->row_step ? d->row_step : 1,
                         .threads = r->task.threads,
                         .sidecar = d->sidecar,
                         .keep = {.resume = d->resume}};
    QB__TRY(qb__volume_begin(&r->volume));
    QB__TRY(qb__volume_spread(&r->volume, env));
    QB__TRY(qb__keep_check(r));
    limit_reading(r);
    rate_files(r);
    r->cap = qb__memory_cap(env);
    r->held = qb__held_bytes(
        &(qb__held){.threads = r->task.threads,
                    .scan = r->task.info,
                    .prepared = (r->task.info ? qb__prepare_bytes(r->task.info, &r->prep, d->row1 - d->row0) : 0) +
                                qb__phase_bytes(r->phase) + qb__dense_bytes(r->dense) + qb__draft_bytes(r),
                    .observers = qb__observers_bytes(&r->output, d->stack.shape),
                    .more = d->more + (size_t)r->task.threads *
                                          qb__denoise_bytes(&r->volume.denoise, d->stack.shape[2], d->stack.shape[1])});
    QB__TRY(qb__engines_decide(r, env));
    qb__engines_choose(r, 0, env);
    QB__TRY(qb__ranks_cut(r));
    QB__TRY(look_before(r, env));
    qb__engines_settle(r);
    r->remarks = cJSON_Duplicate(r->job.plan, true);
    status = qb__reconstruction_describe(r);
out:
    return status;
}

/* A decision depended on a value that was unknown until now: decide again. */
static qb_status decide_anew(qb__reconstruction *r, const qb_env *env) {
    qb__engines_destroy(r);
    qb__device_set_close(&r->devices);
    r->looked = false;
    r->method->release(r->plan);
    cJSON_Delete(r->remarks);
    cJSON_Delete(r->job.plan);
    r->remarks = r->job.plan = NULL;
    r->decision = (qb__decision){0};
    return decide(r, env);
}

/* ---- run ---- */

static void release(qb__reconstruction *r) {
    if (r->method->close) r->method->close(r->plan, r->named);
    qb__engines_close(r);
    qb__compile_done(&r->devices, NULL); /* ends the progress messages of compiling if the run has failed */
    r->opened = r->named = false;
    qb__phase_arm(r->phase, false);
    qb__prepare_destroy(r->prepare);
    qb__pool_destroy(r->pool);
    r->prepare = NULL;
    r->pool = NULL;
    r->running = (qb__running){0};
    qb__volume_abort(&r->volume);
    if (r->task.scan) qb__digest_detach(&r->task.scan->digests, &r->job.digest);
}

/* The range of integers, from the middle slice or the volume, by the rank that has that slice. */
static qb_status find_range(qb__reconstruction *r) {
    const qb_stack *stack = &r->volume.stack;
    const int from =
        qb__cut_owner(stack->shape[0], qb__larger(1, r->decision.grain), qb__comm_count(r->comm), stack->shape[0] / 2);
    double range[2];
    qb_status status = QB_OK;
    if (qb__comm_rank(r->comm) == from)
        status = r->output.range_of ? qb__range_of_volume(r, qb__reconstruction_plan, &range[0], &range[1])
                                    : r->method->range(r->plan, &r->running, &range[0], &range[1]);
    status = qb__comm_bcast(r->comm, status, from, range, sizeof range);
    if (status != QB_OK) return status;
    r->volume.low = range[0], r->volume.high = range[1];
    return QB_OK;
}

static qb_status open_output(qb__reconstruction *r, const qb_env *env) {
    if (!qb_dtype_is_float(qb__volume_dtype(&r->volume)) && r->output.range.count == 0) {
        qb_status status = find_range(r);
        if (status != QB_OK) return status;
    }
    qb__keep_begin(r);
    return qb__volume_open(&r->volume, env);
}

static qb_status stream(qb__reconstruction *r, const qb_env *env, qb__prep_counts *sum) {
    const int threads = r->task.threads;
    qb__prep_counts *counts;
    qb_status status;
    qb__prepare_recount(r->prepare);
    qb__dense_recount(r->dense);
    status = qb__engines_open(r, env);
    /* no rank may wait for a rank that failed before this point */
    if (r->share.ranks) status = qb__agree(r->comm, status);
    if (status != QB_OK) goto out;
    QB__TRY(qb__keep_skip_done(r, env));
    const qb__candidate *c = qb__chosen(r); /* opening may have chosen another engine */
    counts = r->running.counts;
    QB__TRY(qb__pipeline_run(r->line, r->running.pool, env, &r->times));
    if (c->engine->finish) QB__TRY(c->engine->finish(c->offer.state, r->job.report, &counts[0]));
    if (r->pick.facts.pick) qb__device_pick_done(r->pick.facts.pick, r->job.report);
    for (int i = 0; i < threads; i++) qb__prep_counts_add(sum, &counts[i]);
    sum->clamped += qb__dense_clamped(r->dense);
    qb__report_stages(r->job.report, &r->times, threads);
out:
    return status;
}

/* The end of the run on this rank, done or failed: combine the status and the counts of all ranks, then report. */
static qb_status sum_up(qb__reconstruction *r, const qb_env *env, qb__prep_counts *sum, qb_status status) {
    QB__TRY(qb__ranks_sum(r, status, sum));
    if (r->prepare) {
        /* else only a part of the rows was read in this run */
        if (!r->volume.keep.done) QB__TRY(qb__prepare_check(r->task.input, sum, 1));
        qb__prepare_report(r->prepare, sum, 1, r->job.report, env);
    }
    if (r->method->end) QB__TRY(r->method->end(r->plan, r->job.report, r->volume.set, env));
out:
    return status;
}

static void add_way(cJSON *ways, const char *what, const qb__tensor_device *array, bool in_place) {
    if (array) cJSON_AddStringToObject(ways, what, in_place ? "in place" : "through page-locked host memory");
}

/* How arrays in a device's memory were reached. */
static void report_arrays(qb__reconstruction *r) {
    qb__source *source = r->decision.source;
    qb__tensor_device *from = r->task.scan ? qb__scan_on_device(r->task.scan)
                              : source     ? qb__tensor_device_of(source)
                                           : NULL;
    qb__tensor_device *to = qb__tensor_device_written(r->volume.writer);
    if (!from && !to) return;
    cJSON *ways = cJSON_AddObjectToObject(r->job.report, "arrays_on_device");
    add_way(ways, "input", from, r->taken);
    add_way(ways, "output", to, r->volume.in_place);
}

static qb_status finish_output(qb__reconstruction *r, const qb_env *env) {
    cJSON *report = r->job.report;
    cJSON_AddStringToObject(report, "kind", r->decision.of_views ? "projections" : "volume");
    if (r->task.scan) qb__scan_add_findings(r->task.scan, report);
    char *provenance = NULL;
    qb_status status = qb__volume_report(&r->volume, report, env);
    if (status != QB_OK) return status;
    report_arrays(r);
    cJSON_AddStringToObject(report, "output", r->output.output);
    cJSON_AddStringToObject(report, "kernel", r->pick.facts.kernel->id);
    status = qb__ranks_report(r, status);
    if (r->decision.digest) qb__content_add_images(r->job.content, "volume", r->decision.digest);
    if (status == QB_OK && qb__comm_rank(r->comm) == 0 && !r->output.array) /* an array has no place for provenance */
        status = qb__provenance(&r->job, r->command, r->task.input, r->decision.of_views, r->decision.stack.angles,
                                &provenance);
    status = qb__volume_commit(&r->volume, status, provenance, report);
    cJSON_free(provenance);
    return status;
}

static qb_status begin_digest(qb_scan *scan, qb__digest *digest, const qb__share *share) {
    const qb_scan_info *info = &scan->info;
    const size_t row = info->columns * qb_dtype_size(qb__scan_dtype(scan));
    const qb_status status = qb__digest_begin(digest, info->views, info->rows, row, share->own0, share->own1);
    qb__digest_except(digest, 0, share->view0);
    qb__digest_except(digest, share->view0 + share->views, info->views);
    qb__digest_except_rows(digest, share->view0, share->view0 + share->views, share->gap0, share->gap1);
    if (status == QB_OK) qb__digest_attach(&scan->digests, digest);
    return status;
}

static qb_status begin_source_digest(const qb__source *source, qb__digest *digest) {
    const size_t *shape = source->shape;
    return qb__digest_begin(digest, shape[0], shape[1], shape[2] * qb_dtype_size(source->dtype), 0, shape[1]);
}

/* Column of the axis in all rows; NAN: not known, or another one in each row or view. */
static double axis_of(const qb__reconstruction *r) {
    const double OFF = 1; /* pixels from an ideal circle */
    const qb__decision *d = &r->decision;
    qb__circle circle;
    if (!d->turn.geometry) return d->axis && d->turn.radians && !d->turn.file ? *d->axis : NAN;
    return qb__circle_fit(d->turn.geometry, &circle) == QB_OK && circle.error < OFF ? circle.column : NAN;
}

/* If ranks share the views and all have all rows, one rank may read a row in one pass and another rank in a later pass.
 * The row counts in one digest only. If a pass reads all rows, that is the digest of the rank for which they are read;
 * else that of the rank to which they are streamed. */
static qb_status prepare(qb__reconstruction *r, const qb_env *env) {
    const qb__decision *d = &r->decision;
    const qb__share *share = &r->share;
    const double axis = axis_of(r);
    const qb__prepared rows = {.row0 = d->row0,
                               .row1 = d->row1,
                               .step = d->row_step,
                               .own0 = share->own0,
                               .own1 = share->own1,
                               .all = share->ranks != NULL,
                               .keep_lost = d->keep_lost,
                               .ends = d->pad,
                               .axis = axis > 0 ? axis : 0};
    qb_status status = QB_OK;
    const bool late = share->ranks && !d->summed && !qb__prepare_reads_all(r->task.info, &r->prep);
    if (late) qb__digest_detach(&r->task.scan->digests, &r->job.digest);
    status = qb__prepare_create(r->task.scan, &r->prep, &rows, env, &r->prepare);
    if (late) qb__digest_attach(&r->task.scan->digests, &r->job.digest);
    if (status == QB_OK && r->dense) qb__prepare_free_floor(r->prepare);
    return status;
}

static qb_status begin(qb__reconstruction *r, const qb_env *env) {
    const qb__decision *d = &r->decision;
    qb_status status = QB_OK;
    r->running = (qb__running){.env = env,
                               .ranks = r->share.ranks,
                               .report = r->job.report,
                               .job = &r->job,
                               .volume = &r->volume,
                               .taken = &r->taken};
    bool anew = false;
    if (r->candidates == 0) QB__TRY(decide_anew(r, env)); /* an earlier run has failed */
    qb_scan *scan = r->task.scan;
    if (scan) QB__TRY(begin_digest(scan, &r->job.digest, &r->share));
    if (d->digest) QB__TRY(begin_source_digest(d->source, d->digest));
    if (r->method->begin) QB__TRY(r->method->begin(r->plan, env, r->job.report, &anew));
    if (anew || r->dense) QB__TRY(decide_anew(r, env)); /* a draft needs the axis that was found */
    QB__TRY(qb__draft_run(r, qb__reconstruction_plan, env));
    const qb__candidate *c = qb__chosen(r);
    qb__phase_arm(r->phase, true);
    if (r->task.scan) QB__TRY(prepare(r, env));
    r->running.prepare = r->prepare;
    r->running.pool = c->offer.pool;
    if (r->pick.facts.pick) r->running.device = r->pick.facts.pick->device;
    if (!r->running.pool) QB__TRY(qb__pool_create(r->task.threads, &r->pool));
    if (!r->running.pool) r->running.pool = r->pool;
    if (r->method->measure) QB__TRY(r->method->measure(r->plan, &r->running));
    if (!r->silent) QB__TRY(qb__reconstruction_look(r, env));
out:
    return status;
}

void qb_tool_job_is_checked(qb_job *job) { ((qb__reconstruction *)job)->silent = true; }

static qb_status run(qb_job *job, const qb_env *env) {
    qb__reconstruction *r = (qb__reconstruction *)job;
    qb__prep_counts sum = {0};
    qb_status status;
    QB__TRY(qb__volume_room(&r->volume, env));
    QB__TRY(begin(r, env));
    QB__TRY(open_output(r, env));
    status = qb__idle(r) ? QB_OK : stream(r, env, &sum);
    QB__TRY(sum_up(r, env, &sum, status));
    status = finish_output(r, env);
    r->named = status == QB_OK;
out:
    release(r);
    return qb__agree(r->comm, status);
}

/* Report what was unusual when the scan was opened. A separate geometry states the angles, and --air replaces flats, so
 * these are not reported as missing. */
static void keep_problems(qb__reconstruction *r, const qb__request *request) {
    const size_t count = request->scan ? qb_scan_describe(request->scan)->problems : 0;
    for (size_t i = 0; i < count; i++) {
        const char *text = qb_scan_problem(request->scan, i);
        const qb_problem kind = qb_scan_problem_kind(request->scan, i);
        const bool angles = request->more && kind == QB_PROBLEM_ANGLES,
                   air = request->prep && request->prep->air && kind == QB_PROBLEM_FLATS;
        if (!angles && !air) qb__job_warned(&r->job, text);
    }
}

/* Report an unused --window. It is no error, because a configuration file may carry the option from run to run. */
static void tell_idle(const qb__reconstruction *r, const qb_env *env) {
    qb__grey_levels window;
    const bool asked = qb__grey_levels_parse(r->output.window, &window) == QB_OK && window.asked;
    if (asked && !r->output.preview)
        qb__info(env, "--window has no effect: no picture is made without --preview FILE.png");
}

qb_status qb__reconstruction_plan(const qb__method *method, const qb__request *request, const qb_env *env,
                                  qb_job **job) {
    qb__reconstruction *r;
    *job = NULL;
    QB__CALL();
    qb_status status = qb__env_check(env);
    if (status == QB_OK) status = qb__alloc(1, sizeof *r, &r);
    if (status != QB_OK) return status;
    r->job.run = run;
    r->job.destroy = destroy;
    r->job.transpose = qb__reconstruction_transpose;
    r->method = method;
    r->silent = request->silent;
    r->job.scan = request->scan;
    env = qb__job_listen(&r->job, env);
    r->comm = env->ranks;
    keep_problems(r, request);
    status = request->scan ? qb__scan_usable(request->scan) : QB_OK;
    if (status == QB_OK) status = copy_request(r, request, env);
    if (request->scan) r->job.inputs.also[0] = &request->scan->inputs;
    r->job.inputs.also[1] = request->read;
    qb__inputs_begin(&r->job.inputs);
    if (status == QB_OK) status = decide(r, env);
    qb__inputs_end(&r->job.inputs);
    if (status == QB_OK) status = qb__volume_protect_inputs(&r->volume, &r->job.inputs, env);
    if (status == QB_OK) tell_idle(r, env);
    status = qb__ranks_agree(r, status);
    if (status == QB_OK)
        *job = &r->job;
    else
        qb_job_destroy(&r->job);
    return status;
}

qb_status qb__reconstruction_plan_along(const qb__method *method, qb_scan *scan, const qb_geometry *geometry,
                                        const qb_prep_options *prep, const void *options,
                                        const qb_output_options *output, const char *command, const qb_env *env,
                                        qb_job **job) {
    if (!scan || !job) return qb__fail(QB_BAD_ARGUMENT, "qb_%s_plan: %s is NULL", method->verb, scan ? "job" : "scan");
    geometry = qb__scan_views_of(scan, geometry);
    const qb__request request = {.scan = scan,
                                 .more = geometry,
                                 .read = geometry ? geometry->read_from : NULL,
                                 .prep = prep,
                                 .options = options,
                                 .output = output,
                                 .command = command};
    return qb__reconstruction_plan(method, &request, env, job);
}

const void *qb__reconstruction_plan_of(const qb_job *job, const qb__method *method) {
    const qb__reconstruction *r = (const qb__reconstruction *)job;
    return job && job->run == run && r->method == method ? r->plan : NULL;
}
