/* SPDX-License-Identifier: MIT */
/* Filtered rows of planes along z: they stay in memory, so that a slider that changes no filtering, such as the axis or
 * the crosshair, needs back-projection alone. */
#include <stdio.h>
#include <unistd.h>

#include "recon.h"
#include "recon/fbp/fbp_filtered.h"

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

/* Says which numbers a job reads: the kept line integrals, or the scan with this preparation. */
static void name_rows(const view_recon *r, const view_changes *changes, bool kept, char *name, size_t size) {
    char key[256];
    const view_changes some = view_changes_of_preparation(changes);
    view_changes_key(&some, key, sizeof key);
    snprintf(name, size, "%zu %s", kept ? r->kept.times : 0, key);
}

qb_status view_filtered_run(const view_recon *r, view_level level, const view_changes *changes, bool kept, qb_job *job,
                            const qb_env *env) {
    view_filtered *f = (view_filtered *)&r->filtered[level];
    char name[320];
    if (r->live || !f->rows || pthread_mutex_trylock(&f->lock) != 0) return qb_job_run(job, env, NULL);
    name_rows(r, changes, kept, name, sizeof name);
    qb_status status = qb_tool_filtered_use(f->rows, name, job);
    if (status == QB_OK) status = qb_job_run(job, env, NULL);
    pthread_mutex_unlock(&f->lock);
    return status;
}
