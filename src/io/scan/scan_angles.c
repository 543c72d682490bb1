/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/sort.h"
#include "base/status.h"
#include "base/warning.h"
#include "io/scan/scan.h"

static const double pi = 3.14159265358979323846;

/* Steps between neighbouring angles: from view to view if the angles rise or fall monotonically, otherwise (golden
 * angles, interlaced turns) of the sorted angles. */
typedef struct steps {
    double least, most, mean;
    bool in_order;
} steps;

static bool in_order(const double *angles, size_t n) {
    bool rise = true, fall = true;
    for (size_t i = 1; i < n; i++) {
        rise = rise && angles[i] >= angles[i - 1];
        fall = fall && angles[i] <= angles[i - 1];
    }
    return rise || fall;
}

/* Sort the angles within one turn; views of the same angle count once. */
static void sort_angles(const double *from, size_t n, double *to) {
    for (size_t i = 0; i < n; i++) {
        to[i] = fmod(from[i], 2 * pi);
        if (to[i] < 0) to[i] += 2 * pi;
    }
    qb__sort(to, n);
}

static qb_status find_steps(const double *angles, size_t n, steps *found) {
    const double SAME = 1e-6;
    double *sorted = NULL;
    size_t count = 0;
    *found = (steps){.least = INFINITY, .in_order = in_order(angles, n)};
    if (!found->in_order) {
        QB__OR_RETURN(qb__alloc(n, sizeof *sorted, &sorted));
        sort_angles(angles, n, sorted);
        angles = sorted;
    }
    for (size_t i = 1; i < n; i++) {
        const double step = fabs(angles[i] - angles[i - 1]);
        if (!found->in_order && step < SAME) continue;
        found->least = fmin(found->least, step);
        found->most = fmax(found->most, step);
        count++;
    }
    found->mean = count ? fabs(angles[n - 1] - angles[0]) / (double)count : 0;
    qb__free(sorted);
    return QB_OK;
}

/* True for numbers that span half a turn or a turn in degrees, with or without the last angle, although they are stated
 * as radians. */
static bool are_degrees(double span, size_t views) {
    const double wide = span * (double)views / (double)(views - 1);
    for (int half = 1; half <= 2; half++)
        if (fabs(wide - 180 * half) < 0.5 || fabs(span - 180 * half) < 0.5) return views > 8;
    return false;
}

double qb__scan_span(const qb_scan_info *info) {
    double least = INFINITY, most = -INFINITY;
    for (size_t i = 0; info->angles && i < info->views; i++)
        least = fmin(least, info->angles[i]), most = fmax(most, info->angles[i]);
    return most > least ? most - least : 0;
}

/* More than a few turns in small steps, or in steps of more than one turn, are usually a wrong unit and rarely a scan
 * of so many turns. Golden angles and similar schemes have large steps. */
static void judge_turns(const qb_scan_info *info, qb__notes *notes) {
    const double TURNS = 4, SMALL = 15 * pi / 180;
    double way = 0;
    for (size_t i = 1; i < info->views; i++) way += fabs(info->angles[i] - info->angles[i - 1]);
    const double span = qb__scan_span(info), turns = span / (2 * pi), step = way / (double)(info->views - 1);
    if (are_degrees(span, info->views))
        qb__note(notes, "the angles span %.4g turns, but %s as degrees: give --angle-unit deg" QB__CODE("angle-turns"),
                 turns, span < 270 ? "a half" : "one");
    else if (turns > TURNS && (step < SMALL || step > 2 * pi))
        qb__note(notes,
                 "the angles span %.4g turns, in steps of %.4g degrees: are they in the unit that is stated? Else give "
                 "--angle-unit" QB__CODE("angle-turns"),
                 turns, step * 180 / pi);
}

/* Warn of angles that are stated in degrees but cover half a turn or a turn in radians. */
static void judge_unit(const qb_scan_info *info, qb__notes *notes) {
    const size_t n = info->views;
    const double span = qb__scan_span(info) * 180 / pi, degrees = span * (double)n / (double)(n - 1);
    if (n > 8 && (fabs(degrees / pi - 1) < 0.05 || fabs(degrees / (2 * pi) - 1) < 0.05))
        qb__note(notes,
                 "the angles span %.4g degrees: if they are radians, give --angle-unit rad" QB__CODE("angle-unit"),
                 span);
}

void qb__scan_judge_angles(qb_scan *scan, bool unit_given) {
    const qb_scan_info *info = &scan->info;
    qb__notes *notes = &scan->parts.notes;
    if (!info->angles || info->views < 3) return;
    const double *t = info->angles;
    const size_t n = info->views;
    const double span = fabs(t[n - 1] - t[0]);
    steps step;
    if (find_steps(t, n, &step) != QB_OK) return;
    if (step.most == 0.0) {
        qb__note(notes, "all %zu angles are %g degrees" QB__CODE("one-angle"), n, t[0] * 180.0 / pi);
        return;
    }
    judge_turns(info, notes);
    if (!unit_given) judge_unit(info, notes);
    if (step.most > 1.5 * step.mean || step.least < 0.5 * step.mean)
        qb__note(notes, "angles are uneven: steps of %.4g to %.4g degrees, %.4g on average%s" QB__CODE("uneven-angles"),
                 step.least * 180.0 / pi, step.most * 180.0 / pi, step.mean * 180.0 / pi,
                 step.in_order ? "" : ", in order of angle");
    /* Only parallel rays are the same after half a turn. */
    const qb_beam beam = scan->parts.data.source ? scan->parts.data.source->beam : QB_BEAM_UNKNOWN;
    for (int turn = beam == QB_BEAM_CONE ? 2 : 1; turn <= 2 && step.in_order; turn++)
        if (fabs(span - turn * pi) < 0.25 * step.mean)
            qb__note(notes, "the last view repeats the first: %.4g and %.4g degrees" QB__CODE("repeated-view"),
                     t[0] * 180.0 / pi, t[n - 1] * 180.0 / pi);
}

void qb__scan_warn_pixel(const qb_scan_info *info, const qb_env *env) {
    if (!(info->pixel_size > 0))
        qb__warn(env,
                 "the pixel size is unknown: values are per pixel; give --pixel-size MM" QB__CODE("no-pixel-size"));
}

qb_status qb__scan_lacks_angles(const qb_scan_info *info) {
    return qb__fail(QB_BAD_INPUT, "%s: %s", info->path,
                    info->no_angles ? info->no_angles : "it has no angles: give --angles");
}
