/* SPDX-License-Identifier: MIT */
/* Planes in any direction, from the rough level where there is one. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "plane.h"
#include "query.h"
#include "recon.h"
#include "recon/plane.h"

static const char *why_not(const view_recon *r) {
    if (r->cone || r->live || r->kept.started) return NULL;
    return r->fixed ? "oblique planes of this geometry file are cut from the volume alone: make it, then qb view VOLUME"
                    : "there is no memory for oblique planes: make the volume, then qb view VOLUME";
}

bool view_recon_may_be_oblique(const view_recon *r) { return why_not(r) == NULL; }

/* Converts a place or a direction from voxels of the whole volume to voxels of the rough level. For parallel beams,
 * slices of the rough level are detector rows. */
static void to_rough(const view_recon *r, const double zyx[3], bool place, double out[3]) {
    const qb_scan_info *info = qb_scan_describe(r->scan);
    const double pixel = info->pixel_size > 0 ? info->pixel_v : 1, each = (double)r->bin, unit = 1 / r->rough_scale;
    const view_grid *g = &r->grid, *rough = &r->rough_grid;
    for (int i = 0; i < 3; i++) {
        const double at = ((zyx[2 - i] - 0.5 * ((double)g->n[i] - 1)) * g->voxel[i] + g->offset[i]) / unit;
        out[2 - i] = place ? (at - rough->offset[i]) / rough->voxel[i] + 0.5 * ((double)rough->n[i] - 1)
                           : zyx[2 - i] * g->voxel[i] / unit / rough->voxel[i];
    }
    if (r->cone) return;
    const double up = (zyx[0] - 0.5 * ((double)g->n[2] - 1)) * g->voxel[2] + g->offset[2];
    out[0] = place ? (up / pixel + 0.5 * (double)info->rows) / each - 0.5 : zyx[0] * g->voxel[2] / pixel / each;
}

static bool is_inside(const view_recon *r, const view_oblique *o, size_t i, size_t j) {
    for (int k = 0; k < 3; k++) {
        const double at = o->at[k] + (double)i * o->down[k] + (double)j * o->right[k];
        if (!(at >= -0.5 && at <= (double)r->grid.n[2 - k] - 0.5)) return false;
    }
    return true;
}

/* The box of lines and points that have points inside the volume: first <= index < end. */
static void find_box(const view_recon *r, const view_oblique *o, size_t first[2], size_t end[2]) {
    for (int k = 0; k < 2; k++) first[k] = o->count[k], end[k] = 0;
    for (size_t i = 0; i < o->count[0]; i++)
        for (size_t j = 0; j < o->count[1]; j++) {
            const size_t at[2] = {i, j};
            for (int k = 0; k < 2 && is_inside(r, o, i, j); k++) {
                if (at[k] < first[k]) first[k] = at[k];
                if (at[k] + 1 > end[k]) end[k] = at[k] + 1;
            }
        }
}

static qb_status of_parallel(view_recon *r, const view_changes *changes, const qb_tool_plane *plane, float *out) {
    for (;;) { /* waits until the line integrals are ready */
        const qb_status status = view_device_make(r, changes, plane, out);
        if (status != QB_UNSUPPORTED || r->live || r->kept.failed || __atomic_load_n(plane->gone, __ATOMIC_RELAXED))
            return status;
        /* The line integrals are ready, so the device refused for another reason */
        if (view_kept_ready(r, changes)) return status;
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    }
}

/* Computes the part of the plane within the box, and copies its points inside the volume. */
static qb_status make(view_recon *r, const view_changes *changes, const view_oblique *o, const size_t first[2],
                      const size_t end[2], const volatile sig_atomic_t *gone, float *out) {
    qb_tool_plane plane = {.lines = end[0] - first[0], .points = end[1] - first[1], .gone = gone};
    const double scale = r->rough ? r->rough_scale : 1;
    float *part = malloc(plane.lines * plane.points * sizeof *part);
    double at[3];
    if (!part) return QB_NO_MEMORY;
    for (int k = 0; k < 3; k++) {
        at[k] = o->at[k] + (double)first[0] * o->down[k] + (double)first[1] * o->right[k];
        plane.at[k] = at[k], plane.down[k] = o->down[k], plane.right[k] = o->right[k];
    }
    if (r->rough) {
        to_rough(r, at, true, plane.at);
        to_rough(r, o->down, false, plane.down);
        to_rough(r, o->right, false, plane.right);
    }
    pthread_mutex_lock(&r->one_sharp);
    const qb_status status =
        r->cone ? view_recon_cone(r, changes, &plane, part) : of_parallel(r, changes, &plane, part);
    pthread_mutex_unlock(&r->one_sharp);
    for (size_t i = first[0]; status == QB_OK && i < end[0]; i++)
        for (size_t j = first[1]; j < end[1]; j++)
            if (is_inside(r, o, i, j))
                out[i * o->count[1] + j] = (float)scale * part[(i - first[0]) * plane.points + j - first[1]];
    free(part);
    return status;
}

/* ---- /oblique?at&down&right&count ---- */

view_answer view_answer_oblique(view_recon *r, const char *query, const volatile sig_atomic_t *gone) {
    view_oblique o;
    view_changes changes;
    char words[VIEW_WORDS];
    size_t first[2], end[2];
    if (!view_oblique_parse(query, &o) || !view_changes_read(r->cone, query, &changes, words, sizeof words))
        return view_say(400, "an oblique plane wants at, down and right as Z,Y,X, and a count");
    if (why_not(r)) return view_say(400, "%s", why_not(r));
    const size_t count = o.count[0] * o.count[1];
    float *values = malloc(count * sizeof *values);
    qb_status status = values ? QB_OK : QB_NO_MEMORY;
    for (size_t i = 0; values && i < count; i++) values[i] = NAN;
    find_box(r, &o, first, end);
    if (values && end[0]) status = make(r, &changes, &o, first, end, gone, values);
    if (status == QB_OK) return view_values(values, count);
    free(values);
    return view_failed(status);
}
