/* SPDX-License-Identifier: MIT */
/* Runs the command that the page shows, as a job of this process. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "query.h"
#include "recon.h"

static void note_progress(void *user, const char *what, uint64_t done, uint64_t total) {
    view_progress *p = user;
    pthread_mutex_lock(&p->lock);
    snprintf(p->what, sizeof p->what, "%.*s", (int)strcspn(what, ";"), what);
    p->share = total ? (double)done / (double)total : 0;
    pthread_mutex_unlock(&p->lock);
}

static void say(view_job *j, const char *text) {
    pthread_mutex_lock(&j->progress.lock);
    snprintf(j->words, sizeof j->words, "%s", text);
    pthread_mutex_unlock(&j->progress.lock);
}

static qb_status make(view_recon *r, const char *command) {
    view_job *j = &r->job;
    const cli *c = r->c;
    const qb_scan_info *info = qb_scan_describe(r->scan);
    const qb_detector detector = {
        .rows = info->rows, .columns = info->columns, .pixel_u = info->pixel_size, .pixel_v = info->pixel_v};
    const qb_env env = {.struct_size = sizeof env,
                        .threads = c->env.threads,
                        .max_ram = c->env.max_ram,
                        .device = c->env.device,
                        .progress = note_progress,
                        .user = &j->progress,
                        .cancel = &j->cancel};
    qb_output_options output = c->options.output;
    qb_geometry geometry = {0};
    view_options_of made;
    qb_job *job = NULL;
    qb_status status = view_options_make(c, r->cone, &j->changes, &made);
    if (status != QB_OK) return status;
    output.output = r->output;
    if (r->cone) status = qb_scan_geometry(info, &made.geometry, &detector, &env, &geometry);
    if (status == QB_OK && r->cone)
        status = qb_fdk_plan(r->scan, &geometry, &made.prep, &made.fdk, &output, command, &env, &job);
    else if (status == QB_OK && view_changes_ask_tv(&j->changes))
        status = qb_tv_plan(r->scan, NULL, &made.prep, &made.tv, &output, command, &env, &job);
    else if (status == QB_OK)
        status = qb_fbp_plan(r->scan, &made.prep, &made.fbp, &output, command, &env, &job);
    if (status == QB_OK) status = qb_job_run(job, &env, NULL);
    qb_job_destroy(job);
    qb_geometry_destroy(&geometry);
    view_options_clear(&made);
    return status;
}

static void *work(void *given) {
    view_recon *r = given;
    view_job *j = &r->job;
    char *command = view_command(r->c, r->cone, &j->changes, r->output), text[400];
    const qb_status status = command ? make(r, command) : QB_NO_MEMORY;
    if (status == QB_OK)
        snprintf(text, sizeof text, "%.300s is written", r->output);
    else if (status == QB_CANCELLED)
        snprintf(text, sizeof text, "stopped; nothing is written");
    else
        view_why(status, text, sizeof text);
    free(command);
    say(j, text);
    __atomic_store_n(&j->running, 0, __ATOMIC_RELEASE);
    return NULL;
}

void view_job_init(view_job *j) { pthread_mutex_init(&j->progress.lock, NULL); }

/* The caller holds the lock of the view, so requests come here one at a time. */
const char *view_job_start(view_recon *r, const view_changes *changes) {
    view_job *j = &r->job;
    if (__atomic_load_n(&j->running, __ATOMIC_ACQUIRE)) return "a run is under way: stop it first";
    if (j->started) pthread_join(j->thread, NULL);
    j->changes = *changes;
    j->cancel = 0;
    say(j, "");
    note_progress(&j->progress, "starting", 0, 1);
    j->running = 1;
    j->started = pthread_create(&j->thread, NULL, work, r) == 0;
    if (!j->started) j->running = 0;
    return j->started ? NULL : "no thread can be started";
}

void view_job_stop(view_job *j) { __atomic_store_n(&j->cancel, 1, __ATOMIC_RELAXED); }

void view_job_close(view_job *j) {
    view_job_stop(j);
    if (j->started) pthread_join(j->thread, NULL);
    pthread_mutex_destroy(&j->progress.lock);
}

void view_job_add(cJSON *root, view_job *j) {
    cJSON *run = cJSON_AddObjectToObject(root, "run");
    cJSON_AddBoolToObject(run, "running", __atomic_load_n(&j->running, __ATOMIC_ACQUIRE));
    pthread_mutex_lock(&j->progress.lock);
    cJSON_AddStringToObject(run, "what", j->progress.what);
    cJSON_AddNumberToObject(run, "share", j->progress.share);
    cJSON_AddStringToObject(run, "words", j->words);
    pthread_mutex_unlock(&j->progress.lock);
}
