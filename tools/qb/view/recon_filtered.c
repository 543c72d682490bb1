/* SPDX-License-Identifier: MIT */
/* What planes have in common: the scan is checked once, and filtered rows of planes along z stay in memory, so that a
 * slider that changes no filtering, such as the axis or the crosshair, needs back-projection alone. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "live.h"
#include "recon.h"
#include "recon/fbp/fbp_filtered.h"
#include "recon/plane.h"

qb_status view_filtered_open(view_recon *r) {
    const size_t all = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
    const size_t most = (r->c->env.max_ram ? r->c->env.max_ram : all) / 4;
    for (int level = VIEW_ROUGH; level <= VIEW_WHOLE; level++) {
        const qb_status status = qb_tool_filtered_create(most, &r->filtered[level].rows);
        if (status != QB_OK) return status;
        pthread_mutex_init(&r->filtered[level].lock, NULL);
    }
    return QB_OK;
}

void view_filtered_close(view_recon *r) {
    for (int level = VIEW_ROUGH; level <= VIEW_WHOLE; level++) {
        view_filtered *f = &r->filtered[level];
        if (!f->rows) continue;
        qb_tool_filtered_destroy(f->rows);
        pthread_mutex_destroy(&f->lock);
    }
}

/* Says which numbers a job reads: the line integrals of a running scan, the kept ones, or the scan with this
 * preparation. */
static void name_numbers(const view_changes *changes, unsigned long times, char *name, size_t size) {
    char key[256];
    const view_changes some = view_changes_of_preparation(changes);
    view_changes_key(&some, key, sizeof key);
    snprintf(name, size, "%lu %s", times, key);
}

static bool is_checked(view_recon *r, const view_filtered *f, const char *name) {
    pthread_mutex_lock(&r->lock_checked);
    const bool checked = strcmp(f->checked, name) == 0;
    pthread_mutex_unlock(&r->lock_checked);
    return checked;
}

/* Runs a job. The first one with this preparation checks the scan. */
static qb_status run(view_recon *r, view_filtered *f, const view_changes *changes, qb_job *job, const qb_env *env) {
    char name[sizeof f->checked];
    name_numbers(changes, 0, name, sizeof name);
    if (is_checked(r, f, name)) qb_tool_job_is_checked(job);
    const qb_status status = qb_job_run(job, env, NULL);
    pthread_mutex_lock(&r->lock_checked);
    if (status == QB_OK) memcpy(f->checked, name, sizeof name);
    pthread_mutex_unlock(&r->lock_checked);
    return status;
}

qb_status view_filtered_run(view_recon *r, view_level level, const view_changes *changes, bool kept, bool along_z,
                            qb_job *job, const qb_env *env) {
    view_filtered *f = &r->filtered[level];
    char name[320];
    if (!along_z || !f->rows || pthread_mutex_trylock(&f->lock) != 0) return run(r, f, changes, job, env);
    /* Views that come after this moment have another number. */
    const unsigned long times = r->live ? view_live_version(r->live) : kept ? r->kept.times : 0;
    name_numbers(changes, times, name, sizeof name);
    qb_status status = qb_tool_filtered_use(f->rows, name, job);
    if (status == QB_OK) status = run(r, f, changes, job, env);
    pthread_mutex_unlock(&f->lock);
    return status;
}
