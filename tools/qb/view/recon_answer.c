/* SPDX-License-Identifier: MIT */
/* Answers the page's requests about a scan whose slices are computed when they are looked at. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plane.h"
#include "live.h"
#include "query.h"
#include "recon.h"

static const volatile sig_atomic_t never;

/* ---- planes, computed or from the cache ---- */

static view_made *compute(view_recon *r, const view_changes *changes, view_level level, size_t axis, size_t index,
                          const volatile sig_atomic_t *gone, const char *name, qb_status *status) {
    size_t shape[2];
    view_recon_shape(r, level, axis, shape);
    view_made *made = view_planes_new(&r->planes, shape);
    *status = made ? view_recon_plane(r, changes, level, axis, index, gone, made->values) : QB_NO_MEMORY;
    if (*status == QB_OK) {
        view_planes_keep(made, name);
        return made;
    }
    view_planes_release(made);
    return NULL;
}

/* A plane, from the cache or computed; the caller releases it. NULL: it failed with *status. */
static view_made *plane_of(view_recon *r, const view_changes *changes, view_level level, size_t axis, size_t index,
                           const volatile sig_atomic_t *gone, qb_status *status) {
    char key[256], name[VIEW_PLANE_NAME];
    view_changes_key(changes, key, sizeof key);
    snprintf(name, sizeof name, "%d %zu %zu %lu %s", (int)level, axis, level == VIEW_WHOLE ? index : index / r->bin,
             r->live ? view_live_version(r->live) : 0, key);
    view_made *made = view_planes_find(&r->planes, name);
    *status = QB_OK;
    if (made) return made;
    if (level == VIEW_ROUGH) return compute(r, changes, level, axis, index, gone, name, status);
    pthread_mutex_lock(&r->one_sharp);
    made = view_planes_find(&r->planes, name); /* the one before may have been the same */
    if (!made) made = compute(r, changes, level, axis, index, gone, name, status);
    pthread_mutex_unlock(&r->one_sharp);
    return made;
}

static void release(void *made) { view_planes_release(made); }

/* A whole plane is sent from where it lies. */
static view_answer whole(view_made *made) {
    view_answer answer = view_values(made->values, made->shape[0] * made->shape[1]);
    answer.release = release, answer.owner = made;
    return answer;
}

/* Mean of the measured values of a block. */
static float mean_of(const float *values, size_t lines, size_t points, size_t pitch) {
    double sum = 0;
    size_t found = 0;
    for (size_t i = 0; i < lines * points; i++) {
        const float v = values[i / points * pitch + i % points];
        if (isfinite(v)) sum += (double)v, found++;
    }
    return found ? (float)(sum / (double)found) : NAN;
}

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

/* Means of the blocks of one line of the picture. The columns are summed first, in vectors. */
static void mean_line(const view_made *made, const view_plane *p, size_t y, double *sums, float *out) {
    const size_t *n = made->shape, step = p->step, lines = smaller(step, n[0] - y), first = p->first[1];
    const float *from = made->values + y * n[1] + first;
    const size_t points = smaller(p->count[1] * step, n[1] - first);
    const double each = 1.0 / (double)(lines * step);
    for (size_t x = 0; x < points; x++) sums[x] = (double)from[x];
    for (size_t i = 1; i < lines; i++)
        for (size_t x = 0; x < points; x++) sums[x] += (double)from[i * n[1] + x];
    for (size_t j = 0; j < p->count[1]; j++) {
        const size_t some = smaller(step, points - j * step);
        double sum = sums[j * step];
        for (size_t x = 1; x < some; x++) sum += sums[j * step + x];
        const float mean = (float)(some == step ? sum * each : sum / (double)(lines * some));
        out[j] = isfinite(mean) ? mean : mean_of(from + j * step, lines, some, n[1]);
    }
}

/* The asked part of a plane; NULL: no memory. The caller frees it. */
static float *cut(const view_made *made, const view_plane *p) {
    const size_t *n = made->shape, step = p->step;
    float *out = malloc(p->count[0] * p->count[1] * sizeof *out);
    double *sums = malloc(n[1] * sizeof *sums);
    for (size_t i = 0; out && sums && i < p->count[0]; i++) {
        const size_t y = p->first[0] + i * step;
        float *to = out + i * p->count[1];
        if (step == 1)
            memcpy(to, made->values + y * n[1] + p->first[1], p->count[1] * sizeof *to);
        else
            mean_line(made, p, y, sums, to);
    }
    if (!sums) free(out), out = NULL;
    free(sums);
    return out;
}

/* ---- /plane?axis&index&first&count&step[&draft=1] and changes ---- */

static qb_array_info array_of(const view_recon *r) {
    const size_t *n = r->grid.n;
    return (qb_array_info){.struct_size = sizeof(qb_array_info), .dtype = QB_F32, .shape = {n[2], n[1], n[0]}};
}

