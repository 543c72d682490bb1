/* SPDX-License-Identifier: MIT */
#include "center/center_pairs.h"

#include <math.h>

#include "base/memory.h"
#include "base/sort.h"

static const double pi = 3.14159265358979323846;

enum { MAX_BRACKETED = 360 };
/* Number of columns by which the rim of the object must move between the two views of an extrapolation. */
static const double RIM_MOVES = 1;

static double wrap(double angle) { return angle - 2 * pi * floor(angle / (2 * pi) + 0.5); }

/* The median distance between neighbouring directions. */
static double usual_step(const qb__direction *list, size_t n, double *scratch) {
    for (size_t i = 0; i + 1 < n; i++) scratch[i] = list[i + 1].angle - list[i].angle;
    qb__sort(scratch, n - 1);
    return fmax(scratch[(n - 1) / 2], 1e-9);
}

/* The first direction at or past `angle`, n when there is none. */
static size_t first_past(const qb__direction *list, size_t n, double angle) {
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (list[middle].angle < angle)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Signed angle from the direction opposite to list[s] to list[k mod n]. */
static double gap_to(const qb__direction *list, size_t n, size_t s, size_t k) {
    return wrap(list[k % n].angle - list[s].angle - pi);
}

/* Makes two pairs with weights that sum to 1 and a weighted mean gap of 0. */
static size_t blend(const qb__direction *list, size_t n, size_t s, size_t j, size_t k, qb__center_pair *pair) {
    double near = gap_to(list, n, s, j), far = gap_to(list, n, s, k);
    pair[0] = (qb__center_pair){list[s].view, list[j % n].view, far / (far - near)};
    pair[1] = (qb__center_pair){list[s].view, list[k % n].view, near / (near - far)};
    return 2;
}

/* The direction opposite to list[s] is that of a view or lies between two views. Returns the number of pairs made. */
static size_t interpolate(const qb__direction *list, size_t n, size_t s, double step, qb__center_pair *pair) {
    double target = list[s].angle + pi;
    if (target >= 2 * pi) target -= 2 * pi;
    size_t after = first_past(list, n, target - 1e-9) % n, before = after + n - 1;
    double ahead = gap_to(list, n, s, after), behind = gap_to(list, n, s, before);
    if (fabs(ahead) < 0.02 * step) {
        pair[0] = (qb__center_pair){list[s].view, list[after].view, 1};
        return 1;
    }
    if (!(ahead > 0 && ahead < 1.6 * step && behind < 0 && behind > -1.6 * step)) return 0;
    return blend(list, n, s, before, after, pair);
}

/* The direction opposite to list[s] lies outside a range of views, by at most `step`: extrapolate from the view at the
 * end of the range and a view `step` further inside. */
static size_t extrapolate(const qb__direction *list, size_t n, size_t s, double step, qb__center_pair *pair) {
    double target = list[s].angle + pi;
    if (target >= 2 * pi) target -= 2 * pi;
    size_t after = first_past(list, n, target) % n, before = after + n - 1;
    double ahead = gap_to(list, n, s, after), behind = gap_to(list, n, s, before);
    if (ahead > 0 && ahead < 1.01 * step) {
        for (size_t k = after + 1; k < after + n; k++) {
            double gap = gap_to(list, n, s, k);
            if (gap < ahead || gap > ahead + 3 * step) return 0;
            if (gap > ahead + 0.99 * step) return blend(list, n, s, after, k, pair);
        }
    } else if (behind < 0 && behind > -1.01 * step) {
        for (size_t k = before - 1; k + n > before; k--) {
            double gap = gap_to(list, n, s, k);
            if (gap > behind || gap < behind - 3 * step) return 0;
            if (gap < behind - 0.99 * step) return blend(list, n, s, before, k, pair);
        }
    }
    return 0;
}

/* Pairs the views of the first half turn, which is enough. Returns how many of them have an opposite. */
static size_t find_bracketed(const qb__direction *list, size_t n, double step, qb__center_pairs *pairs) {
    size_t half = first_past(list, n, pi), stride = half / MAX_BRACKETED + 1, views = 0, looked = 0;
    pairs->count = 0;
    for (size_t s = 0; s < half; s += stride, looked++) {
        size_t found = interpolate(list, n, s, step, pairs->pair + pairs->count);
        pairs->count += found;
        views += found > 0;
    }
    pairs->opposed = looked ? (double)views / (double)looked : 0;
    return views;
}

static size_t find_extrapolated(const qb__direction *list, size_t n, double step, qb__center_pair *pair) {
    size_t count = 0;
    for (size_t s = 0; s < n; s++) {
        size_t found = interpolate(list, n, s, step, pair + count);
        count += found ? found : extrapolate(list, n, s, step, pair + count);
    }
    return count;
}

/* A pair that is listed from both of its views counts once, with the sum of both weights. */
static double noise_of(const qb__center_pair *pair, size_t count) {
    double sum = 0, squares = 0;
    for (size_t p = 0; p < count; p++) {
        double weight = pair[p].weight;
        bool seen = false;
        for (size_t q = 0; q < count; q++) {
            if (pair[q].i != pair[p].j || pair[q].j != pair[p].i) continue;
            seen = q < p;
            weight += pair[q].weight;
        }
        sum += pair[p].weight;
        squares += seen ? 0 : weight * weight;
    }
    return sum > 0 ? sqrt(squares) / sum : 1;
}

/* Converts view numbers of the scan into indices of pairs->view[]. */
static qb_status renumber(qb__center_pairs *pairs, size_t views) {
    size_t *place;
    qb_status status = qb__alloc(views, sizeof *place, &place);
    if (status == QB_OK) status = qb__alloc(views, sizeof *pairs->view, &pairs->view);
    for (size_t p = 0; status == QB_OK && p < pairs->count; p++) {
        size_t *ends[2] = {&pairs->pair[p].i, &pairs->pair[p].j};
        for (int e = 0; e < 2; e++) {
            size_t view = *ends[e];
            if (!place[view]) {
                pairs->view[pairs->views++] = view;
                place[view] = pairs->views;
            }
            *ends[e] = place[view] - 1;
        }
    }
    qb__free(place);
    return status;
}

qb_status qb__center_pairs_find(const double *angles, size_t views, double radius, qb__center_pairs *pairs) {
    *pairs = (qb__center_pairs){0};
    if (views < 4) return QB_OK;
    qb__direction *list = NULL;
    double *scratch = NULL;
    qb_status status = qb__alloc(views, sizeof *list, &list);
    if (status == QB_OK) status = qb__alloc(views, sizeof *scratch, &scratch);
    if (status == QB_OK) status = qb__alloc(2 * views, sizeof *pairs->pair, &pairs->pair);
    if (status != QB_OK) goto out;
    for (size_t v = 0; v < views; v++) {
        double angle = wrap(angles[v]);
        list[v] = (qb__direction){angle < 0 ? angle + 2 * pi : angle, v};
    }
    qb__sort_directions(list, views);
    double step = usual_step(list, views, scratch);
    if (find_bracketed(list, views, step, pairs) >= 3) goto out;
    pairs->one_sided = true;
    step = fmax(step, RIM_MOVES / radius);
    pairs->count = find_extrapolated(list, views, step, pairs->pair);
out:
    if (status == QB_OK) {
        pairs->noise = noise_of(pairs->pair, pairs->count);
        status = renumber(pairs, views);
    }
    QB__FREE(list, scratch);
    if (status != QB_OK) qb__center_pairs_clear(pairs);
    return status;
}

void qb__center_pairs_clear(qb__center_pairs *pairs) {
    QB__FREE(pairs->pair, pairs->view);
    *pairs = (qb__center_pairs){0};
}
