/* SPDX-License-Identifier: MIT */
/* Answers requests about the command that the page shows, and about progress. */
#include <string.h>

#include "plane.h"
#include "query.h"
#include "recon.h"

/* ---- /command and /progress ---- */

view_answer view_answer_command(view_recon *r, const char *query, const volatile sig_atomic_t *gone) {
    view_changes changes;
    char words[VIEW_WORDS];
    (void)gone;
    if (!view_changes_read(r->cone, query, &changes, words, sizeof words)) return view_say(400, "%s", words);
    char *text = view_command(r->c, r->cone, &changes, r->output);
    if (!text) return view_say(500, "no memory for the command");
    return (view_answer){.status = 200, .type = "text/plain; charset=utf-8", .bytes = text, .size = strlen(text)};
}

static void add_progress(cJSON *root, const char *name, view_progress *p) {
    cJSON *one = cJSON_AddObjectToObject(root, name);
    pthread_mutex_lock(&p->lock);
    cJSON_AddStringToObject(one, "what", p->what);
    cJSON_AddNumberToObject(one, "share", p->share);
    pthread_mutex_unlock(&p->lock);
}

view_answer view_answer_progress(view_recon *r, const char *query, const volatile sig_atomic_t *gone) {
    (void)query, (void)gone;
    cJSON *root = cJSON_CreateObject();
    add_progress(root, "slice", &r->sharp);
    view_job_add(root, &r->job);
    if (r->kept.started) add_progress(root, "views", &r->kept.progress);
    if (view_device_computes(r)) view_device_add(root, r);
    return view_json(root);
}

/* ---- /run and /stop ---- */

view_answer view_answer_run(view_recon *r, const char *query, const volatile sig_atomic_t *gone) {
    view_changes changes;
    char words[VIEW_WORDS];
    (void)gone;
    if (!r->c->options.view.allow_run) return view_say(403, "qb view was started without --allow-run");
    if (!view_changes_read(r->cone, query, &changes, words, sizeof words)) return view_say(400, "%s", words);
    pthread_mutex_lock(&r->lock);
    const char *why = view_job_start(r, &changes);
    pthread_mutex_unlock(&r->lock);
    return why ? view_say(409, "%s", why) : view_say(200, "started");
}

view_answer view_answer_stop(view_recon *r, const char *query, const volatile sig_atomic_t *gone) {
    (void)query, (void)gone;
    view_job_stop(&r->job);
    return view_say(200, "stopping");
}
