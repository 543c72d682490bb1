/* SPDX-License-Identifier: MIT */
/* Darks that were taken at several times of a scan. The dark of an image is interpolated linearly between the means of
 * the dark series before and after it, or is the mean of the nearer series. */
#include "io/scan/flat_series.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"
#include "quickbeam/io.h"

/* A stack of images. From each image it subtracts the difference between the dark of that image and the mean dark. */
typedef struct drifting {
    qb__source base;
    qb__source *stored;
    float *more;   /* [series][row][column] mean of each series minus the mean dark */
    float *weight; /* [images][series] weight of each series for each image */
    size_t series;
    float top; /* stored numbers of at least this are saturated and become NAN */
} drifting;

static void take_off(const void *self, size_t image, const qb__region *region, float *to, size_t count) {
    const drifting *d = self;
    const size_t pixels = d->base.shape[1] * d->base.shape[2], first = region->row0 * d->base.shape[2];
    for (size_t i = 0; i < count; i++) to[i] = to[i] < d->top ? to[i] : NAN;
    for (size_t s = 0; s < d->series; s++) {
        const float *restrict more = d->more + s * pixels + first, w = d->weight[image * d->series + s];
        for (size_t i = 0; w != 0 && i < count; i++) to[i] -= w * more[i];
    }
}

static qb_status read_drifting(qb__source *source, const qb__region *region, void *out) {
    return qb__source_read_changed(((drifting *)source)->stored, region, source, take_off, out);
}

static void release_drifting(qb__source *source) {
    drifting *d = (drifting *)source;
    qb__source_close(d->stored);
    QB__FREE(d->more, d->weight);
}

/* ---- the series ---- */

typedef struct dark_series {
    qb__field_times times;
    bool frames, nearest; /* frames: time is counted in images of the file */
    bool drift;           /* the series differ by more than their noise */
    double *time;         /* [series] */
    float *more;          /* [series][row][column] mean of each series minus the mean dark */
} dark_series;

/* Does the mean of a series of `count` frames differ from the mean of all `total` frames? It does if its level differs
 * by more than a tenth of the noise of one frame, or if its pixels differ by twice the expected noise. `more`: the
 * difference; `noise`: standard deviation of a pixel of one frame, 0: unknown. */
static bool has_moved(const float *more, size_t pixels, double noise, double count, double total) {
    double mean = 0, square = 0;
    for (size_t p = 0; p < pixels; p++)
        mean += (double)more[p] / (double)pixels, square += (double)more[p] * (double)more[p] / (double)pixels;
    const double share = fmax(0, 1 / count - 1 / total);
    const double frame = noise > 0 ? noise : sqrt(fmax(0, square - mean * mean) / fmax(share, 0.1));
    return fabs(mean) > 0.1 * frame || (noise > 0 && square > 4 * noise * noise * share);
}

static qb_status read_series(dark_series *d, const qb_env *env, double *low, double *high) {
    const qb__field_times *t = &d->times;
    const qb_scan *scan = t->scan;
    const size_t pixels = scan->info.rows * scan->info.columns;
    size_t *index = NULL;
    qb_status status;
    QB__TRY(qb__alloc(t->series, sizeof *d->time, &d->time));
    QB__TRY(qb__alloc(t->series * pixels, sizeof *d->more, &d->more));
    QB__TRY(qb__alloc(t->flats->taken, sizeof *index, &index));
    for (size_t s = 0; s < t->series; s++) {
        const size_t first = t->first[s], count = t->first[s + 1] - first;
        float *more = d->more + s * pixels, least;
        qb__field_found found = {0};
        double level = 0;
        for (size_t i = 0; i < count; i++) {
            const size_t frame = t->shot[first + i].frame;
            index[i] = t->flats->all->index ? t->flats->all->index[frame] : frame;
            d->time[s] += t->shot[first + i].time / (double)count;
        }
        const qb__frames taken = {.source = t->flats->all->source, .index = index, .count = count};
        QB__TRY(qb__frames_mean(&taken, false, t->flats->average, env, more, &found, &least));
        for (size_t p = 0; p < pixels; p++) {
            level += isfinite(more[p]) ? (double)more[p] / (double)pixels : 0;
            more[p] = isfinite(more[p] - scan->dark[p]) ? more[p] - scan->dark[p] : 0;
        }
        d->drift = d->drift || has_moved(more, pixels, found.noise, (double)count, (double)t->flats->taken);
        *low = fmin(*low, level), *high = fmax(*high, level);
    }
out:
    qb__free(index);
    return status;
}

static void weigh(const dark_series *d, double time, float *weight) {
    const size_t series = d->times.series;
    size_t next = 0;
    while (next < series && d->time[next] < time) next++;
    if (next == 0 || next == series) {
        weight[next == 0 ? 0 : series - 1] = 1;
        return;
    }
    double part = (time - d->time[next - 1]) / (d->time[next] - d->time[next - 1]);
    if (d->nearest) part = part > 0.5;
    weight[next - 1] = (float)(1 - part), weight[next] = (float)part;
}

/* Replaces *source by one that subtracts the dark at the time of each image. time[images]; NULL: an image's time is its
 * number. The new source owns the old one. */
