/* SPDX-License-Identifier: MIT */
/* Flats that were taken at several times of a scan. Frames with no view taken between them form a series. The flat of a
 * view is interpolated linearly, pixel by pixel, between the means of the series before and after it, or is the mean of
 * the nearer series (field_times.c). */
#include "io/scan/flat_series.h"

#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"

/* ---- means of the series ---- */

static double level_of(const qb_scan *scan, const float *mode) {
    const size_t pixels = scan->info.rows * scan->info.columns;
    double flat = 0, series = 0;
    for (size_t p = 0; p < pixels; p++) {
        const double beam = (double)scan->flat[p] - (scan->dark ? (double)scan->dark[p] : 0);
        if (!(beam > 0)) continue;
        flat += beam;
        series += beam * (double)mode[p];
    }
    return flat > 0 ? series / flat : 1;
}

/* Divides the mean of a series by the mean flat, both minus the dark. A pixel that is dead in one series counts as
 * dead. */
static void make_mode(const qb_scan *scan, float *flat, float *mode) {
    const size_t pixels = scan->info.rows * scan->info.columns;
    for (size_t p = 0; p < pixels; p++) {
        const float dark = scan->dark ? scan->dark[p] : 0, all = flat[p] - dark, own = mode[p] - dark;
        const bool good = own > 0 && all > 0 && isfinite(own / all);
        if (!good && all > 0) flat[p] = NAN;
        mode[p] = good ? own / all : 1;
    }
}

static qb_status read_series(qb__field_times *t, size_t s, size_t *index, float *flat, qb__drift *drift,
                             const qb_env *env) {
    const qb__flats *f = t->flats;
    const double *monitor = f->all == &t->scan->parts.flats ? t->scan->parts.flat_intensity : NULL;
    float *mode = drift->mode + s * drift->pixels;
    qb__field_found found = {0};
    float least = 0;
    const size_t first = t->first[s], count = t->first[s + 1] - first;
    drift->level[s] = monitor ? 0 : 1;
    for (size_t i = 0; i < count; i++) {
        const size_t frame = t->shot[first + i].frame;
        index[i] = f->all->index ? f->all->index[frame] : frame;
        drift->time[s] += t->shot[first + i].time / (double)count;
        if (monitor) drift->level[s] += monitor[frame] / (double)count;
    }
    const qb__frames taken = {.source = f->all->source, .index = index, .count = count};
    const qb_status status = qb__frames_mean(&taken, false, f->average, env, mode, &found, &least);
    if (status == QB_OK) make_mode(t->scan, flat, mode);
    return status;
}

static void describe(const qb__field_times *t, bool nearest, double low, double high, qb__drift *drift) {
    const size_t last = t->shot[t->first[t->series - 1]].before;
    qb__print(drift->text, sizeof drift->text, "%s %zu series of flats, before view%s %zu%s %zu, levels %.4g to %.4g",
              nearest ? "the nearer of" : "linear between", t->series, t->series > 2 ? "s" : "", t->shot[0].before,
              t->series > 2 ? " to" : " and", last, low, high);
}

static qb_status make_drift(qb__field_times *t, bool nearest, const qb_env *env, float *flat, qb__drift **made) {
    const qb_scan *scan = t->scan;
    qb__drift *drift;
    const size_t pixels = scan->info.rows * scan->info.columns;
    size_t *index = NULL, all;
    double low = INFINITY, high = 0;
    qb_status status;
    if (!qb__mul(t->series, pixels, sizeof(float), &all))
        return qb__fail(QB_NO_MEMORY, "%zu series of flats of %zu pixels", t->series, pixels);
    QB__TRY(qb__alloc(1, sizeof *drift, made));
    drift = *made;
    drift->modes = drift->series = t->series, drift->pixels = pixels, drift->columns = scan->info.columns;
    QB__TRY(qb__alloc(t->series * pixels, sizeof(float), &drift->mode));
    QB__TRY(qb__alloc(t->series, sizeof(double), &drift->time));
    QB__TRY(qb__alloc(t->series, sizeof(double), &drift->level));
    QB__TRY(qb__alloc(t->flats->taken, sizeof *index, &index));
    for (size_t s = 0; s < t->series; s++) {
        QB__TRY(read_series(t, s, index, flat, drift, env));
        const double level = level_of(scan, drift->mode + s * pixels);
        low = fmin(low, level), high = fmax(high, level);
    }
    describe(t, nearest, low, high, drift);
out:
    qb__free(index);
    return status;
}

/* Computes the principal components of all flats and, if the times are known, the brightness of each series. */
static qb_status make_components(qb__field_times *t, bool known, const qb_env *env, qb__drift **made) {
    const qb__flats *f = t->flats;
    qb__drift *drift;
    size_t *index = NULL;
    double *level = NULL;
    qb_status status = qb__alloc(1, sizeof *drift, &drift);
    if (status != QB_OK) return status;
    *made = drift;
    QB__TRY(qb__alloc(f->taken, sizeof *index, &index));
    QB__TRY(qb__alloc(f->taken, sizeof *level, &level));
    for (size_t i = 0, n = 0; i < f->all->count; i++) {
        if (f->bad[i]) continue;
        const size_t frame = known ? t->shot[n].frame : i; /* in order of time if the times are known */
        index[n++] = f->all->index ? f->all->index[frame] : frame;
    }
    const qb__frames taken = {.source = f->all->source, .index = index, .count = f->taken};
    QB__TRY(qb__flat_pca_modes(t->scan, &taken, env, drift, level));
    drift->components = true;
    drift->series = known ? t->series : 0;
    QB__TRY(qb__alloc(drift->series, sizeof(double), &drift->time));
    QB__TRY(qb__alloc(drift->series, sizeof(double), &drift->level));
    for (size_t s = 0; s < drift->series; s++) {
        const size_t first = t->first[s], count = t->first[s + 1] - first;
        for (size_t i = first; i < first + count; i++) {
            drift->time[s] += t->shot[i].time / (double)count;
            drift->level[s] += level[i] / (double)count;
        }
    }
out:
    QB__FREE(index, level);
    return status;
}

