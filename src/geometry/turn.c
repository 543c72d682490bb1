/* SPDX-License-Identifier: MIT */
#include "geometry/turn.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/sort.h"
#include "base/status.h"

static const double pi = 3.14159265358979323846;

enum { NEIGHBOURS = 8 };                          /* steps on each side that define the usual step */
static const double GAP = 4;                      /* a gap is larger than this multiple of the usual step */
static const double RADIAN = 0.01745329251994330; /* radians per degree */

/* Single-precision degrees are accurate to 3e-5 below 512: this, in radians of a half turn, plus a thousandth of a
 * step. */
static double tolerance(double period, size_t steps) { return period / pi * (1e-6 + 1e-3 * pi / (double)steps); }

/* ---- directions ---- */

/* Sort the views, starting after the largest step, so that the wrap does not divide a direction. */
static void sort_views(const qb__turn *t, const double *radians, qb__direction *list, qb__direction *scratch) {
    const size_t n = t->views;
    for (size_t i = 0; i < n; i++) scratch[i] = (qb__direction){qb__turn_wrap(radians[i], t->period), i};
    qb__sort_directions(scratch, n);
    size_t start = 0;
    double largest = scratch[0].angle + t->period - scratch[n - 1].angle;
    for (size_t i = 1; i < n; i++) {
        const double step = scratch[i].angle - scratch[i - 1].angle;
        if (step > largest) largest = step, start = i;
    }
    for (size_t i = 0; i < n; i++) {
        const size_t from = (start + i) % n;
        list[i] = scratch[from];
        if (from < start) list[i].angle += t->period;
    }
}

static void find_directions(qb__turn *t, const qb__direction *list) {
    const double alike = tolerance(t->period, t->views);
    for (size_t i = 0; i < t->views; i++) {
        if (!t->directions || list[i].angle - t->angle[t->directions - 1] > alike)
            t->angle[t->directions++] = list[i].angle;
        t->direction[list[i].view] = t->directions - 1;
        t->same[t->directions - 1]++;
    }
    t->even = true;
    const double usual = t->period / (double)t->directions, error = tolerance(t->period, t->directions);
    for (size_t d = 0; d < t->directions; d++) {
        t->step[d] = (d + 1 < t->directions ? t->angle[d + 1] : t->angle[0] + t->period) - t->angle[d];
        if (t->step[d] > t->step[t->largest]) t->largest = d;
        if (fabs(t->step[d] - usual) > error) t->even = false;
    }
}

/* ---- gaps ---- */

/* Usual step before or after a step: the mean of the squares of the steps divided by their mean, so that long steps
 * count more. */
static double usual_step(const qb__turn *t, size_t at, bool behind) {
    const size_t n = t->directions, most = (n - 1) / 2 < NEIGHBOURS ? (n - 1) / 2 : NEIGHBOURS;
    double sum = 0, square = 0;
    for (size_t k = 1; k <= most; k++) {
        const double step = t->step[behind ? (at + k) % n : (at + n - k) % n];
        sum += step;
        square += step * step;
    }
    return sum > 0 ? square / sum : t->step[at];
}

static void find_gaps(qb__turn *t) {
    for (size_t d = 0; d < t->directions && !t->even; d++) {
        const double before = usual_step(t, d, false), behind = usual_step(t, d, true);
        if (!(t->step[d] > (1 + 1e-6) * GAP * fmax(before, behind))) continue;
        t->gap[t->gaps++] =
            (qb__turn_gap){.from = t->angle[d], .width = t->step[d], .usual = 0.5 * (before + behind), .before = d};
    }
}

static size_t arc_steps(const qb__turn *t, size_t gap) {
    const qb__turn_gap *next = &t->gap[(gap + 1) % t->gaps];
    return (next->before + t->directions - t->gap[gap].before - 1) % t->directions;
}

/* A gap without opposite rays of more than this is left open: its views cannot be made up from neighbouring views. */
static void find_open_gaps(qb__turn *t, qb_angle_weights rule) {
    for (size_t i = 0; i < t->gaps && rule == QB_WEIGHTS_AUTO; i++)
        t->gap[i].open = qb__turn_gap_hole(t, i) > QB__TURN_LIMITED;
}

