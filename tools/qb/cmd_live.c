/* SPDX-License-Identifier: MIT */
/* qb live: shows slices of a scan in a browser while the scan is taken. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "view/live.h"
#include "view/live_source.h"
#include "view/query.h"
#include "view/serve.h"

static bool is_cone(const cli *c) { return c->options.geometry.sod > 0 || c->options.geometry.sdd > 0; }

/* Sets the options of qb fbp or fdk with which the sliders begin. */
static qb_status take_options(cli *c) {
    qb_fbp_options *fbp = &c->options.fbp;
    const live_options *given = &c->options.live;
    qb_status status = QB_OK;
    if (c->options.geometry.geometry)
        return complain(QB_BAD_ARGUMENT,
                        "qb live knows parallel rays and circles: give --sod and --sdd, and leave --geometry out");
    if (is_cone(c) && given->center)
        return complain(QB_BAD_ARGUMENT, "--center is for parallel rays: give --detector-offset with --sod and --sdd");
    status = qb_params_init(qb_prep_params, &c->options.prep);
    if (status == QB_OK) status = qb_params_init(qb_fbp_params, fbp);
    if (status == QB_OK) status = qb_params_init(qb_fdk_params, &c->options.fdk);
    if (status == QB_OK && is_cone(c) && given->filter)
        status = qb_params_set(qb_fdk_params, &c->options.fdk, "filter", given->filter);
    if (status == QB_OK && c->options.live.center)
        status = qb_params_set(qb_fbp_params, fbp, "center", c->options.live.center);
    if (status == QB_OK && c->options.live.filter)
        status = qb_params_set(qb_fbp_params, fbp, "filter", c->options.live.filter);
    return status;
}

/* ---- the server answers before the first view has come ---- */

enum { OPENING, READY, FAILED };

typedef struct opening {
    cli c; /* copy of the command's struct, with its own cancel flag */
    volatile sig_atomic_t cancel;
    view_live *live;
    view_recon *recon;
    int state; /* OPENING, READY or FAILED */
    int waits; /* what the source waits for, VIEW_WAITS_VIEWS or VIEW_WAITS_FLATS; once it waits, the address is printed */
    qb_status status;
    char words[1024]; /* why opening failed */
} opening;

static int state_of(const opening *o) { return __atomic_load_n(&o->state, __ATOMIC_ACQUIRE); }

static void *open_source(void *given) {
    opening *o = given;
    o->status = view_live_open(&o->c, is_cone(&o->c), &o->waits, &o->live);
    if (o->status == QB_OK) o->status = view_recon_open_live(&o->c, is_cone(&o->c), o->live, &o->recon);
    if (o->status != QB_OK) view_why(o->status, o->words, sizeof o->words);
    __atomic_store_n(&o->state, o->status == QB_OK ? READY : FAILED, __ATOMIC_RELEASE);
    return NULL;
}

static bool has_failed(void *user) { return state_of(user) == FAILED; }

static view_lane lane(void *user, const char *path, const char *query) {
    const opening *o = user;
    return state_of(o) == READY ? view_recon_lane(o->recon, path, query) : VIEW_QUICK;
}

static view_answer answer(void *user, const char *path, const char *query, const volatile sig_atomic_t *gone) {
    const opening *o = user;
    if (state_of(o) == READY) return view_recon_answer(o->recon, path, query, gone);
    char words[400];
    const bool flats = __atomic_load_n(&o->waits, __ATOMIC_ACQUIRE) == VIEW_WAITS_FLATS;
    snprintf(words, sizeof words,
             flats ? "views come from %.200s without flats: waiting for the flats of the next scan; or start qb live "
                     "with --flats FILE"
                   : "waiting for the first views from %.300s",
             o->c.argument[0]);
    if (strcmp(path, "/info") != 0) return view_say(503, "%s", words);
    cJSON *root = cJSON_CreateObject();
    cJSON_AddStringToObject(root, "waiting", words);
    return view_json(root);
}

static qb_status serve_source(cli *c, view_serve_fn *serve) {
    opening o = {.c = *c};
    qb_status status = QB_OK;
    pthread_t thread;
    o.c.env.cancel = &o.cancel;
    if (pthread_create(&thread, NULL, open_source, &o) != 0) return complain(QB_INTERNAL, "no thread can be started");
    while (state_of(&o) == OPENING && !__atomic_load_n(&o.waits, __ATOMIC_ACQUIRE) && !*c->env.cancel)
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
    if (state_of(&o) != FAILED)
        status = view_serve(c, serve, &(view_shown){.lane = lane, .answer = answer, .over = has_failed, .user = &o});
    o.cancel = 1; /* the server has ended, so the thread must not wait for views any longer */
    pthread_join(thread, NULL);
    c->options = o.c.options; /* the caller frees the texts that the thread has set, such as the axis */
    if (status == QB_OK && o.status != QB_OK && o.status != QB_CANCELLED) status = complain(o.status, "%s", o.words);
    view_recon_close(o.recon);
    view_live_close(o.live);
    return status;
}

static qb_status check_source(const char *source) {
    const char *scheme = strstr(source, "://");
    if (!scheme || view_is_stream(source)) return QB_OK;
    return complain(QB_BAD_ARGUMENT,
                    "%.80s: frames over %.*s are not read: give tcp://HOST:PORT or ipc://PATH of ZeroMQ, a folder of "
                    "TIFFs, or an HDF5 file",
                    source, (int)(scheme - source), source);
}

/* ZeroMQ allocates and frees each frame. This keeps the memory of one frame for the next: to get it from the system each
 * time would take as long as to receive the frame. */
static void keep_memory(void) {
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 256 << 20);
#endif
}

qb_status cmd_live(cli *c) {
    view_serve_fn *serve;
    keep_memory();
    setenv("HDF5_USE_FILE_LOCKING", "FALSE", 0); /* A reader's lock would keep the detector from writing its file */
    qb_status status = check_source(c->argument[0]);
    if (status == QB_OK) status = view_prepare(c, &serve);
    if (status == QB_OK) status = take_options(c);
    if (status == QB_OK) status = serve_source(c, serve);
    qb_params_clear(qb_fdk_params, &c->options.fdk);
    qb_params_clear(qb_fbp_params, &c->options.fbp);
    qb_params_clear(qb_prep_params, &c->options.prep);
    return status;
}