/* Why the flats options of the caller cannot be used; NULL: they can. */
static const char *contradicts(const qb_scan *scan, const qb__flats *flats, const qb_scan_options *options) {
    const bool moves = options->flat_fields > QB_FLATS_MEAN;
    if (options->flats_at && options->flat_fields == QB_FLATS_MEAN)
        return "--flats-at does not go with --flat-fields mean";
    if (!moves && !options->flats_at) return NULL;
    if (scan->info.quantity != QB_COUNTS) return "--flat-fields and --flats-at are for counts";
    if (!flats->all) return "--flat-fields and --flats-at: there are no flats; give --flats FILE";
    return flats->lines ? "--flat-fields and --flats-at: a detector of one row has flats of one time" : NULL;
}

qb_status qb__flat_series_load(qb_scan *scan, const qb__flats *flats, const qb_scan_options *options, const qb_env *env,
                               float *flat, qb__drift **drift) {
    const qb_flat_fields how = options->flat_fields;
    const char *fault = contradicts(scan, flats, options);
    qb__field_times t = {.what = "flats", .scan = scan, .flats = flats};
    bool known = false;
    qb_status status = QB_OK;
    if (fault) return qb__fail(QB_BAD_ARGUMENT, "%s: %s", scan->info.path, fault);
    if (how == QB_FLATS_MEAN || scan->info.quantity != QB_COUNTS || !flats->all || flats->lines) return QB_OK;
    QB__TRY(qb__field_times_find(&t, options->flats_at, &known));
    if (how == QB_FLATS_PCA) QB__TRY(make_components(&t, known, env, drift));
    if (*drift && !(*drift)->modes) {
        qb__info(env, "flats: no principal component is beyond noise; they are taken as by --flat-fields auto");
        qb__drift_destroy(*drift);
        *drift = NULL;
    }
    if (*drift) goto told;
    if (!known && how != QB_FLATS_AUTO && how != QB_FLATS_PCA)
        status =
            qb__fail(QB_BAD_ARGUMENT,
                     "%s does not say when its flats were taken: give --flats-at, such as 0,%zu for as many before "
                     "the views as behind them",
                     scan->info.path, scan->stored);
    else if (known && t.series > 1)
        status = make_drift(&t, how == QB_FLATS_NEAREST, env, flat, drift);
told:
    if (status == QB_OK && *drift) qb__info(env, "flats: %s", (*drift)->text);
out:
    qb__field_times_clear(&t);
    return status;
}

/* ---- weights ---- */

size_t qb__scan_modes(const qb_scan *scan) { return scan->drift ? scan->drift->modes : 0; }

/* Weights of the series at a time: linear between the series before and after it. Before the first series and after the
 * last one, that series alone counts. */
static void weigh(const qb__drift *d, double time, bool nearest, float *weight) {
    size_t next = 0;
    while (next < d->series && d->time[next] < time) next++;
    memset(weight, 0, (d->modes + 1) * sizeof *weight);
    if (next == 0 || next == d->series) {
        weight[next == 0 ? 1 : d->series] = 1;
        return;
    }
    double part = (time - d->time[next - 1]) / (d->time[next] - d->time[next - 1]);
    if (nearest) part = part > 0.5;
    weight[next] = (float)(1 - part);
    weight[next + 1] = (float)part;
}

/* Principal components: sets the level by interpolation between the series, then the weight of each component. */
static qb_status weigh_components(qb_scan *scan, bool frames, const qb_env *env) {
    qb__drift *d = scan->drift;
    for (size_t v = 0; v < d->views; v++) {
        const double time = qb__view_time(scan, frames, qb__scan_stored(scan, v));
        size_t next = 0;
        while (next < d->series && d->time[next] < time) next++;
        double level = d->series ? d->level[next < d->series ? next : d->series - 1] : 1;
        if (next > 0 && next < d->series) {
            const double part = (time - d->time[next - 1]) / (d->time[next] - d->time[next - 1]);
            level = d->level[next - 1] + part * (d->level[next] - d->level[next - 1]);
        }
        d->weight[v * (d->modes + 1)] = d->monitor[v] = (float)level;
    }
    return qb__flat_pca_weigh(scan, env);
}

qb_status qb__scan_weigh_flats(qb_scan *scan, const qb_scan_options *options, const qb_env *env) {
    qb__drift *d = scan->drift;
    const bool frames = !options->flats_at && !options->flats && scan->parts.data.index;
    if (!d) return QB_OK;
    d->views = scan->info.views;
    QB__OR_RETURN(qb__alloc(d->views * (d->modes + 1), sizeof *d->weight, &d->weight));
    QB__OR_RETURN(qb__alloc(d->views, sizeof *d->monitor, &d->monitor));
    for (size_t v = 0; v < d->views; v++) d->monitor[v] = 1;
    if (d->components) return weigh_components(scan, frames, env);
    for (size_t v = 0; v < d->views; v++) {
        float *weight = d->weight + v * (d->modes + 1), level = 0;
        weigh(d, qb__view_time(scan, frames, qb__scan_stored(scan, v)), options->flat_fields == QB_FLATS_NEAREST,
              weight);
        for (size_t k = 0; k < d->modes; k++) level += weight[k + 1] * (float)d->level[k];
        d->monitor[v] = level;
    }
    return QB_OK;
}