/* Shares change slowly, over several of the coarsest steps, because views of one arc are weighed against those of
 * another. Short groups of views are not trusted: their shares would change from pixel to pixel. */
static void measure_arcs(qb__turn *t) {
    enum { FEWEST = 10, STEPS = 4 };
    const double SMOOTH = 5 * RADIAN;
    double coarsest = 0;
    for (size_t d = 0, g = 0; d < t->directions; d++) {
        if (g < t->gaps && t->gap[g].before == d)
            g++;
        else
            coarsest = fmax(coarsest, t->step[d]);
    }
    for (size_t i = 0; i < t->gaps; i++) {
        qb__turn_gap *gap = &t->gap[i];
        gap->arc = t->gaps == 1 ? t->period - gap->width
                                : qb__turn_wrap(t->gap[(i + 1) % t->gaps].from - gap->from, t->period) - gap->width;
    }
    for (size_t i = 0; i < t->gaps; i++) {
        qb__turn_gap *gap = &t->gap[i];
        if (arc_steps(t, i) + 1 >= FEWEST && gap->arc >= 2 * (STEPS - 1) * coarsest)
            gap->ramp = fmin(fmax(SMOOTH, STEPS * coarsest), 0.5 * gap->arc);
    }
}

/* ---- weights ---- */

static void weigh(qb__turn *t) {
    for (size_t d = 0, g = 0; d < t->directions; d++) {
        /* As with CAPPED, at an open gap of parallel rays a view counts for at most two steps. */
        double step = t->step[d];
        if (g < t->gaps && t->gap[g].before == d)
            step = !t->gap[g].open ? 0 : (t->period > pi ? 1 : 3) * t->gap[g].usual, g++;
        t->weight[d] += 0.5 * step;
        t->weight[(d + 1) % t->directions] += 0.5 * step;
    }
    for (size_t d = 0; t->even && d < t->directions; d++) t->weight[d] = t->period / (double)t->directions;
}

/* Destination of stand-ins; in the first pass they are only counted. */
typedef struct stand_in_list {
    size_t *first;
    qb__turn_stand_in *stand;
    bool count;
} stand_in_list;

/* One half of a gap, from one of its borders on. A direction in the arc next to it, at some distance from the border,
 * stands for the angles at that distance in the gap, stretched; in narrow gaps the direction at the border stands for
 * all. */
typedef struct half_gap {
    const qb__turn *turn;
    double border, half, stretch; /* stretch: of the arc's distances in the gap; 0 = only the border */
    size_t first;                 /* direction at the border */
    bool before;                  /* the arc lies before the gap */
} half_gap;

static half_gap half_of(const qb__turn *t, size_t number, bool before, qb_angle_weights rule) {
    const double NARROW = 15 * RADIAN, WIDE = 25 * RADIAN;
    const qb__turn_gap *gap = &t->gap[number], *earlier = &t->gap[(number + t->gaps - 1) % t->gaps];
    half_gap h = {.turn = t, .half = 0.5 * gap->width, .before = before};
    const double reach = fmin(h.half, 0.5 * (before ? earlier->arc : gap->arc));
    const double spread = rule == QB_WEIGHTS_SPACING ? 0 : fmin(fmax((gap->width - NARROW) / (WIDE - NARROW), 0), 1);
    h.border = before ? gap->from : gap->from + gap->width;
    h.first = before ? gap->before : (gap->before + 1) % t->directions;
    h.stretch = spread > 0 && reach > 0 ? h.half / (reach * spread) : 0;
    return h;
}

/* Distance in the gap up to which the n-th direction from the border stands: to the middle between it and the next
 * one. */
static double stands_to(const half_gap *h, size_t n, double *middle) {
    const size_t all = h->turn->directions, d = h->before ? (h->first + 2 * all - n - 1) % all : (h->first + n) % all;
    const double at = *middle + 0.5 * h->turn->step[d];
    *middle = at + 0.5 * h->turn->step[d];
    return h->stretch > 0 ? fmin(at * h->stretch, h->half) : h->half;
}

