/* SPDX-License-Identifier: MIT */
#include "job/job.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/comm.h"
#include "base/fork.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "cpu/features.h"
#include "io/geometry/geometry_file.h"
#include "io/scan/scan.h"
#include "quickbeam/version.h"

static qb_status print_json(const cJSON *json, char **text) {
    cJSON_free(*text);
    *text = cJSON_Print(json);
    return *text ? QB_OK : qb__fail(QB_NO_MEMORY, "no memory for a report");
}

const char *qb_job_plan(const qb_job *job) { return job ? job->plan_text : NULL; }

void qb__job_warned(qb_job *job, const char *text) {
    const cJSON *said;
    if (!job->warnings) job->warnings = cJSON_CreateArray();
    if (!job->warnings) return; /* the failure is remembered: no report is made without the list */
    cJSON_ArrayForEach(said, job->warnings) {
        if (strcmp(said->valuestring, text) == 0) return;
    }
    cJSON_AddItemToArray(job->warnings, cJSON_CreateString(text));
}

static void hear(void *user, qb_log_level level, const char *text) {
    qb_job *job = user;
    if (level == QB_LOG_WARNING) qb__job_warned(job, text);
    qb__log(job->caller, level, "%s", text); /* serialised with the caller's other jobs */
}

static void pass_on(void *user, const char *what, uint64_t done, uint64_t total) {
    const qb_job *job = user;
    qb__progress(job->caller, what, done, total);
}

void qb__job_share(qb_env *env) {
    const qb__comm *comm = env->ranks;
    if (!comm) return;
    if (!env->device || strcmp(env->device, "auto") == 0) env->device = "cpu"; /* every rank has its own CPU */
    if (env->threads <= 0) env->threads = (int)qb__larger(1, (size_t)(qb__cpu_count() / comm->sharing));
    if (!env->max_ram) env->max_ram = qb__resident_bytes() + qb__available_bytes() / 4 * 3 / (size_t)comm->here;
}

const qb_env *qb__job_listen(qb_job *job, const qb_env *env) {
    job->caller = env;
    job->heard = qb__env_whole(env);
    qb__job_share(&job->heard);
    job->heard.user = job;
    job->heard.log = hear;
    job->heard.progress = env && env->progress ? pass_on : NULL;
    return &job->heard;
}

void qb__job_add_warnings(const qb_job *job, cJSON *object) {
    cJSON_AddItemToObject(object, "warnings",
                          job->warnings ? cJSON_Duplicate(job->warnings, true) : cJSON_CreateArray());
}

static qb_status run_once(qb_job *job, const qb_env *env, const char **report) {
    cJSON_Delete(job->report);
    cJSON_Delete(job->content);
    cJSON_free(job->report_text);
    qb__json_forget();
    job->report = cJSON_CreateObject();
    job->content = cJSON_CreateObject();
    job->report_text = NULL;
    const qb_status status = job->run(job, qb__job_listen(job, env));
    qb__job_add_warnings(job, job->report);
    if (status != QB_OK) return status;
    /* If memory runs out now, the report that was printed before the output got its name is used. */
    char *text = cJSON_Print(job->report);
    if (text) {
        cJSON_free(job->report_text);
        job->report_text = text;
    }
    if (!job->report_text) return qb__fail(QB_NO_MEMORY, "no memory for a report");
    if (report) *report = job->report_text;
    return status;
}

static qb_status begin_run(qb_job *job, const qb_env *env) {
    qb_status status = qb__check_callback();
    if (status == QB_OK) status = qb__env_check(env);
    if (status != QB_OK || !atomic_exchange(&job->running, true)) return status;
    return qb__fail(QB_BAD_ARGUMENT, "this job runs already, in another thread or in what called this from its slabs: "
                                     "make another of the same options");
}

qb_status qb_job_run(qb_job *job, const qb_env *env, const char **report) {
    QB__NEED(job);
    QB__CALL();
    QB__OR_RETURN(begin_run(job, env));
    const qb_status status = run_once(job, env, report);
    if (status != QB_OK) qb__json_forget(); /* a text that could not be built here must not fail the next job's plan */
    atomic_store(&job->running, false);
    return status;
}

qb_status qb_job_transpose(qb_job *job, const qb_tensor *volume, const qb_env *env, const qb_tensor *projections) {
    QB__NEED(job);
    QB__CALL();
    if (!job->transpose)
        return qb__fail(QB_UNSUPPORTED, "this job has no transpose: those of qb_fbp_plan and qb_fdk_plan have");
    QB__OR_RETURN(begin_run(job, env));
    const qb_status status = job->transpose(job, volume, qb__job_listen(job, env), projections);
    atomic_store(&job->running, false);
    return status;
}