/* A draft consists of all points of the rough level; the page draws it with a step of `bin`. */
static view_answer plane(view_recon *r, const char *query, const volatile sig_atomic_t *gone) {
    const qb_array_info info = array_of(r);
    const bool draft = view_find(query, "draft") && r->bin > 1;
    view_plane p = {.thick = 1};
    view_changes changes;
    char words[VIEW_WORDS] = "";
    qb_status status;
    if (!view_numbers(query, "axis", 1, &p.axis) || !view_numbers(query, "index", 1, &p.index) ||
        !view_numbers(query, "first", 2, p.first) || !view_numbers(query, "count", 2, p.count) ||
        !view_numbers(query, "step", 1, &p.step))
        return view_say(400, "a plane wants axis, index, first, count and step");
    if (view_plane_check(&info, &p, words) != QB_OK ||
        !view_changes_read(r->cone, query, &changes, words, sizeof words))
        return view_say(400, "%s", words);
    view_made *made = plane_of(r, &changes, draft ? VIEW_ROUGH : VIEW_WHOLE, p.axis, p.index, gone, &status);
    if (!made) return view_failed(status);
    if (draft || (p.step == 1 && memcmp(p.count, made->shape, sizeof p.count) == 0)) return whole(made);
    float *values = cut(made, &p);
    view_planes_release(made);
    return values ? view_values(values, p.count[0] * p.count[1]) : view_say(500, "no memory for the plane");
}

/* ---- /value?at=z,y,x[&axis=A], of the plane across that axis, and /line?from&to&count: values of slices ---- */

static view_answer value(view_recon *r, const char *query, const volatile sig_atomic_t *gone) {
    const qb_array_info info = array_of(r);
    size_t at[3], axis = 0;
    view_changes changes;
    char words[VIEW_WORDS];
    qb_status status;
    if (view_find(query, "axis") && (!view_numbers(query, "axis", 1, &axis) || axis > 2))
        return view_say(400, "the axis of a value is 0, 1 or 2");
    if (!view_numbers(query, "at", 3, at) || at[0] >= info.shape[0] || at[1] >= info.shape[1] ||
        at[2] >= info.shape[2] || !view_changes_read(r->cone, query, &changes, words, sizeof words))
        return view_say(400, "a value wants at=Z,Y,X in the volume");
    float *out = malloc(sizeof *out);
    if (!out) return view_say(500, "no memory for a value");
    view_made *made = plane_of(r, &changes, VIEW_WHOLE, axis, at[axis], gone, &status);
    if (made) *out = made->values[at[axis == 0 ? 1 : 0] * made->shape[1] + at[axis == 2 ? 1 : 2]];
    view_planes_release(made);
    if (made) return view_values(out, 1);
    free(out);
    return view_failed(status);
}

enum { LINE_MOST = 4096, PARTS = 100 };

static float between(const view_made *made, double y, double x) {
    const size_t *n = made->shape, y0 = (size_t)y, x0 = (size_t)x;
    const size_t y1 = smaller(y0 + 1, n[0] - 1), x1 = smaller(x0 + 1, n[1] - 1);
    const double a = y - (double)y0, b = x - (double)x0;
    const float *v = made->values;
    return (float)((1 - a) * ((1 - b) * (double)v[y0 * n[1] + x0] + b * (double)v[y0 * n[1] + x1]) +
                   a * ((1 - b) * (double)v[y1 * n[1] + x0] + b * (double)v[y1 * n[1] + x1]));
}

/* Both ends of the line have one index in common: that of the plane in which the line was drawn. */
static view_answer line(view_recon *r, const char *query, const volatile sig_atomic_t *gone) {
    const qb_array_info info = array_of(r);
    size_t from[3], to[3], count, axis = 0, across[2] = {0, 0};
    view_changes changes;
    char words[VIEW_WORDS];
    qb_status status;
    if (!view_numbers(query, "from", 3, from) || !view_numbers(query, "to", 3, to) ||
        !view_numbers(query, "count", 1, &count) || count < 2 || count > LINE_MOST ||
        !view_changes_read(r->cone, query, &changes, words, sizeof words))
        return view_say(400, "a line wants from=Z,Y,X, to=Z,Y,X and a count of 2 to %d", LINE_MOST);
    for (int j = 0; j < 3; j++)
        if (from[j] > PARTS * (info.shape[j] - 1) || to[j] > PARTS * (info.shape[j] - 1))
            return view_say(400, "the line leaves the volume");
    while (axis < 3 && (from[axis] != to[axis] || from[axis] % PARTS)) axis++;
    if (axis == 3) return view_say(400, "the line lies in none of the three planes");
    across[0] = axis == 0 ? 1 : 0, across[1] = axis == 2 ? 1 : 2;
    float *values = malloc(count * sizeof *values);
    if (!values) return view_say(500, "no memory for a line");
    view_made *made = plane_of(r, &changes, VIEW_WHOLE, axis, from[axis] / PARTS, gone, &status);
    for (size_t i = 0; made && i < count; i++) {
        const double b = (double)i / (double)(count - 1);
        double at[2];
        for (int j = 0; j < 2; j++) at[j] = ((1 - b) * (double)from[across[j]] + b * (double)to[across[j]]) / PARTS;
        values[i] = between(made, at[0], at[1]);
    }
    view_planes_release(made);
    if (made) return view_values(values, count);
    free(values);
    return view_failed(status);
}

