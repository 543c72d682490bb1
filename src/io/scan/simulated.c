/* SPDX-License-Identifier: MIT */
/* A scan of qb simulate without its numbers: a phantom and a geometry, as JSON. Views are computed when they are read,
 * with the bits of a file, so that scans of any size need no disk space. There is no noise, because it would have to be
 * stored. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/share.h"
#include "base/status.h"
#include "cpu/features.h"
#include "geometry/check.h"
#include "geometry/circle.h"
#include "geometry/phantom.h"
#include "geometry/units.h"
#include "geometry/vector.h"
#include "io/formats.h"
#include "io/geometry/geometry_file.h"

enum { BAND_PIXELS = 32768 }; /* pixels that are computed at a time */

typedef struct simulated {
    qb__source base;
    qb_geometry geometry;
    qb__phantom phantom;
    size_t band; /* rows of a band */
    double rate; /* bytes per second, once measured */
} simulated;

/* ---- reading ---- */

/* Scratch of the threads of a call, one each, allocated at its first piece: allocating it for each piece would clear
 * memory each time, and make threads wait for each other. */
typedef struct benches {
    double *of[QB__SHARE_THREADS_MOST];
} benches;

static size_t scratch_of(const simulated *s) {
    const size_t columns = s->geometry.columns;
    return s->band * columns * sizeof(double) + qb__phantom_scratch(&s->phantom, columns);
}

static void clear(benches *b) {
    for (size_t i = 0; i < QB__SHARE_THREADS_MOST; i++) qb__free(b->of[i]);
}

/* Compute rows of a view, at most a band. */
static qb_status expose(const simulated *s, benches *b, size_t worker, size_t view, size_t row, size_t end,
                        float *out) {
    const size_t columns = s->geometry.columns;
    QB__OR_RETURN(b->of[worker] ? QB_OK : qb__alloc(1, scratch_of(s), &b->of[worker]));
    double *line = b->of[worker];
    qb__phantom_project(&s->phantom, &s->geometry, view, row, end, line, line + s->band * columns);
    for (size_t i = 0; i < (end - row) * columns; i++) out[i] = line[i] != 0 ? (float)exp(-line[i]) : 1.0f;
    return QB_OK;
}

typedef struct exposure {
    const simulated *s;
    const qb__region *region;
    size_t bands; /* bands of a view */
    float *out;
    benches benches;
} exposure;

static qb_status expose_band(void *context, size_t piece, size_t worker) {
    exposure *e = context;
    const qb__region *r = e->region;
    const size_t image = piece / e->bands, row = r->row0 + piece % e->bands * e->s->band;
    return expose(e->s, &e->benches, worker, r->first + image * r->step, row, qb__smaller(row + e->s->band, r->row1),
                  e->out + (image * (r->row1 - r->row0) + row - r->row0) * e->s->geometry.columns);
}

static qb_status read_views(qb__source *source, const qb__region *region, void *out) {
    const simulated *s = (const simulated *)source;
    exposure e = {s, region, qb__ceil_div(region->row1 - region->row0, s->band), out, {{NULL}}};
    const qb_status status = qb__share(source->threads, region->count * e.bands, expose_band, &e);
    clear(&e.benches);
    return status;
}

/* ---- speed ---- */

enum { SAMPLES = 8 }; /* bands per thread */

/* Bands of views and rows all over the scan, as many at once as a call computes. */
typedef struct trial {
    const simulated *s;
    size_t count;
    float *out[QB__SHARE_THREADS_MOST];
    double seconds[QB__SHARE_THREADS_MOST], pixels[QB__SHARE_THREADS_MOST];
    benches benches;
} trial;

static qb_status try_band(void *context, size_t piece, size_t worker) {
    trial *t = context;
    const simulated *s = t->s;
    const qb_geometry *g = &s->geometry;
    const size_t bands = qb__ceil_div(g->rows, s->band), row = piece * 7 % SAMPLES * bands / SAMPLES * s->band;
    const size_t view = piece * g->views / t->count, end = qb__smaller(row + s->band, g->rows);
    const bool begun = t->out[worker] != NULL;
    qb_status status = begun ? QB_OK : qb__alloc(s->band * g->columns, sizeof(float), &t->out[worker]);
    if (status == QB_OK && !begun)
        status = expose(s, &t->benches, worker, view, row, end, t->out[worker]); /* allocates memory */
    if (status != QB_OK) return status;
    const double start = qb__now();
    status = expose(s, &t->benches, worker, view, row, end, t->out[worker]);
    t->seconds[worker] += qb__now() - start;
    t->pixels[worker] += (double)((end - row) * g->columns);
    return status;
}

