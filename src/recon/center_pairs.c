/* SPDX-License-Identifier: MIT */
#include "recon/center_pairs.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"

static const double pi = 3.14159265358979323846;

enum { MAX_BRACKETED = 360, MAX_ONE_SIDED = 24 };

typedef struct direction {
    double angle; /* 0 <= angle < 2 pi */
    size_t view;
} direction;

static int by_angle(const void *a, const void *b) {
    const direction *p = a, *q = b;
    if (p->angle != q->angle) return p->angle < q->angle ? -1 : 1;
    return p->view < q->view ? -1 : p->view > q->view;
}

static int by_gap(const void *a, const void *b) {
    const qb__center_pair *p = a, *q = b;
    double x = fabs(p->gap), y = fabs(q->gap);
    if (x != y) return x < y ? -1 : 1;
    return p->i < q->i ? -1 : p->i > q->i;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double wrap(double angle) { return angle - 2 * pi * floor(angle / (2 * pi) + 0.5); }

/* The median distance between neighbouring directions. */
static double usual_step(const direction *list, size_t n, double *scratch) {
    for (size_t i = 0; i + 1 < n; i++) scratch[i] = list[i + 1].angle - list[i].angle;
    qsort(scratch, n - 1, sizeof *scratch, ascending);
    return fmax(scratch[(n - 1) / 2], 1e-9);
}

/* The first direction at or past `angle`, n when there is none. */
static size_t first_past(const direction *list, size_t n, double angle) {
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (list[middle].angle < angle) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* Up to two pairs for the view at list[s]; how many. */
static size_t bracket(const direction *list, size_t n, size_t s, double step,
                      qb__center_pair *pair) {
    double target = list[s].angle + pi;
    if (target >= 2 * pi) target -= 2 * pi;
    size_t after = first_past(list, n, target - 1e-9) % n, before = (after + n - 1) % n;
    double ahead = wrap(list[after].angle - target), behind = wrap(list[before].angle - target);
    if (fabs(ahead) < 0.02 * step) {
        pair[0] = (qb__center_pair){list[s].view, list[after].view, 0, 1};
        return 1;
    }
    if (!(ahead > 0 && ahead < 1.6 * step && behind < 0 && behind > -1.6 * step)) return 0;
    double share = ahead / (ahead - behind);
    pair[0] = (qb__center_pair){list[s].view, list[before].view, behind, share};
    pair[1] = (qb__center_pair){list[s].view, list[after].view, ahead, 1 - share};
    return 2;
}

static size_t find_bracketed(const direction *list, size_t n, double step, qb__center_pair *pair,
                             size_t *count) {
    size_t half = first_past(list, n, pi), stride = half / MAX_BRACKETED + 1, views = 0;
    *count = 0;
    for (size_t s = 0; s < half; s += stride) {
        size_t found = bracket(list, n, s, step, pair + *count);
        *count += found;
        views += found > 0;
    }
    return views;
}

/* All pairs up to `limit` apart from opposite; the nearest of them. */
static size_t find_one_sided(const direction *list, size_t n, double limit, qb__center_pair *pair,
                             size_t room) {
    size_t count = 0;
    for (size_t s = 0; s < n; s++) {
        for (size_t k = 0; k < n && count < room; k++) {
            double gap = wrap(list[k].angle - list[s].angle - pi);
            if (fabs(gap) > limit || (list[s].angle >= pi && list[k].angle < pi)) continue;
            pair[count++] = (qb__center_pair){list[s].view, list[k].view, gap, 1};
        }
    }
    qsort(pair, count, sizeof *pair, by_gap);
    return count < MAX_ONE_SIDED ? count : MAX_ONE_SIDED;
}

qb_status qb__center_pairs_find(const double *angles, size_t views, double radius,
                                qb__center_pairs *pairs) {
    const double RIM_MOVES = 10; /* columns */
    *pairs = (qb__center_pairs){0};
    if (views < 2) return QB_OK;
    direction *list = NULL;
    double *scratch = NULL;
    size_t room = 2 * views + 64;
    qb_status status = qb__alloc(views, sizeof *list, &list);
    if (status == QB_OK) status = qb__alloc(views, sizeof *scratch, &scratch);
    if (status == QB_OK) status = qb__alloc(room, sizeof *pairs->pair, &pairs->pair);
    if (status != QB_OK) goto out;
    for (size_t v = 0; v < views; v++) {
        double angle = wrap(angles[v]);
        list[v] = (direction){angle < 0 ? angle + 2 * pi : angle, v};
    }
    qsort(list, views, sizeof *list, by_angle);
    double step = usual_step(list, views, scratch);
    if (find_bracketed(list, views, step, pairs->pair, &pairs->count) >= 3) goto out;
    pairs->one_sided = true;
    pairs->count = find_one_sided(list, views, fmax(2.5 * step, RIM_MOVES / radius), pairs->pair,
                                  room);
out:
    qb__free(list);
    qb__free(scratch);
    if (status != QB_OK) qb__center_pairs_clear(pairs);
    return status;
}

void qb__center_pairs_clear(qb__center_pairs *pairs) {
    qb__free(pairs->pair);
    *pairs = (qb__center_pairs){0};
}