void qb_job_destroy(qb_job *job) {
    if (!job || atomic_load(&job->running)) return;
    qb__digest_release(&job->digest);
    cJSON_Delete(job->plan);
    cJSON_Delete(job->report);
    cJSON_Delete(job->content);
    cJSON_Delete(job->warnings);
    cJSON_free(job->plan_text);
    cJSON_free(job->report_text);
    qb__inputs_release(&job->inputs);
    job->destroy(job);
}

void qb__report_stages(cJSON *report, const qb__pipeline_report *times, int threads) {
    double cpu = 0, slowest = 0;
    cJSON *list = cJSON_AddArrayToObject(report, "stages");
    for (int i = 0; i < times->stages; i++) {
        const qb__stage_time *stage = &times->stage[i];
        cJSON *entry = cJSON_CreateObject();
        cJSON_AddStringToObject(entry, "name", stage->name);
        cJSON_AddNumberToObject(entry, "cpu_seconds", stage->cpu_seconds);
        cJSON_AddNumberToObject(entry, "busy_seconds", stage->busy_seconds);
        cJSON_AddItemToArray(list, entry);
        cpu += stage->cpu_seconds;
        if (stage->cpu_seconds > slowest) slowest = stage->cpu_seconds;
    }
    cJSON_AddNumberToObject(report, "wall_seconds", times->wall_seconds);
    cJSON_AddNumberToObject(report, "threads", threads);
    cJSON_AddNumberToObject(report, "cpu_seconds", cpu);
    cJSON_AddNumberToObject(report, "cpu_seconds_per_thread", cpu / threads);
}

cJSON *qb__provenance_begin(const char *command) {
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "program", "quickbeam");
    cJSON_AddStringToObject(root, "version", qb_version());
    cJSON_AddStringToObject(root, "command", command ? command : "");
    char date[32] = "";
    time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc)) strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
    cJSON_AddStringToObject(cJSON_AddObjectToObject(root, "run"), "date", date);
    return root;
}

static void append(char *text, size_t size, const char *more, size_t count) {
    size_t used = strlen(text);
    if (used + count < size) memcpy(text + used, more, count), text[used + count] = '\0';
}

void qb__command_add(char *text, size_t size, const char *word) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=./,:+@%";
    if (*text) append(text, size, " ", 1);
    if (*word && word[strspn(word, plain)] == '\0') {
        append(text, size, word, strlen(word));
        return;
    }
    append(text, size, "'", 1);
    for (; *word; word++)
        if (*word == '\'')
            append(text, size, "'\\''", 4);
        else
            append(text, size, word, 1);
    append(text, size, "'", 1);
}

/* Arrays have names too, but they are not files. */
static char *input_name(const qb_job *job, const char *input) {
    const bool files = job->inputs.count || (job->scan && job->scan->inputs.count);
    const bool file = files && (access(input, F_OK) == 0 || strpbrk(input, "*?[%/"));
    return file ? qb__absolute(input) : qb__strdup(input);
}

qb_status qb__provenance(qb_job *job, const char *command, const char *input, const qb_geometry *views,
                         const double *angles, char **text) {
    *text = NULL;
    QB__OR_RETURN(print_json(job->report, &job->report_text));
    cJSON *root = qb__provenance_begin(command);
    char *name = input_name(job, input);
    cJSON_AddItemToObject(root, "input", name ? cJSON_CreateString(name) : qb__json_kept(NULL));
    cJSON_AddItemToObject(root, "inputs", qb__inputs_list(&job->inputs));
    cJSON *content = qb__content(job->content, job->scan, &job->digest);
    if (content) cJSON_AddItemToObject(root, "content", content);
    cJSON *run = cJSON_GetObjectItem(root, "run");
    cJSON_AddItemToObject(run, "report", cJSON_Duplicate(job->report, true));
    cJSON *plan = cJSON_Duplicate(job->plan, true);
    cJSON_AddItemToObject(run, "memory_bytes", cJSON_DetachItemFromObject(plan, "memory_bytes"));
    if (name) cJSON_ReplaceItemInObject(plan, "input", cJSON_CreateString(name));
    qb__json_kept(cJSON_GetObjectItem(plan, "input")); /* if memory runs out, cJSON adds the item without its key */
    qb__free(name);
    cJSON_AddItemToObject(root, "plan", plan);
    qb__job_add_warnings(job, root);
    if (views) qb__geometry_keep(views, angles, root);
    return qb__json_text(root, "the provenance", text);
}
