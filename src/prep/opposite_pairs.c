/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/sort.h"
#include "io/scan/scan.h"
#include "prep/opposite_look.h"

static int by_angle(const void *a, const void *b) {
    const double x = ((const qb__direction_at *)a)->angle, y = ((const qb__direction_at *)b)->angle;
    return (x > y) - (x < y);
}

static double wrap(double angle) { return angle - 2 * M_PI * floor(angle / (2 * M_PI) + 0.5); }

static qb_status arrange(qb__opposite_look *l) {
    const size_t n = l->info->views;
    double *gaps = NULL;
    qb_status status = qb__alloc(n, sizeof *l->order, &l->order);
    if (status == QB_OK) status = qb__alloc(n, sizeof *gaps, &gaps);
    if (status != QB_OK) return status;
    for (size_t i = 0; i < n; i++)
        l->order[i] = (qb__direction_at){l->radians[i] - 2 * M_PI * floor(l->radians[i] / (2 * M_PI)), i};
    qsort(l->order, n, sizeof *l->order, by_angle);
    size_t count = 0;
    for (size_t i = 0; i + 1 < n; i++) { /* views of another turn may have the same angle */
        const double gap = l->order[i + 1].angle - l->order[i].angle;
        if (gap > 1e-7) gaps[count++] = gap;
    }
    l->step = count ? qb__median(gaps, count) : 0;
    qb__free(gaps);
    return QB_OK;
}

/* The position with the nearest angle. */
static size_t nearest(const qb__opposite_look *l, double angle) {
    const size_t n = l->info->views;
    size_t low = 0, high = n;
    angle -= 2 * M_PI * floor(angle / (2 * M_PI));
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (l->order[middle].angle < angle)
            low = middle + 1;
        else
            high = middle;
    }
    const size_t after = low % n, before = (low + n - 1) % n;
    return fabs(wrap(l->order[after].angle - angle)) < fabs(wrap(l->order[before].angle - angle)) ? after : before;
}

static size_t slot_of(qb__opposite_look *l, size_t view) {
    for (size_t i = 0; i < l->views; i++)
        if (l->view[i] == view) return i;
    l->view[l->views] = view;
    return l->views++;
}

/* Choose two views over which the rim moves by about a bin: on both sides of a position, or on one side at the end of
 * the range. */
static bool choose_lever(qb__opposite_look *l, size_t at, size_t *low, size_t *high, double *lever) {
    const size_t n = l->info->views;
    const double wanted = fmax(1.01 * l->step, 2 / (double)l->bins), angle = l->order[at].angle;
    size_t a = at, b = at;
    double below = 0, above = 0;
    for (size_t i = 1; i < n && above < wanted; i++) {
        const double d = wrap(l->order[(at + i) % n].angle - angle);
        if (d < above || d > wanted + 2 * l->step) break;
        b = (at + i) % n, above = d;
    }
    for (size_t i = 1; i < n && below < wanted; i++) {
        const double d = wrap(angle - l->order[(at + n - i) % n].angle);
        if (d < below || d > wanted + 2 * l->step) break;
        a = (at + n - i) % n, below = d;
    }
    if (above < 0.5 * wanted && below >= wanted) b = (at + n - 1) % n, above = wrap(l->order[b].angle - angle);
    if (below < 0.5 * wanted && above >= wanted) a = (at + 1) % n, below = wrap(angle - l->order[a].angle);
    *lever = above + below;
    *low = a, *high = b;
    return *lever > 0.4 * wanted && a != b;
}

static bool add_pair(qb__opposite_look *l, size_t at, size_t opposite, double off) {
    const size_t n = l->info->views;
    qb__opposite_pair *p = &l->pairs[l->count];
    size_t low[2], high[2];
    if (!choose_lever(l, at, &low[0], &high[0], &p->lever[0])) return false;
    if (!choose_lever(l, opposite, &low[1], &high[1], &p->lever[1])) return false;
    const size_t far = nearest(l, l->order[at].angle + M_PI / 2), back = nearest(l, l->order[at].angle - M_PI / 2);
    const double there = fabs(wrap(l->order[far].angle - l->order[at].angle - M_PI / 2));
    const double behind = fabs(wrap(l->order[back].angle - l->order[at].angle + M_PI / 2));
    size_t after = (at + 1) % n, before = (at + n - 1) % n; /* views of another turn may have the same angle */
    while (after != at && l->order[after].angle - l->order[at].angle < 1e-7 && after > at) after = (after + 1) % n;
    while (before != at && l->order[at].angle - l->order[before].angle < 1e-7 && before < at)
        before = (before + n - 1) % n;
    const bool up = fabs(wrap(l->order[after].angle - l->order[at].angle)) <=
                    fabs(wrap(l->order[before].angle - l->order[at].angle));
    p->off = off;
    p->view[0] = slot_of(l, l->order[at].view);
    p->view[1] = slot_of(l, l->order[opposite].view);
    for (int i = 0; i < 2; i++) {
        p->low[i] = slot_of(l, l->order[low[i]].view);
        p->high[i] = slot_of(l, l->order[high[i]].view);
    }
    p->next = slot_of(l, l->order[up ? after : before].view);
    p->far = slot_of(l, l->order[there <= behind ? far : back].view);
    l->count++;
    return true;
}

/* Choose pairs evenly over a full turn; else at both ends of half a turn. */
static void choose_pairs(qb__opposite_look *l, size_t limit) {
    const double NEAR = 2.6, RIM = 2; /* steps; bins that the rim moves */
    const size_t n = l->info->views;
    const double most = fmin(NEAR * l->step, 2 * RIM / (double)l->bins);
    size_t able = 0, taken = 0;
    for (int pass = 0; pass < 2; pass++) {
        size_t met = 0;
        for (size_t at = 0; at < n && l->count < limit; at++) {
            const size_t opposite = nearest(l, l->order[at].angle + M_PI);
            const double off = wrap(l->order[opposite].angle - l->order[at].angle - M_PI);
            const bool first = l->radians[l->order[opposite].view] > l->radians[l->order[at].view];
            if (!first || !(fabs(off) <= fmax(most, 1e-3 * l->step))) continue;
            if (!pass) {
                able++;
                continue;
            }
            if (met++ * limit >= taken * qb__larger(able, limit)) taken++, add_pair(l, at, opposite, off);
        }
    }
    l->around = 3 * able > n;
}

qb_status qb__opposite_pairs(qb__opposite_look *l, size_t most) {
    const qb_status status = arrange(l);
    if (status == QB_OK && l->step > 0) choose_pairs(l, qb__smaller(most, QB__OPPOSITE_PAIRS));
    return status;
}