static double measure(qb__source *source) {
    simulated *s = (simulated *)source;
    if (s->rate > 0) return s->rate;
    trial t = {.s = s, .count = SAMPLES * source->threads};
    const qb_status status = qb__share(source->threads, t.count, try_band, &t);
    for (size_t i = 0; i < QB__SHARE_THREADS_MOST; i++) {
        if (t.seconds[i] > 0) s->rate += t.pixels[i] / t.seconds[i] * sizeof(float);
        qb__free(t.out[i]);
    }
    clear(&t.benches);
    if (status != QB_OK || !(s->rate > 0)) s->rate = 0.5e9 * (double)source->threads; /* no memory, or no clock */
    return s->rate;
}

static void release(qb__source *source) {
    simulated *s = (simulated *)source;
    qb_geometry_destroy(&s->geometry);
    qb__phantom_destroy(&s->phantom);
}

/* ---- opening ---- */

static qb_status number(const cJSON *object, const char *key, double least, double most, double *out) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    if (!cJSON_IsNumber(item)) return qb__fail(QB_BAD_INPUT, "'%s' is not a number", key);
    *out = item->valuedouble;
    if (*out >= least && *out <= most) return QB_OK;
    return qb__fail(QB_BAD_INPUT, "'%s' is %g, not %g to %g", key, *out, least, most);
}

/* Read a whole number. A misspelled option would otherwise be ignored. */
static qb_status whole(const char *key, double value) {
    return value == floor(value) ? QB_OK : qb__fail(QB_BAD_INPUT, "'%s' holds %.10g: give a whole number", key, value);
}

static qb_status three(const cJSON *object, const char *key, double least, double most, double out[3]) {
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(object, key);
    if (cJSON_IsArray(list) && cJSON_GetArraySize(list) == 3) {
        int good = 0;
        for (int i = 0; i < 3; i++) {
            const cJSON *item = cJSON_GetArrayItem(list, i);
            out[i] = cJSON_IsNumber(item) ? item->valuedouble : NAN;
            good += out[i] >= least && out[i] <= most;
        }
        if (good == 3) return QB_OK;
    }
    return qb__fail(QB_BAD_INPUT, "'%s' is not three numbers from %g to %g", key, least, most);
}

/* Read the phantom's box and the phantom. */
static qb_status read_phantom(const cJSON *object, qb__phantom *phantom) {
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, "phantom"));
    double attenuation = 0, seed = 0, sides[3];
    qb_grid grid = {.offset = {0}};
    qb_status status;
    if (!name) return qb__fail(QB_BAD_INPUT, "it names no 'phantom'");
    QB__TRY(number(object, "attenuation", -1e9, 1e9, &attenuation));
    QB__TRY(number(object, "seed", INT32_MIN, INT32_MAX, &seed));
    QB__TRY(three(object, "size", 1, QB__GEOMETRY_MOST_PIXELS, sides));
    QB__TRY(three(object, "voxel", 1e-9, 1e9, grid.voxel));
    QB__TRY(whole("seed", seed));
    for (int i = 0; i < 3; i++) {
        QB__TRY(whole("size", sides[i]));
        grid.n[i] = (size_t)sides[i];
    }
    status = qb__phantom_create(name, &grid, attenuation, (uint64_t)(int)seed, phantom);
    if (status == QB_BAD_ARGUMENT) status = QB_BAD_INPUT;
out:
    return status;
}

/* Check the types of the options. An option with a wrong type would otherwise be ignored. */
static qb_status check_keys(const cJSON *object) {
    static const char *const keys[] = {QB__SIMULATED_SCAN, "comment", "phantom", "attenuation", "seed", "size", "voxel",
                                       "geometry"};
    const size_t n = sizeof keys / sizeof keys[0];
    for (const cJSON *item = object->child; item; item = item->next) {
        size_t i = 0;
        while (i < n && strcmp(item->string, keys[i]) != 0) i++;
        if (i == n) return qb__fail(QB_BAD_INPUT, "the key '%.60s' means nothing in a simulated scan", item->string);
        if (cJSON_GetObjectItemCaseSensitive(object, item->string) != item)
            return qb__fail(QB_BAD_INPUT, "the key '%s' is there twice", item->string);
    }
    return QB_OK;
}

