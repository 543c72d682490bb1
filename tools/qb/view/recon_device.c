/* SPDX-License-Identifier: MIT */
/* Planes of parallel beams from filtered rows that are kept: all planes of a GPU, and the oblique planes of the CPU. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "live.h"
#include "recon.h"
#include "recon/fbp/fbp_planes.h"

struct view_device {
    pthread_mutex_t lock;
    qb_tool_planes *planes;
    qb_job *job;       /* the last plan */
    view_taken *taken; /* scan of the last plan, where the scan is running */
    char key[320];     /* what the last plan is for: version and changes */
    size_t *stamps;
    size_t count;   /* number of planes computed */
    double seconds; /* time for the last plane */
};

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Does the host memory hold the line integrals of all views? The device reads them from there. */
static bool fits(const view_recon *r) {
    const qb_scan_info *info = qb_scan_describe(r->scan);
    const double bytes = (double)info->views * (double)info->rows * (double)info->columns * sizeof(float);
    const double all = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    const double most = r->c->env.max_ram ? (double)r->c->env.max_ram : all;
    return bytes < most / 3;
}

static qb_status open_planes(view_recon *r, struct view_device *d) {
    qb_env env = r->c->env;
    if (!r->live && !fits(r)) env.device = "cpu";
    const qb_status status = qb_tool_planes_open(&env, &d->planes);
    if (status == QB_OK || (env.device && strcmp(env.device, "auto") != 0)) return status;
    qb_tool_planes_close(d->planes);
    env.device = "cpu"; /* no device was named and the GPU cannot be used */
    return qb_tool_planes_open(&env, &d->planes);
}

static float *make_room(void *planes, size_t bytes) { return qb_tool_planes_room(planes, bytes); }
static void leave_room(void *planes, float *room) { qb_tool_planes_leave(planes, room); }

qb_status view_device_open(view_recon *r) {
    if (r->cone || r->fixed) return QB_OK;
    struct view_device *d = calloc(1, sizeof *d);
    if (!d) return QB_NO_MEMORY;
    pthread_mutex_init(&d->lock, NULL);
    r->device = d;
    const qb_status status = open_planes(r, d);
    if (status != QB_OK)
        view_device_close(r);
    else if (view_device_computes(r))
        r->planes.room = (view_room){make_room, leave_room, d->planes};
    return status;
}

bool view_device_computes(const view_recon *r) { return r->device && qb_tool_planes_on_device(r->device->planes); }

static void forget_job(struct view_device *d) {
    qb_job_destroy(d->job);
    view_live_give(d->taken);
    d->job = NULL;
    d->taken = NULL;
}

void view_device_close(view_recon *r) {
    struct view_device *d = r->device;
    if (!d) return;
    forget_job(d);
    qb_tool_planes_close(d->planes);
    pthread_mutex_destroy(&d->lock);
    free(d->stamps);
    free(d);
    r->device = NULL;
}

static qb_status plan(view_recon *r, qb_scan *scan, const view_changes *changes, const char *key, float *room) {
    struct view_device *d = r->device;
    const size_t *n = r->rough ? r->rough_grid.n : r->grid.n;
    /* The plan needs an array, but nothing is written into it */
    const qb_tensor array = qb_tensor_f32(room, 1, n[1], n[0]);
    const qb_output_options output = {.array = &array};
    const qb_env env = {.struct_size = sizeof env, .threads = 1, .device = "cpu"};
    view_options_of made;
    if (d->job && strcmp(d->key, key) == 0) return QB_OK;
    forget_job(d);
    if (r->live && view_live_take(r->live, &d->taken) != QB_OK) return QB_UNSUPPORTED;
    if (r->live) scan = d->taken->scan;
    qb_status status = view_options_make(r->c, false, changes, &made);
    if (status != QB_OK) return status;
    view_recon_set_grid(r, r->rough ? VIEW_ROUGH : VIEW_WHOLE, &made.fbp);
    status = qb_params_set(qb_fbp_params, &made.fbp, "slices", "0:1");
    if (status == QB_OK) status = view_recon_aim(r->rough ? r->rough : r->scan, &made.fbp);
    if (status == QB_OK) status = qb_fbp_plan(scan, NULL, &made.fbp, &output, "qb view", &env, &d->job);
    view_options_clear(&made);
    snprintf(d->key, sizeof d->key, "%s", key);
    return status;
}

static qb_status make(view_recon *r, qb_scan *scan, const qb_tool_lines *lines, const view_changes *changes,
                      const char *key, const qb_tool_plane *plane, float *out) {
    const qb_status status = plan(r, scan, changes, key, out);
    return status == QB_OK ? qb_tool_planes_make(r->device->planes, lines, r->device->job, plane, out) : status;
}

static void key_of(const view_changes *changes, size_t version, char *key, size_t size) {
    char text[256];
    view_changes_key(changes, text, sizeof text);
    snprintf(key, size, "%zu %s", version, text);
}

static qb_status of_live(view_recon *r, const view_changes *changes, const qb_tool_plane *plane, float *out) {
    struct view_device *d = r->device;
    qb_tool_lines lines = {0};
    char key[sizeof d->key];
    key_of(changes, view_live_version(r->live), key, sizeof key);
    const qb_status status = view_live_lines(r->live, &d->stamps, &lines);
    return status == QB_OK ? make(r, NULL, &lines, changes, key, plane, out) : status;
}

static qb_status of_file(view_recon *r, const view_changes *changes, const qb_tool_plane *plane, float *out) {
    qb_scan *scan = view_kept_take(r, changes);
    if (!scan) return QB_UNSUPPORTED; /* the line integrals are still being made */
    const qb_scan_info *info = qb_scan_describe(scan);
    const qb_tool_lines lines = {.lines = r->kept.lines,
                                 .slots = info->views,
                                 .rows = info->rows,
                                 .columns = info->columns,
                                 .made = r->kept.times};
    char key[sizeof r->device->key];
    key_of(changes, r->kept.times, key, sizeof key);
    const qb_status status = make(r, scan, &lines, changes, key, plane, out);
    view_kept_release(r);
    return status;
}

qb_status view_device_make(view_recon *r, const view_changes *changes, const qb_tool_plane *plane, float *out) {
    pthread_mutex_lock(&r->device->lock);
    const double begin = now();
    const qb_status status = r->live ? of_live(r, changes, plane, out) : of_file(r, changes, plane, out);
    if (status == QB_OK) r->device->count++, r->device->seconds = now() - begin;
    pthread_mutex_unlock(&r->device->lock);
    return status;
}

qb_status view_device_plane(view_recon *r, const view_changes *changes, size_t axis, size_t index, float *out) {
    size_t shape[2];
    if (!view_device_computes(r)) return QB_UNSUPPORTED;
    view_recon_shape(r, VIEW_WHOLE, axis, shape);
    const qb_tool_plane plane = qb_tool_plane_across(axis, index, shape);
    return view_device_make(r, changes, &plane, out);
}

void view_device_add(cJSON *root, view_recon *r) {
    cJSON *one = cJSON_AddObjectToObject(root, "device");
    pthread_mutex_lock(&r->device->lock);
    cJSON_AddNumberToObject(one, "planes", (double)r->device->count);
    cJSON_AddNumberToObject(one, "milliseconds", 1e3 * r->device->seconds);
    pthread_mutex_unlock(&r->device->lock);
}
