/* SPDX-License-Identifier: MIT */
#include "live.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "live_parts.h"
#include "prep/frames.h"

enum { LOOK = 250 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- views ---- */

static void take(void *user, size_t number, qb_dtype dtype, view_pixels *pixels) {
    view_live *l = user;
    if (dtype == l->dtype) view_lines_take(l, number, pixels);
}

static void give_up(void *user, size_t number) {
    view_live *l = user;
    (void)number;
    pthread_mutex_lock(&l->lock);
    l->unreadable++;
    pthread_mutex_unlock(&l->lock);
}

/* Takes the means of the flats and darks that came with the views. Lines that a worker is computing now may still use
 * the old fields. */
static void take_fields(void *user, const float *flat, const float *dark) {
    view_live *l = user;
    const size_t n = l->rows * l->columns;
    pthread_mutex_lock(&l->lock);
    if (l->flat && flat) memcpy(l->flat, flat, n * sizeof *flat);
    if (l->dark && dark) memcpy(l->dark, dark, n * sizeof *dark), l->no_darks = false;
    if (l->gain) qb_tool_frame_gain(l->flat, l->dark, n, l->gain);
    pthread_mutex_unlock(&l->lock);
}

/* A new scan begins. The views of the old scan stay until new views replace them, so that the page keeps a picture. */
static void restart(void *user) {
    view_live *l = user;
    pthread_mutex_lock(&l->lock);
    l->end = l->received = l->seen = l->late = l->unreadable = 0;
    view_lines_forget(l);
    for (size_t i = 0; i < l->slots; i++)
        if (l->view_of[i]) l->view_of[i] = 1 + i % l->slots;
    l->restarts++;
    pthread_mutex_unlock(&l->lock);
}

static void *watch(void *given) {
    view_live *l = given;
    const view_listener listener = {
        .view = take, .fields = take_fields, .unreadable = give_up, .restart = restart, .user = l};
    while (!__atomic_load_n(&l->ending, __ATOMIC_ACQUIRE)) view_source_look(l->source, &listener, LOOK);
    return NULL;
}

/* ---- opening ---- */

static void note_waiting(int *waits) { __atomic_store_n(waits, VIEW_WAITS_VIEWS, __ATOMIC_RELEASE); }

static qb_status wait_for_first(view_live *l, int *waits) {
    cli *c = l->c;
    bool said = false;
    for (;;) {
        qb_status status = view_source_open(c, waits, &l->source);
        if (status == QB_OK) return status;
        const bool wait = status == QB_NOT_FOUND;
        view_source_close(l->source);
        l->source = NULL;
        if (!wait) return status;
        if (*c->env.cancel) return QB_CANCELLED;
        if (!view_is_stream(c->argument[0]) && access(c->argument[0], F_OK) != 0)
            return complain(QB_NOT_FOUND, "%s: there is no such folder or file", c->argument[0]);
        if (!said) c->env.log(NULL, QB_LOG_INFO, "waiting for the first view");
        said = true;
        note_waiting(waits);
        nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
    }
}

/* Finds the angles: those of --angles FROM:TO:N, or those of the file. */
static qb_status find_angles(view_live *l) {
    const char *text = l->c->options.scan.angles;
    const qb_scan_info *info = qb_scan_describe(view_source_scan(l->source));
    size_t count = 0;
    double two[2] = {0};
    qb_status status = text ? qb_angles_count(text, &count) : QB_OK;
    if (status != QB_OK) return status;
    if (text && count >= 2) {
        double *all = malloc(count * sizeof *all);
        status = all ? qb_angles_parse(text, count, all) : QB_NO_MEMORY;
        if (status == QB_OK) two[0] = all[0], two[1] = all[1];
        free(all);
    } else if (!text && info->angles && info->views >= 2) {
        two[0] = info->angles[0], two[1] = info->angles[1];
    } else {
        return complain(QB_BAD_ARGUMENT, "give --angles FROM:TO:N, N the number of views from FROM to TO");
    }
    l->from = two[0];
    l->step = two[1] - two[0];
    l->expected = count;
    if (status == QB_OK && l->step == 0) status = complain(QB_BAD_INPUT, "the first two angles are the same");
    return status;
}

static qb_status make_room(view_live *l) {
    const double turn = (l->cone ? 2 : 1) * 3.14159265358979323846 / fabs(l->step);
    l->rolling = l->c->options.live.rolling;
    l->slots = l->rolling ? (size_t)lround(turn) : l->expected ? l->expected : (size_t)lround((l->cone ? 1 : 2) * turn);
    return view_lines_open(l);
}

static qb_status read_fields(view_live *l) {
    qb_scan *scan = view_source_scan(l->source);
    const qb_scan_info *info = qb_scan_describe(scan);
    const size_t n = info->rows * info->columns;
    l->rows = info->rows, l->columns = info->columns;
    l->quantity = info->quantity;
    l->dtype = info->dtype;
    l->pixels[0] = info->pixel_size, l->pixels[1] = info->pixel_v;
    if (l->quantity != QB_COUNTS) return QB_OK;
    if (!info->flats)
        return complain(QB_BAD_INPUT, "counts without flat fields: give --flats, or --quantity if they are no counts");
    l->flat = malloc(n * sizeof *l->flat);
    l->dark = malloc(n * sizeof *l->dark);
    l->gain = malloc(n * sizeof *l->gain);
    if (!l->flat || !l->dark || !l->gain) return QB_NO_MEMORY;
    l->no_darks = !info->darks;
    if (l->no_darks)
        l->c->env.log(NULL, QB_LOG_WARNING, "there are no dark fields: the dark is taken as 0 until darks come");
    const qb_status status = qb_scan_fields(scan, 0, info->rows, l->flat, l->dark);
    if (status == QB_OK) qb_tool_frame_gain(l->flat, l->dark, n, l->gain);
    return status;
}

qb_status view_live_open(cli *c, bool cone, int *waits, view_live **live) {
    view_live *l = calloc(1, sizeof *l);
    *live = l;
    if (!l) return QB_NO_MEMORY;
    l->c = c;
    l->cone = cone;
    pthread_mutex_init(&l->lock, NULL);
    pthread_mutex_init(&l->scan_lock, NULL);
    pthread_cond_init(&l->more, NULL);
    qb_status status = wait_for_first(l, waits);
    if (status == QB_OK) status = read_fields(l);
    if (status == QB_OK) status = find_angles(l);
    if (status == QB_OK) status = make_room(l);
    if (status != QB_OK) return status;
    view_source_begin(l->source, l->rolling ? 0 : l->slots);
    l->started = pthread_create(&l->thread, NULL, watch, l) == 0;
    for (int i = 0; l->started && !*c->env.cancel && view_live_version(l) < 2; i++) {
        if (i == 20) c->env.log(NULL, QB_LOG_INFO, "waiting for the second view");
        if (i == 20) note_waiting(waits);
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    }
    return !l->started ? complain(QB_INTERNAL, "no thread can be started") : *c->env.cancel ? QB_CANCELLED : QB_OK;
}

void view_live_close(view_live *l) {
    if (!l) return;
    __atomic_store_n(&l->ending, 1, __ATOMIC_RELEASE);
    if (l->started) pthread_join(l->thread, NULL);
    view_lines_close(l);
    view_source_close(l->source);
    pthread_cond_destroy(&l->more);
    view_live_give(l->taken);
    pthread_mutex_destroy(&l->scan_lock);
    pthread_mutex_destroy(&l->lock);
    free(l->flat);
    free(l->dark);
    free(l->gain);
    free(l);
}

/* ---- requests ---- */

/* Lists the slots that have no view, in the form of --exclude, and the angles of all slots. */
static size_t list_slots(view_live *l, double *angles, char *missing, size_t size) {
    size_t used = 0, count = l->slots;
    while (count > 0 && !l->view_of[count - 1]) count--;
    missing[0] = 0;
    for (size_t i = 0, end; i < count; i = end) {
        angles[i] = l->from + l->step * (double)(l->view_of[i] ? l->view_of[i] - 1 : i);
        end = i + 1;
        if (l->view_of[i]) continue;
        for (; end < count && !l->view_of[end]; end++) angles[end] = l->from + l->step * (double)end;
        if (used < size) used += (size_t)snprintf(missing + used, size - used, "%s%zu:%zu", used ? "," : "", i, end);
    }
    return used < size ? count : 0;
}

qb_status view_live_scan(view_live *l, qb_scan **scan) {
    enum { MISSING = 1 << 16 };
    double *angles = malloc(l->slots * sizeof *angles);
    char *missing = malloc(MISSING);
    *scan = NULL;
    qb_status status = angles && missing ? QB_OK : QB_NO_MEMORY;
    pthread_mutex_lock(&l->lock);
    const size_t count = status == QB_OK ? list_slots(l, angles, missing, MISSING) : 0;
    pthread_mutex_unlock(&l->lock);
    const qb_tensor lines = qb_tensor_f32(l->lines, count, l->rows, l->columns);
    const qb_scan_options as = {.quantity = QB_LINE_INTEGRAL,
                                .pixels = {.count = l->pixels[0] > 0 ? 2 : 0, .value = {l->pixels[0], l->pixels[1]}},
                                .exclude = status == QB_OK && *missing ? missing : NULL,
                                .keep_all_views = true};
    if (status == QB_OK && count < 2) status = complain(QB_NOT_FOUND, "there are fewer than two views");
    if (status == QB_OK) status = qb_scan_from_tensor(&lines, angles, NULL, NULL, &as, NULL, scan);
    free(angles);
    free(missing);
    return status;
}

void view_live_give(view_taken *taken) {
    if (!taken || __atomic_sub_fetch(&taken->users, 1, __ATOMIC_ACQ_REL)) return;
    qb_scan_close(taken->scan);
    free(taken);
}

qb_status view_live_take(view_live *l, view_taken **taken) {
    qb_status status = QB_OK;
    pthread_mutex_lock(&l->scan_lock);
    const unsigned long version = view_live_version(l);
    if (!l->taken || l->taken->version != version) {
        view_live_give(l->taken);
        l->taken = malloc(sizeof *l->taken);
        if (l->taken) *l->taken = (view_taken){.version = version, .users = 1};
        status = l->taken ? view_live_scan(l, &l->taken->scan) : QB_NO_MEMORY;
    }
    if (status == QB_OK) {
        __atomic_add_fetch(&l->taken->users, 1, __ATOMIC_RELAXED);
        *taken = l->taken;
    } else {
        view_live_give(l->taken);
        l->taken = NULL;
    }
    pthread_mutex_unlock(&l->scan_lock);
    return status;
}

qb_status view_live_lines(view_live *l, size_t **stamps, qb_tool_lines *lines) {
    if (!*stamps) *stamps = malloc(l->slots * sizeof **stamps);
    if (!*stamps) return QB_NO_MEMORY;
    pthread_mutex_lock(&l->lock);
    for (size_t i = 0; i < l->slots; i++) (*stamps)[i] = l->view_of[i] ? l->view_of[i] + (l->restarts << 40) : 0;
    pthread_mutex_unlock(&l->lock);
    *lines = (qb_tool_lines){
        .lines = l->lines, .slots = l->slots, .rows = l->rows, .columns = l->columns, .stamps = *stamps};
    return QB_OK;
}

unsigned long view_live_version(view_live *l) {
    pthread_mutex_lock(&l->lock);
    const unsigned long version = l->version;
    pthread_mutex_unlock(&l->lock);
    return version;
}

cJSON *view_live_json(view_live *l) {
    cJSON *root = cJSON_CreateObject();
    pthread_mutex_lock(&l->lock);
    const struct {
        const char *name;
        double value;
    } rows[] = {{"seen", (double)l->seen},
                {"received", (double)l->received},
                {"expected", (double)(l->rolling ? 0 : l->slots)},
                {"window", (double)l->slots},
                {"age", now() - l->newest},
                {"span", l->newest - l->first},
                {"late", (double)l->late},
                {"dropped", (double)(l->end > l->received + l->unreadable ? l->end - l->received - l->unreadable : 0)},
                {"unreadable", (double)l->unreadable},
                {"restarts", (double)l->restarts},
                {"no_darks", l->no_darks},
                {"version", (double)l->version}};
    pthread_mutex_unlock(&l->lock);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) cJSON_AddNumberToObject(root, rows[i].name, rows[i].value);
    return root;
}