static qb_status read_object(const cJSON *object, simulated *s) {
    double version;
    QB__OR_RETURN(number(object, QB__SIMULATED_SCAN, 1, 1, &version));
    QB__OR_RETURN(check_keys(object));
    QB__OR_RETURN(qb__geometry_of_json(object, &s->geometry));
    QB__OR_RETURN(qb__geometry_check(&s->geometry));
    QB__OR_RETURN(qb__geometry_check_units(&s->geometry));
    QB__OR_RETURN(read_phantom(object, &s->phantom));
    return qb__phantom_check_sources(&s->phantom, &s->geometry);
}

static qb_status describe(simulated *s) {
    const qb_geometry *g = &s->geometry;
    size_t values;
    const size_t shape[3] = {g->views, g->rows, g->columns};
    if (!qb__mul(g->views, g->rows, g->columns, &values) || values > SIZE_MAX / 16)
        return qb__fail(QB_BAD_INPUT, "%zu views of %zu x %zu are too many pixels", g->views, g->columns, g->rows);
    memcpy(s->base.shape, shape, sizeof shape);
    s->base.dtype = QB_F32;
    s->base.beam = g->beam;
    s->base.voxel[0] = qb__norm(g->view[0].u);
    s->base.voxel[1] = qb__norm(g->view[0].v);
    snprintf(s->base.quantity, sizeof s->base.quantity, "transmission");
    s->band = qb__smaller(BAND_PIXELS / g->columns + 1, g->rows);
    s->base.cache = g->views * sizeof *g->view + s->phantom.count * sizeof *s->phantom.shape;
    s->base.cache_each = scratch_of(s);
    s->base.threads =
        /* computing scales with all threads, unlike storage */
        qb__smaller((size_t)qb__cpu_count(), QB__SHARE_THREADS_MOST);
    s->base.computes = measure;
    s->base.read = read_views;
    return QB_OK;
}

static qb_status read_file(const char *path, simulated *s) {
    qb__text text;
    cJSON *object = NULL;
    QB__OR_RETURN(qb__text_read(path, QB__GEOMETRY_MOST_BYTES, &text));
    qb_status status = qb__geometry_json(&text, &object);
    qb__text_clear(&text);
    if (status == QB_OK) status = read_object(object, s);
    if (status == QB_OK) status = describe(s);
    cJSON_Delete(object);
    return status == QB_OK ? QB_OK : qb__fail_in(status, "%s", path);
}

qb_status qb__simulated_open(const char *path, const char *how, qb__source **source) {
    simulated *s;
    (void)how;
    *source = NULL;
    QB__OR_RETURN(qb__source_create(sizeof *s, "simulated", path, &s));
    s->base.release = release;
    const qb_status status = read_file(path, s);
    return qb__source_give(status, &s->base, source);
}

qb_status qb__simulated_scan(const char *path, const qb_scan_options *options, qb__scan_parts *parts) {
    (void)options;
    qb__circle circle;
    qb_status status = qb__simulated_open(path, NULL, &parts->data.source);
    if (status != QB_OK) return status;
    const qb_geometry *g = &((const simulated *)parts->data.source)->geometry;
    parts->data.count = g->views;
    QB__TRY(qb__alloc(g->views, sizeof(double), &parts->angles));
    qb__view_angles(g, parts->angles);
    parts->angle_count = g->views;
    snprintf(parts->angles_from, sizeof parts->angles_from, "%.150s", path);
    if (g->beam == QB_BEAM_CONE) {
        parts->placed = qb__strdup(path);
        return parts->placed ? QB_OK : qb__fail(QB_NO_MEMORY, "no memory for a file's name");
    }
    QB__TRY(qb__circle_fit(g, &circle));
    parts->center = circle.column;
    parts->center_holds = true;
out:
    return status;
}

/* ---- writing ---- */

/* Refuse other formats, because they store numbers. */
static qb_status begin(qb_writer *writer) {
    return qb__fail(
        QB_BAD_ARGUMENT,
        "%s: .sim is a scan that qb simulate describes, it holds no numbers: give .h5, .mha, .npy, .nrrd, .raw or .tif",
        writer->path);
}

const qb__writer_kind qb__simulated_writer = {.begin = begin};
