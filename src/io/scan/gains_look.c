/* SPDX-License-Identifier: MIT */
/* Detects views with another gain or beam than most. If the gain or the beam changes suddenly, all pixels of a view
 * change by the same factor. If an object turns, pixels change by different factors, and little from view to view. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/sort.h"
#include "base/status.h"
#include "io/scan/frame_list.h"
#include "io/scan/scan.h"

enum { LEAST_FRAMES = 8 };

static double median_of(double *values, size_t count) {
    if (!count) return 0;
    qb__sort(values, count);
    return values[count / 2];
}

/* True if the neighbouring steps are small compared with this one, or go back: then it is not the slope of a change
 * over several frames. */
static bool is_apart(const qb__frame *frames, size_t count, size_t at) {
    const float step = frames[at].step.size;
    for (int side = 0; side < 2; side++) {
        if (side ? at + 1 >= count : at < 2) continue;
        const float other = frames[side ? at + 1 : at - 1].step.size;
        if (!isnan(other) && other * step > 0.35f * step * step) return false;
    }
    return true;
}

/* level[i]: the logarithm by which frame i is brighter than most frames, by jumps in which all pixels change alike.
 * Returns the number of frames with another level than most. skip[i]: the step before frame i is not used.
 * scratch[count]. */
static size_t find_levels(const qb__frame *frames, const bool *skip, size_t count, double *level, double *scratch) {
    const double LEAST = 0.04, USUAL = 8, ERRORS = 8, ALIKE = 1.2;
    size_t known = 0, other = 0;
    bool any = false;
    memset(level, 0, count * sizeof *level);
    for (size_t i = 1; i < count; i++)
        if (!skip[i] && !isnan(frames[i].step.size)) scratch[known++] = fabs((double)frames[i].step.size);
    if (known < LEAST_FRAMES) return 0;
    const double usual = median_of(scratch, known);
    known = 0;
    for (size_t i = 1; i < count; i++)
        if (!skip[i] && !isnan(frames[i].step.size)) scratch[known++] = (double)frames[i].step.spread;
    const double spread = median_of(scratch, known);
    for (size_t i = 1; i < count; i++) {
        const double step = (double)frames[i].step.size, size = fabs(step);
        level[i] = level[i - 1];
        if (skip[i] || !(size > fmax(LEAST, fmax(USUAL * usual, ERRORS * (double)frames[i].step.error))))
            continue; /* false for NaN */
        if ((double)frames[i].step.spread > fmin(1.5 * spread + 0.3 * size, ALIKE * size) ||
            !is_apart(frames, count, i))
            continue;
        level[i] += step;
        any = true;
    }
    if (!any) return 0;
    memcpy(scratch, level, count * sizeof *scratch);
    const double base = median_of(scratch, count);
    for (size_t i = 0; i < count; i++) {
        level[i] -= base;
        if (fabs(level[i]) < 0.75 * LEAST) level[i] = 0;
        other += level[i] != 0;
    }
    return other;
}

/* Mark steps that are not used: at an angular gap an object may look different, and bad views are not used.
 * scratch[count]. */
static void skip_steps(const double *angles, const unsigned char *bad, size_t count, double *scratch, bool *skip) {
    for (size_t i = 1; angles && i < count; i++) scratch[i - 1] = fabs(angles[i] - angles[i - 1]);
    if (angles && count > 1) qb__sort(scratch, count - 1);
    const double usual = angles && count > 1 ? scratch[(count - 1) / 2] : 0;
    for (size_t i = 0; i < count; i++) {
        skip[i] = i == 0 || bad[i] || bad[i - 1];
        if (angles && i && fabs(angles[i] - angles[i - 1]) > 1.5 * usual) skip[i] = true;
    }
}

static void tell(qb_scan *scan, const bool *other, size_t others, size_t count, double factor) {
    char which[160];
    qb__frame_list_words(other, scan->stored, which, sizeof which);
    if (scan->info.quantity == QB_LINE_INTEGRAL)
        qb__print(scan->gains, sizeof scan->gains,
                  "line integrals of views %s (%zu of %zu) are %.3g times those of the views around them: scale them, "
                  "or leave them out by --exclude",
                  which, others, count, factor);
    else
        qb__print(scan->gains, sizeof scan->gains,
                  "views %s (%zu of %zu) are %.3g times as bright as the views around them: give --air auto, or leave "
                  "them out by --exclude",
                  which, others, count, factor);
}

/* Steps up follow steps down, as between two gains; not so between views of arbitrary angles. Returns the size of the
 * steps; 0: no such pattern. scratch[count]. */
static double alternates(const qb__frame *frames, const bool *skip, size_t count, double *scratch) {
    const double LEAST = 0.04, ERRORS = 8, NEARLY_ALL = 0.9;
    size_t steps = 0, turns = 0;
    double before = 0;
    for (size_t i = 1; i < count; i++) {
        const double step = (double)frames[i].step.size;
        if (skip[i] || !(fabs(step) > fmax(LEAST, ERRORS * (double)frames[i].step.error))) continue;
        turns += step * before < 0;
        scratch[steps++] = fabs(step);
        before = step;
    }
    if (steps < 2 * LEAST_FRAMES || 4 * steps < count || (double)turns < NEARLY_ALL * (double)steps) return 0;
    return median_of(scratch, steps);
}

static void tell_alternating(qb_scan *scan, double step) {
    const bool lines = scan->info.quantity == QB_LINE_INTEGRAL;
    qb__print(scan->gains, sizeof scan->gains, "views are by turns %.3g times as %s as the view before: %s", exp(step),
              lines ? "large" : "bright",
              lines ? "scale them" : "the gain or the beam alternates; give --air auto or --air 99.9%");
}

qb_status qb__scan_find_gains(qb_scan *scan, const qb__frame *frames, const unsigned char *bad, size_t count) {
    bool *skip = NULL, *chosen = NULL;
    double *level = NULL, *scratch = NULL, most = 0;
    qb_status status;
    QB__TRY(qb__alloc(count, sizeof *skip, &skip));
    QB__TRY(qb__alloc(scan->stored, sizeof *chosen, &chosen));
    QB__TRY(qb__alloc(count, sizeof *level, &level));
    QB__TRY(qb__alloc(count, sizeof *scratch, &scratch));
    skip_steps(scan->info.angles, bad, count, scratch, skip);
    const double turn = alternates(frames, skip, count, scratch);
    if (turn > 0) {
        tell_alternating(scan, turn);
        goto out;
    }
    const size_t others = find_levels(frames, skip, count, level, scratch);
    for (size_t i = 0; others && i < count; i++) {
        if (level[i] == 0) continue;
        chosen[qb__scan_stored(scan, i)] = true;
        if (fabs(level[i]) > fabs(most)) most = level[i];
    }
    if (others) tell(scan, chosen, others, count, exp(most));
out:
    QB__FREE(skip, chosen, level, scratch);
    return status;
}
