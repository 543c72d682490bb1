/* SPDX-License-Identifier: MIT */
#include "io/scan/flat_series.h"

#include <math.h>

#include "base/memory.h"
#include "base/sort.h"

enum { MOST = 4096 /* frames from which a level is computed */ };

static bool is_good(const qb__field_series *s, size_t i) {
    return !s->bad[i] && s->frames[i].looked && isfinite(s->frames[i].median);
}

static double level(const qb__field_series *s, size_t i) { return (double)s->frames[i].median; }

/* The level below which such a share of the good frames lies; NAN if there is none. */
static double level_at(const qb__field_series *s, double share) {
    double levels[MOST];
    size_t count = 0;
    for (size_t i = 0; i < s->count && count < MOST; i++)
        if (is_good(s, i)) levels[count++] = level(s, i);
    if (!count) return NAN;
    qb__sort(levels, count);
    return levels[(size_t)(share * (double)(count - 1))];
}

/* Variation of the median of the sampled numbers by noise, for a usual frame: from its 5 % and 95 % levels. Whole
 * numbers vary by steps of one. */
static double noise_of(const qb__field_series *s) {
    const double SIGMAS = 3.29, OF_MEDIAN = 1.2533, SAMPLES = 128;
    double spreads[MOST];
    size_t count = 0;
    bool whole = true;
    for (size_t i = 0; i < s->count && count < MOST; i++) {
        if (!is_good(s, i)) continue;
        whole &= level(s, i) == rint(level(s, i));
        spreads[count++] = (double)s->frames[i].bright - (double)s->frames[i].low;
    }
    return count ? fmax(OF_MEDIAN / sqrt(SAMPLES) * qb__median(spreads, count) / SIGMAS, whole ? 0.5 : 0) : 0;
}

/* Usual distance of a frame from the middle one. */
static double usual_distance(const qb__field_series *s, double middle) {
    double distances[MOST];
    size_t count = 0;
    for (size_t i = 0; i < s->count && count < MOST; i++)
        if (is_good(s, i)) distances[count++] = fabs(level(s, i) - middle);
    return count ? fmax(qb__median(distances, count), noise_of(s)) : 0;
}

/* Marks the frames for which `is` holds: if it is sure, all but one; otherwise only a minority of three or more. */
typedef bool (*question)(double level, double middle, double least, double range, double usual);

static void mark(qb__field_series *s, question is, bool sure, double middle, double least, double range) {
    size_t good = 0, found = 0;
    const double usual = usual_distance(s, middle);
    for (size_t i = 0; i < s->count; i++) {
        if (!is_good(s, i)) continue;
        good++;
        found += is(level(s, i), middle, least, range, usual);
    }
    if (!found || found == good || (!sure && (good < 3 || 2 * found >= good))) return;
    for (size_t i = 0; i < s->count; i++)
        if (is_good(s, i) && is(level(s, i), middle, least, range, usual)) s->bad[i] = true;
}

static bool has_beam(double l, double middle, double least, double range, double usual) {
    (void)middle, (void)usual;
    return l - least > 0.25 * range;
}

static bool has_no_beam(double l, double middle, double least, double range, double usual) {
    (void)middle, (void)usual;
    return l - least < 0.1 * range;
}

/* Beams fade and drift by less than this. */
static bool is_off(double l, double middle, double least, double range, double usual) {
    (void)range;
    return fabs(l - middle) > 0.3 * fabs(middle - least) && fabs(l - middle) > 6 * usual;
}

static bool is_other_dark(double l, double middle, double least, double range, double usual) {
    (void)least;
    return fabs(l - middle) > 0.02 * range + 6 * usual;
}

static void mark_lost(qb__field_series *s) {
    size_t good = 0;
    for (size_t i = 0; i < s->count; i++) good += is_good(s, i) && s->frames[i].lost <= 0.5f;
    for (size_t i = 0; good && i < s->count; i++)
        if (s->frames[i].looked && !(s->frames[i].lost <= 0.5f)) s->bad[i] = true;
}

void qb__fields_judge(qb__field_series *flats, qb__field_series *darks) {
    mark_lost(flats);
    mark_lost(darks);
    const double beam = level_at(flats, 0.75);
    double least = level_at(darks, 0), range = beam - least;
    if (range > 0.01 * fabs(beam)) {
        mark(darks, has_beam, true, least, least, range);
        mark(flats, has_no_beam, true, beam, least, range);
    } else if (isnan(range)) {
        range = fabs(level_at(darks, 0.5)) / 2; /* without flats the brightness of the beam is unknown */
        least = isnan(least) ? 0 : least;
    }
    mark(flats, is_off, false, level_at(flats, 0.5), least, range);
    mark(darks, is_other_dark, false, level_at(darks, 0.5), least, range);
}

bool qb__fields_exchanged(const qb__field_series *flats, const qb__field_series *darks, double *flat, double *dark) {
    *flat = level_at(flats, 0.5), *dark = level_at(darks, 0.5);
    return level_at(flats, 1) < level_at(darks, 0) && *dark - *flat > 0.05 * fabs(*dark);
}