/* ---- /info ---- */

static void add_levels(view_recon *r, cJSON *about) {
    static const view_changes none;
    qb_status status;
    const view_level level = r->bin > 1 ? VIEW_ROUGH : VIEW_WHOLE;
    view_made *made = plane_of(r, &none, level, 0, r->grid.n[2] / 2, &never, &status);
    const size_t count = made ? made->shape[0] * made->shape[1] : 0;
    float *values = malloc(count * sizeof *values + 1);
    if (values && made) memcpy(values, made->values, count * sizeof *values);
    if (values) view_levels_of(about, values, count);
    char words[700];
    if (!made) view_why(status, words, sizeof words);
    if (!made) cJSON_AddStringToObject(about, "failed", words);
    free(values);
    view_planes_release(made);
}

static void describe(view_recon *r) {
    const qb_scan_info *info = qb_scan_describe(r->scan);
    const double n[3] = {(double)r->grid.n[2], (double)r->grid.n[1], (double)r->grid.n[0]};
    const char *slash = strrchr(r->c->argument[0], '/');
    const bool known = r->cone || info->pixel_size > 0;
    const double none[3] = {0};
    cJSON *about = cJSON_CreateObject(), *how = cJSON_CreateObject();
    cJSON_AddStringToObject(about, "name", slash && slash[1] ? slash + 1 : r->c->argument[0]);
    cJSON_AddStringToObject(about, "format", info->format);
    cJSON_AddStringToObject(about, "dtype", "float32");
    cJSON_AddStringToObject(about, "quantity", "attenuation");
    cJSON_AddStringToObject(about, "units", r->units);
    cJSON_AddBoolToObject(about, "volume", true);
    cJSON_AddItemToObject(about, "shape", cJSON_CreateDoubleArray(n, 3));
    cJSON_AddItemToObject(about, "voxel", cJSON_CreateDoubleArray(known ? r->grid.voxel : none, 3));
    cJSON_AddItemToObject(about, "offset", cJSON_CreateDoubleArray(r->grid.offset, 3));
    cJSON_AddStringToObject(how, "method", r->c->verb->name);
    cJSON_AddNumberToObject(how, "bin", (double)r->bin);
    cJSON_AddStringToObject(how, "kernel", r->kernel);
    cJSON_AddBoolToObject(how, "runs", r->c->options.view.allow_run);
    cJSON_AddBoolToObject(how, "oblique", view_recon_may_be_oblique(r));
    cJSON_AddBoolToObject(how, "live", r->live != NULL);
    cJSON_AddItemToObject(how, "controls", view_controls_json(r->c, r->cone, r->fixed, r->live != NULL, info));
    cJSON_AddItemToObject(about, "reconstruct", how);
    cJSON_AddStringToObject(about, "note", r->note);
    add_levels(r, about);
    r->about = cJSON_PrintUnformatted(about);
    cJSON_Delete(about);
}

static view_answer info(view_recon *r, const char *query, const volatile sig_atomic_t *gone) {
    (void)query, (void)gone;
    cJSON *root = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(root, "volumes");
    cJSON_AddStringToObject(root, "version", qb_version());
    pthread_mutex_lock(&r->lock);
    if (!r->about) describe(r);
    cJSON_AddItemToArray(list, r->about ? cJSON_CreateRaw(r->about) : cJSON_CreateNull());
    pthread_mutex_unlock(&r->lock);
    return view_json(root);
}

/* ---- /live: progress of the scan ---- */

static view_answer live(view_recon *r, const char *query, const volatile sig_atomic_t *gone) {
    (void)query, (void)gone;
    return r->live ? view_json(view_live_json(r->live)) : view_say(404, "this scan is over");
}

/* ---- table of requests ---- */

static const struct {
    const char *path;
    view_answer (*make)(view_recon *r, const char *query, const volatile sig_atomic_t *gone);
    view_lane lane;
} rows[] = {{"/info", info, VIEW_DRAFT},
            {"/plane", plane, VIEW_SHARP},
            {"/value", value, VIEW_SHARP},
            {"/line", line, VIEW_SHARP},
            {"/oblique", view_answer_oblique, VIEW_SHARP},
            {"/command", view_answer_command, VIEW_QUICK},
            {"/progress", view_answer_progress, VIEW_QUICK},
            {"/live", live, VIEW_QUICK},
            {"/run", view_answer_run, VIEW_QUICK},
            {"/stop", view_answer_stop, VIEW_QUICK}};

view_answer view_recon_answer(void *recon, const char *path, const char *query, const volatile sig_atomic_t *gone) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strcmp(path, rows[i].path) == 0) return rows[i].make(recon, query, gone);
    return view_say(404, "there is nothing of that name");
}

view_lane view_recon_lane(void *recon, const char *path, const char *query) {
    (void)recon;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(path, rows[i].path) != 0) continue;
        return rows[i].lane == VIEW_SHARP && view_find(query, "draft") ? VIEW_DRAFT : rows[i].lane;
    }
    return VIEW_QUICK;
}