/* Divide from <= distance < to, for which a direction stands, into small pieces. */
static void cut(const half_gap *h, double from, double to, size_t direction, const stand_in_list *list) {
    const double FINE = 0.25 * RADIAN;
    const size_t pieces = (size_t)ceil((to - from) / FINE);
    const double piece = (to - from) / (double)pieces;
    for (size_t i = 0; i < pieces; i++) {
        const double away = from + ((double)i + 0.5) * piece;
        if (list->count)
            list->first[direction + 1]++;
        else
            list->stand[list->first[direction]++] =
                (qb__turn_stand_in){h->before ? h->border + away : h->border - away, piece};
    }
}

static void stand_in(const qb__turn *t, qb_angle_weights rule, const stand_in_list *list) {
    for (size_t g = 0; g < 2 * t->gaps; g++) {
        if (t->gap[g / 2].open) continue;
        const half_gap h = half_of(t, g / 2, g % 2 == 0, rule);
        double from = 0, middle = 0;
        for (size_t n = 0; from < h.half && n < t->directions; n++) {
            const size_t direction =
                h.before ? (h.first + t->directions - n) % t->directions : (h.first + n) % t->directions;
            const double to = n + 1 < t->directions ? stands_to(&h, n, &middle) : h.half;
            if (to > from) cut(&h, from, to, direction, list);
            from = fmax(from, to);
        }
    }
}

/* first[] holds counts, then the start of each direction's stand-ins. */
static qb_status share_gaps(qb__turn *t, qb_angle_weights rule) {
    QB__OR_RETURN(qb__alloc(t->directions + 1, sizeof *t->first, &t->first));
    memset(t->first, 0, (t->directions + 1) * sizeof *t->first);
    if (rule == QB_WEIGHTS_CAPPED || rule == QB_WEIGHTS_EVEN || t->gaps == 0) return QB_OK;
    stand_in_list list = {.first = t->first, .count = true};
    stand_in(t, rule, &list);
    for (size_t d = 0; d < t->directions; d++) t->first[d + 1] += t->first[d];
    QB__OR_RETURN(qb__alloc(t->first[t->directions], sizeof *t->stand, &t->stand));
    list = (stand_in_list){.first = t->first, .stand = t->stand};
    stand_in(t, rule, &list);
    memmove(t->first + 1, t->first, t->directions * sizeof *t->first);
    t->first[0] = 0;
    return QB_OK;
}

/* ---- create and destroy ---- */

static qb_status check(size_t views, const double *radians) {
    if (views == 0) return qb__fail(QB_BAD_ARGUMENT, "no views to weight");
    for (size_t i = 0; i < views; i++)
        if (!isfinite(radians[i])) return qb__fail(QB_BAD_INPUT, "the angle of view %zu is not a finite number", i);
    return QB_OK;
}

qb_status qb__turn_create(size_t views, const double *radians, double period, qb_angle_weights rule, qb__turn *t) {
    qb__direction *list = NULL, *scratch = NULL;
    *t = (qb__turn){.period = period, .views = views};
    qb_status status = check(views, radians);
    if (status != QB_OK) return status;
    QB__TRY(qb__alloc(views, sizeof *list, &list));
    QB__TRY(qb__alloc(views, sizeof *scratch, &scratch));
    QB__TRY(qb__alloc(views, sizeof *t->direction, &t->direction));
    QB__TRY(qb__alloc(views, sizeof *t->same, &t->same));
    QB__TRY(qb__alloc(views, sizeof *t->angle, &t->angle));
    QB__TRY(qb__alloc(views, sizeof *t->step, &t->step));
    QB__TRY(qb__alloc(views, sizeof *t->weight, &t->weight));
    QB__TRY(qb__alloc(views, sizeof *t->gap, &t->gap));
    memset(t->same, 0, views * sizeof *t->same);
    memset(t->weight, 0, views * sizeof *t->weight);
    sort_views(t, radians, list, scratch);
    find_directions(t, list);
    find_gaps(t);
    find_open_gaps(t, rule);
    measure_arcs(t);
    weigh(t);
    status = share_gaps(t, rule);
out:
    QB__FREE(list, scratch);
    if (status != QB_OK) qb__turn_destroy(t);
    return status;
}

void qb__turn_destroy(qb__turn *t) {
    if (!t) return;
    QB__FREE(t->direction, t->same, t->angle, t->step, t->weight, t->gap, t->first, t->stand);
    *t = (qb__turn){0};
}
