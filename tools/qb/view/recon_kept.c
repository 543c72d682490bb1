/* SPDX-License-Identifier: MIT */
/* Line integrals of the rough level. A thread makes them again when the preparation changes. Jobs read the last
 * complete ones. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recon.h"

static void note_progress(void *user, const char *what, uint64_t done, uint64_t total) {
    view_progress *p = user;
    (void)what;
    pthread_mutex_lock(&p->lock);
    snprintf(p->what, sizeof p->what, "preparing views");
    p->share = total ? (double)done / (double)total : 0;
    pthread_mutex_unlock(&p->lock);
}

/* The scan whose line integrals are kept: the rough level, or the whole scan where there is no rough level. */
static qb_scan *source_of(const view_recon *r) { return r->rough ? r->rough : r->scan; }

static size_t count_of(const qb_scan_info *info) { return info->views * info->rows * info->columns; }

/* Makes line integrals of that scan in `spare`, and a scan that reads them. */
static qb_status make(view_recon *r, const view_changes *changes, qb_scan **scan) {
    view_kept *k = &r->kept;
    const qb_scan_info *info = qb_scan_describe(source_of(r));
    const qb_tensor array = qb_tensor_f32(k->spare, info->views, info->rows, info->columns);
    const qb_convert_options to = {.array = &array};
    const qb_env env = {.struct_size = sizeof env,
                        .threads = r->c->env.threads,
                        .max_ram = r->c->env.max_ram,
                        .device = "cpu",
                        .progress = note_progress,
                        .user = &k->progress,
                        .cancel = &k->cancel};
    const qb_scan_options as = {
        .quantity = QB_LINE_INTEGRAL,
        .pixels = {.count = info->pixel_size > 0 ? 2 : 0, .value = {info->pixel_size, info->pixel_v}},
        .keep_all_views = true};
    view_options_of made;
    qb_status status = view_options_make(r->c, r->cone, changes, &made);
    if (status != QB_OK) return status;
    status = qb_convert(source_of(r), &made.prep, &to, NULL, &env);
    if (status == QB_OK) status = qb_scan_from_tensor(&array, info->angles, NULL, NULL, &as, NULL, scan);
    view_options_clear(&made);
    return status;
}

/* Replaces the old line integrals by the new ones, once no job reads the old ones. */
static void exchange(view_kept *k, qb_scan *scan, const char *key) {
    while (k->users && !k->ending) pthread_cond_wait(&k->more, &k->lock);
    float *old = k->lines;
    qb_scan_close(k->scan);
    k->lines = k->spare, k->spare = old;
    k->scan = scan;
    k->made = true;
    k->times++;
    snprintf(k->made_key, sizeof k->made_key, "%s", key);
}

static void *prepare(void *given) {
    view_recon *r = given;
    view_kept *k = &r->kept;
    char key[sizeof k->wanted_key], done[sizeof k->wanted_key] = "none yet";
    pthread_mutex_lock(&k->lock);
    for (;;) {
        while (!k->ending && (!k->asked || strcmp(done, k->wanted_key) == 0)) pthread_cond_wait(&k->more, &k->lock);
        if (k->ending) break;
        const view_changes changes = k->wanted;
        qb_scan *scan = NULL;
        snprintf(key, sizeof key, "%s", k->wanted_key);
        k->cancel = 0;
        pthread_mutex_unlock(&k->lock);
        const qb_status status = make(r, &changes, &scan);
        pthread_mutex_lock(&k->lock);
        if (status != QB_CANCELLED) snprintf(done, sizeof done, "%s", key);
        k->failed = status != QB_OK && status != QB_CANCELLED;
        if (status == QB_OK) exchange(k, scan, key);
    }
    pthread_mutex_unlock(&k->lock);
    return NULL;
}

/* Starts the thread. Without memory for the line integrals, pictures are computed from the scan itself. */
qb_status view_kept_open(view_recon *r) {
    view_kept *k = &r->kept;
    const size_t bytes = count_of(qb_scan_describe(source_of(r))) * sizeof(float), most = r->c->env.max_ram;
    if (r->fixed || (!view_device_computes(r) && most && bytes > most / 4)) return QB_OK;
    k->lines = malloc(bytes);
    k->spare = malloc(bytes);
    if (!k->lines || !k->spare) {
        free(k->lines);
        free(k->spare);
        k->lines = k->spare = NULL;
        return QB_OK;
    }
    pthread_mutex_init(&k->lock, NULL);
    pthread_mutex_init(&k->progress.lock, NULL);
    pthread_cond_init(&k->more, NULL);
    k->asked = r->rough || view_device_computes(r); /* otherwise only oblique planes need them */
    k->started = pthread_create(&k->thread, NULL, prepare, r) == 0;
    return k->started ? QB_OK : complain(QB_INTERNAL, "no thread can be started");
}

void view_kept_close(view_recon *r) {
    view_kept *k = &r->kept;
    if (!k->started) return;
    pthread_mutex_lock(&k->lock);
    k->ending = true;
    __atomic_store_n(&k->cancel, 1, __ATOMIC_RELAXED);
    pthread_cond_broadcast(&k->more);
    pthread_mutex_unlock(&k->lock);
    pthread_join(k->thread, NULL);
    qb_scan_close(k->scan);
    free(k->lines);
    free(k->spare);
    pthread_cond_destroy(&k->more);
    pthread_mutex_destroy(&k->progress.lock);
    pthread_mutex_destroy(&k->lock);
}

qb_scan *view_kept_take(view_recon *r, const view_changes *changes) {
    view_kept *k = &r->kept;
    qb_scan *scan = NULL;
    char key[sizeof k->wanted_key];
    if (!k->started) return NULL;
    const view_changes some = view_changes_of_preparation(changes);
    view_changes_key(&some, key, sizeof key);
    pthread_mutex_lock(&k->lock);
    if (!k->asked || strcmp(key, k->wanted_key) != 0) {
        k->asked = true;
        k->wanted = some;
        snprintf(k->wanted_key, sizeof k->wanted_key, "%s", key);
        __atomic_store_n(&k->cancel, 1, __ATOMIC_RELAXED);
        pthread_cond_broadcast(&k->more);
    }
    if (k->made && strcmp(key, k->made_key) == 0) {
        scan = k->scan;
        k->users++;
    }
    pthread_mutex_unlock(&k->lock);
    return scan;
}

void view_kept_release(view_recon *r) {
    view_kept *k = &r->kept;
    pthread_mutex_lock(&k->lock);
    if (--k->users == 0) pthread_cond_broadcast(&k->more);
    pthread_mutex_unlock(&k->lock);
}

bool view_kept_ready(view_recon *r, const view_changes *changes) {
    const bool ready = view_kept_take(r, changes) != NULL;
    if (ready) view_kept_release(r);
    return ready;
}
