/* SPDX-License-Identifier: MIT */
/* The life of a job: planned, described, run, released; the same for every method. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "cpu/features.h"
#include "io/scan.h"
#include "io/tensor.h"
#include "job/budget.h"
#include "planner/storage.h"
#include "recon/reconstruction_parts.h"

static void destroy(qb_job *job) {
    qb__reconstruction *r = (qb__reconstruction *)job;
    qb__engines_destroy(r);
    if (r->plan) r->method->release(r->plan);
    qb__free(r->plan);
    if (r->options) qb_params_clear(r->method->params, r->options);
    qb__free(r->options);
    qb_params_clear(qb_prep_params, &r->prep);
    qb_params_clear(qb_output_params, &r->output);
    cJSON_Delete(r->remarks);
    qb__free(r->command);
    qb__free(r->input);
    qb__free(r->edge);
    qb__free(r);
}

/* ---- plan ---- */

static qb_status copy_text(const char *text, char **copy) {
    *copy = qb__strdup(text);
    return *copy || !text ? QB_OK : qb__fail(QB_NO_MEMORY, "no memory for a name");
}

static qb_status copy_request(qb__reconstruction *r, const qb__request *from, const qb_env *env) {
    qb_status status;
    const qb_scan_info *info = from->scan ? qb_scan_describe(from->scan) : NULL;
    QB__TRY(copy_text(from->command, &r->command));
    QB__TRY(copy_text(from->input ? from->input : info->path, &r->input));
    QB__TRY(qb__alloc(1, r->method->options_bytes, &r->options));
    QB__TRY(qb__alloc(1, r->method->plan_bytes, &r->plan));
    QB__TRY(qb_params_copy(r->method->params, from->options, r->options));
    if (from->scan) QB__TRY(qb_params_copy(qb_prep_params, from->prep, &r->prep));
    QB__TRY(qb__output_take(from->output, &r->output));
    r->task = (qb__task){.scan = from->scan,
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
    if (r->method->only_float)
        return qb__fail(QB_BAD_ARGUMENT, "line integrals are written as float32 or float16");
    if (r->output.range.count == 0 && !r->method->range)
        return qb__fail(QB_BAD_ARGUMENT, "--dtype uint16 and uint8 need --range LO,HI");
    return QB_OK;
}

/* What decide() remarked stays; all else is said anew. */
static cJSON *remarks_of(qb__reconstruction *r) {
    if (!r->remarks) r->remarks = cJSON_Duplicate(r->job.plan, true);
    return cJSON_Duplicate(r->remarks, true);
}

/* What reading and writing take, where these storages were measured (qb bench io); the longer, as they overlap. */
static double storage_seconds(const qb__reconstruction *r, cJSON *plan) {
    const qb_scan_info *info = r->task.info;
    const qb__decision *d = &r->decision;
    const size_t threads = (size_t)r->task.threads;
    const double write = qb__volume_write_seconds(&r->volume, threads);
    qb__storage storage;
    double read = 0;
    if (r->task.scan && qb__storage_find(r->task.input, &storage))
        read = (double)info->views * (double)(d->row1 - d->row0) * (double)info->columns *
               (double)qb_dtype_size(info->dtype) / qb__storage_rate(storage.read, threads);
    if (read > 0) cJSON_AddNumberToObject(plan, "read_seconds", read);
    if (write > 0) cJSON_AddNumberToObject(plan, "write_seconds", write);
    return fmax(read, write);
}

/* As many threads as were found to pay. */
static void limit_reading(const qb__reconstruction *r) {
    qb__storage storage;
    if (r->task.scan && qb__storage_find(r->task.input, &storage))
        qb__scan_limit(r->task.scan, qb__storage_pays(storage.read));
}

qb_status qb__reconstruction_describe(qb__reconstruction *r) {
    const qb__candidate *c = qb__chosen(r);
    const qb__cut *cut = &r->cut;
    cJSON *plan = remarks_of(r);
    qb__describe_subject(plan, &r->decision.subject);
    qb__describe_options(plan, r->method->params, r->options);
    if (r->task.scan) qb__describe_options(plan, qb_prep_params, &r->prep);
    c->engine->describe(c->offer.state, cut, plan);
    r->method->describe(r->plan, cut, plan);
    cJSON_AddNumberToObject(plan, "threads", r->task.threads);
    cJSON_AddNumberToObject(plan, "slices_per_chunk", (double)cut->slices);
    cJSON_AddNumberToObject(plan, "chunks", (double)cut->slabs);
    cJSON_AddNumberToObject(plan, "views_per_block", (double)cut->views);
    cJSON_AddNumberToObject(plan, "ring_slots", cut->slots);
    cJSON_AddNumberToObject(plan, "start_seconds", r->start);
    qb__describe_cost(plan, &r->volume, r->memory, fmax(cut->seconds, storage_seconds(r, plan)));
    qb__job_add_warnings(&r->job, plan); /* of the text; in provenance they stand beside the plan */
    cJSON_Delete(r->job.plan);
    r->job.plan = plan;
    cJSON_free(r->job.plan_text);
    r->job.plan_text = cJSON_Print(plan);
    cJSON_DeleteItemFromObject(plan, "warnings");
    return r->job.plan_text ? QB_OK : qb__fail(QB_NO_MEMORY, "no memory for the plan");
}

static qb_status decide(qb__reconstruction *r, const qb_env *env) {
    qb__decision *d = &r->decision;
    qb_status status;
    r->job.plan = cJSON_CreateObject();
    QB__TRY(qb__volume_check(&r->output, r->task.input));
    QB__TRY(check_dtype(r));
    begin_subject(r, &d->subject);
    QB__TRY(r->method->decide(&r->task, r->plan, env, r->job.plan, d));
    r->volume = (qb__volume_out){.options = &r->output,
                                 .stack = d->stack,
                                 .hu = d->hu,
                                 .mask = d->mask,
                                 .beside = d->beside};
    QB__TRY(qb__volume_spread(&r->volume, env));
    limit_reading(r);
    r->cap = qb__memory_cap(env);
    r->held = qb__held_bytes(&(qb__held){
        .threads = r->task.threads,
        .scan = r->task.info,
        .prepared = r->task.info
                        ? qb__prepare_bytes(r->task.info, &r->prep, d->row1 - d->row0)
                        : 0,
        .observers = qb__observers_bytes(&r->output, d->stack.shape),
        .more = d->more});
    QB__TRY(qb__engines_decide(r, env));
    QB__TRY(qb__engines_choose(r, 0, env));
    if (r->method->before) QB__TRY(r->method->before(r->plan, r->held, r->cap, env, &r->before));
    qb__engines_settle(r);
    status = qb__reconstruction_describe(r);
out:
    return status;
}

/* What was decided rested on something that has been found out. */
static qb_status decide_anew(qb__reconstruction *r, const qb_env *env) {
    qb__engines_destroy(r);
    r->method->release(r->plan);
    cJSON_Delete(r->remarks);
    cJSON_Delete(r->job.plan);
    r->remarks = r->job.plan = NULL;
    r->decision = (qb__decision){0};
    return decide(r, env);
}

/* ---- run ---- */

static void release(qb__reconstruction *r) {
    const qb__candidate *c = qb__chosen(r);
    if (r->opened && !r->finished && c->engine->finish)
        c->engine->finish(c->offer.state, NULL, NULL);
    qb__engines_close(r);
    r->opened = r->finished = false;
    qb__prepare_destroy(r->prepare);
    qb__pool_destroy(r->pool);
    r->prepare = NULL;
    r->pool = NULL;
    r->running = (qb__running){0};
    qb__volume_abort(&r->volume);
}

static qb_status open_output(qb__reconstruction *r, const qb_env *env) {
    if (!qb_dtype_is_float(qb__volume_dtype(&r->volume)) && r->output.range.count == 0) {
        qb_status status =
            r->method->range(r->plan, &r->running, &r->volume.low, &r->volume.high);
        if (status != QB_OK) return status;
    }
    return qb__volume_open(&r->volume, env);
}

static qb_status stream(qb__reconstruction *r, const qb_env *env) {
    const qb__candidate *c = qb__chosen(r);
    cJSON *report = r->job.report;
    const int threads = r->task.threads;
    qb__prep_counts *counts = r->running.counts;
    qb__pipeline_report times;
    qb_status status;
    QB__TRY(qb__pipeline_run(r->line, r->running.pool, env, &times));
    if (c->engine->finish) QB__TRY(c->engine->finish(c->offer.state, report, &counts[0]));
    r->finished = true;
    if (r->prepare) {
        QB__TRY(qb__prepare_check(r->task.input, counts, threads));
        qb__prepare_report(r->prepare, counts, threads, report, env);
    }
    qb__report_stages(report, &times, threads);
    if (r->method->end) QB__TRY(r->method->end(r->plan, report, r->volume.set));
out:
    return status;
}

static void add_way(cJSON *ways, const char *what, const qb__tensor_device *array, bool in_place) {
    if (array)
        cJSON_AddStringToObject(ways, what,
                                in_place ? "in place" : "through page-locked host memory");
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
    const qb__candidate *c = qb__chosen(r);
    cJSON *report = r->job.report;
    cJSON_AddStringToObject(report, "kind", r->method->only_float ? "projections" : "volume");
    qb__volume_report(&r->volume, report, env);
    report_arrays(r);
    cJSON_AddStringToObject(report, "output", r->output.output);
    cJSON_AddStringToObject(report, "kernel", c->engine->kernel(c->offer.state));
    char *provenance;
    qb_status status = qb__provenance(&r->job, r->command, r->task.input, &provenance);
    if (status == QB_OK) status = qb__volume_commit(&r->volume, provenance);
    cJSON_free(provenance);
    return status;
}

static qb_status begin(qb__reconstruction *r, const qb_env *env) {
    const qb__decision *d = &r->decision;
    qb_status status = QB_OK;
    r->running = (qb__running){
        .env = env, .report = r->job.report, .job = &r->job, .command = r->command,
        .volume = &r->volume, .taken = &r->taken};
    bool anew = false;
    if (r->candidates == 0) QB__TRY(decide_anew(r, env)); /* failed in a run before */
    qb_scan *scan = r->task.scan;
    if (scan) QB__TRY(qb__scan_digest_begin(&scan->digest, &scan->info, d->row0, d->row1));
    if (r->method->begin) QB__TRY(r->method->begin(r->plan, env, r->job.report, &anew));
    if (anew) QB__TRY(decide_anew(r, env));
    const qb__candidate *c = qb__chosen(r);
    if (r->task.scan)
        QB__TRY(qb__prepare_create(r->task.scan, &r->prep, d->row0, d->row1, d->row_step, env, &r->prepare));
    r->running.prepare = r->prepare;
    if (c->engine->pool) r->running.pool = c->engine->pool(c->offer.state);
    if (!r->running.pool) QB__TRY(qb__pool_create(r->task.threads, &r->pool));
    if (!r->running.pool) r->running.pool = r->pool;
out:
    return status;
}

static qb_status run(qb_job *job, const qb_env *env) {
    qb__reconstruction *r = (qb__reconstruction *)job;
    qb_status status;
    if (!r->decision.instead) QB__TRY(qb__volume_room(&r->volume));
    QB__TRY(begin(r, env));
    if (r->decision.instead) {
        status = r->method->instead(r->plan, &r->running);
        goto out;
    }
    QB__TRY(open_output(r, env));
    QB__TRY(qb__engines_open(r, env));
    QB__TRY(stream(r, env));
    status = finish_output(r, env);
out:
    release(r);
    return status;
}

/* What was odd when the scan was opened; a geometry of its own states the angles. */
static void keep_problems(qb__reconstruction *r, const qb__request *request) {
    const size_t count = request->scan ? qb_scan_describe(request->scan)->problems : 0;
    for (size_t i = 0; i < count; i++) {
        const char *text = qb_scan_problem(request->scan, i);
        if (!request->more || !strstr(text, "has no angles")) qb__job_warned(&r->job, text);
    }
}

static qb_status spare(const qb__reconstruction *r, const qb_env *env) {
    if (r->decision.instead) return r->method->spare(r->plan, &r->job.inputs, env);
    return qb__volume_spare(&r->volume, &r->job.inputs, env);
}

qb_status qb__reconstruction_plan(const qb__method *method, const qb__request *request,
                                  const qb_env *env, qb_job **job) {
    qb__reconstruction *r;
    *job = NULL;
    qb_status status = qb__alloc(1, sizeof *r, &r);
    if (status != QB_OK) return status;
    r->job.run = run;
    r->job.destroy = destroy;
    r->method = method;
    r->job.scan = request->scan;
    env = qb__job_listen(&r->job, env);
    keep_problems(r, request);
    status = copy_request(r, request, env);
    if (request->scan) r->job.inputs.also[0] = &request->scan->inputs;
    r->job.inputs.also[1] = request->read;
    qb__inputs_begin(&r->job.inputs);
    if (status == QB_OK) status = decide(r, env);
    qb__inputs_end(&r->job.inputs);
    if (status == QB_OK) status = spare(r, env);
    if (status == QB_OK)
        *job = &r->job;
    else
        qb_job_destroy(&r->job);
    return status;
}