static qb_status wrap(const dark_series *d, const double *time, qb__source **source) {
    qb__source *stored = *source;
    const size_t bytes = d->times.series * stored->shape[1] * stored->shape[2] * sizeof(float);
    drifting *made = NULL;
    float *more = NULL, *weight = NULL;
    qb_status status;
    QB__TRY(qb__alloc(bytes, 1, &more));
    QB__TRY(qb__alloc(stored->shape[0], d->times.series * sizeof *weight, &weight));
    QB__TRY(qb__source_create(sizeof *made, stored->format, stored->path, &made));
    memcpy(more, d->more, bytes);
    for (size_t i = 0; i < stored->shape[0]; i++) weigh(d, time ? time[i] : (double)i, weight + i * d->times.series);
    char *path = made->base.path;
    made->base = *stored;
    made->base.path = path;
    made->base.dtype = QB_F32;
    const size_t image = stored->shape[1] * qb__source_row_bytes(stored);
    made->base.cache += qb__source_images_at_once(stored, image) * image + bytes;
    made->base.read = read_drifting;
    made->base.release = release_drifting;
    made->stored = stored, made->series = d->times.series, made->top = qb__dtype_top(stored->dtype);
    made->more = more, made->weight = weight;
    stored->holes = NULL; /* the new source owns them now */
    *source = &made->base;
    return QB_OK;
out:
    QB__FREE(more, weight);
    return status;
}

/* Times of all images of a stack, from the times of the frames in a list. Images outside the list get time 0; they are
 * never read. */
static qb_status times_of_images(const qb__frames *frames, const double *of_frame, double **time) {
    const qb_status status = qb__alloc(frames->source->shape[0], sizeof **time, time);
    for (size_t i = 0; status == QB_OK && i < frames->count; i++)
        (*time)[frames->index ? frames->index[i] : i] = of_frame ? of_frame[i] : (double)i;
    return status;
}

/* Flats get their own dark, too. Their times come from --flats-at if the darks are in other files. */
static qb_status wrap_flats(const dark_series *d, const qb__flats *flats, const qb_scan_options *options) {
    qb__field_times t = {.what = "flats", .scan = d->times.scan, .flats = flats};
    qb__frames *frames = (qb__frames *)flats->all;
    double *of_frame = NULL, *time = NULL;
    bool known = false;
    qb_status status = QB_OK;
    if (!frames || flats->lines) return QB_OK;
    if (d->frames) return qb__fields_in_one_file(t.scan, flats) ? wrap(d, NULL, &frames->source) : QB_OK;
    QB__TRY(qb__alloc(frames->count, sizeof *of_frame, &of_frame));
    QB__TRY(qb__field_times_find(&t, options->flats_at, &known));
    for (size_t i = 0; known && i < flats->taken; i++) of_frame[t.shot[i].frame] = t.shot[i].time;
    QB__TRY(times_of_images(frames, of_frame, &time));
    status = wrap(d, time, &frames->source);
out:
    qb__field_times_clear(&t);
    QB__FREE(of_frame, time);
    return status;
}

static qb_status wrap_views(const dark_series *d) {
    qb_scan *scan = d->times.scan;
    double *time = NULL;
    qb_status status = d->frames ? QB_OK : times_of_images(&scan->parts.data, NULL, &time);
    if (status == QB_OK) status = wrap(d, time, &scan->parts.data.source);
    if (status == QB_OK) scan->info.dtype = QB_F32;
    qb__free(time);
    return status;
}

/* The option --flats-at if it has one number for each file of darks. Else NULL: then all frames must be in one
 * stack. */
static const char *times_given(const qb__flats *darks, const qb_scan_options *options) {
    size_t numbers = 1;
    for (const char *c = options->flats_at; c && *c; c++) numbers += *c == ',';
    return options->flats_at && darks->parts == numbers && numbers > 1 ? options->flats_at : NULL;
}

qb_status qb__dark_series_load(qb_scan *scan, const qb__flats *darks, const qb__flats *flats,
                               const qb_scan_options *options, const qb_env *env) {
    dark_series d = {.times = {.what = "darks", .scan = scan, .flats = darks},
                     .nearest = options->flat_fields == QB_FLATS_NEAREST};
    const char *at = times_given(darks, options);
    double low = INFINITY, high = -INFINITY;
    bool known = false;
    qb_status status = QB_OK;
    if (options->flat_fields == QB_FLATS_MEAN || scan->info.quantity != QB_COUNTS || scan->sinogram || !darks->all ||
        darks->lines || (!at && !qb__fields_in_one_file(scan, darks)))
        return QB_OK;
    d.frames = !at;
    QB__TRY(qb__field_times_find(&d.times, at, &known));
    if (!known || d.times.series < 2) goto out;
    QB__TRY(read_series(&d, env, &low, &high));
    if (!d.drift) goto out; /* the mean of all darks has less noise, and the numbers can stay in their stored type */
    QB__TRY(wrap_views(&d));
    QB__TRY(wrap_flats(&d, flats, options));
    qb__info(env, "darks: %s %zu series, levels %.4g to %.4g", d.nearest ? "the nearer of" : "linear between",
             d.times.series, low, high);
out:
    qb__field_times_clear(&d.times);
    QB__FREE(d.time, d.more);
    return status;
}
