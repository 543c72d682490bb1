/* SPDX-License-Identifier: MIT */
/* Time is counted in frames if a file keeps all of them in order (NXtomo), else in views. */
#include "io/scan/flat_series.h"

#include <stdlib.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/status.h"

bool qb__fields_in_one_file(const qb_scan *scan, const qb__flats *flats) {
    return !flats->parts && flats->all->index && scan->parts.data.index;
}

double qb__view_time(const qb_scan *scan, bool frames, size_t stored) {
    return frames ? (double)scan->parts.data.index[stored] : (double)stored;
}

/* --flats-at A,B,...: as many series as numbers, in the files that were given or of equal length. */
static qb_status take_given(const qb__field_times *t, const char *at, double *time) {
    enum { MOST = 1024 };
    const qb__flats *f = t->flats;
    double view[MOST];
    size_t n = 0, frame = 0;
    for (const char *rest = at; n < MOST; rest++) {
        char *end;
        view[n++] = qb__strtod(rest, &end);
        if (end == rest || (*end && *end != ',') || !(view[n - 1] >= 0 && view[n - 1] <= (double)t->scan->stored))
            return qb__fail(QB_BAD_ARGUMENT, "--%s-at %s: give numbers of views from 0 to %zu, as 0,%zu", t->what, at,
                            t->scan->stored, t->scan->stored);
        if (!*end) break;
        rest = end;
    }
    const bool files = f->parts == n && n > 1;
    if (!files && f->all->count % n)
        return qb__fail(QB_BAD_ARGUMENT, "--%s-at %s: %zu %s are not %zu series of equal length; give a --%s for each",
                        t->what, at, f->all->count, t->what, n, t->what);
    for (size_t s = 0; s < n; s++) {
        const size_t count = files ? f->part[s] : f->all->count / n;
        for (size_t i = 0; i < count; i++) time[frame++] = view[s] - 0.5;
    }
    return QB_OK;
}

/* The time of each flat of the list; *known: stated by the scan or the option. */
static qb_status find_times(const qb__field_times *t, const char *at, double *time, bool *known) {
    const qb__flats *f = t->flats;
    const qb__scan_parts *parts = &t->scan->parts;
    const bool frames = qb__fields_in_one_file(t->scan, f);
    *known = true;
    if (at) return take_given(t, at, time);
    *known = frames || (f->all == &parts->flats && parts->flat_views);
    for (size_t i = 0; *known && i < f->all->count; i++)
        time[i] = frames ? (double)f->all->index[i] : parts->flat_views[i] - 0.5;
    return QB_OK;
}

static int by_time(const void *a, const void *b) {
    const qb__field_shot *x = a, *y = b;
    if (x->time != y->time) return x->time < y->time ? -1 : 1;
    return (x->frame > y->frame) - (x->frame < y->frame);
}

static size_t views_before(const qb_scan *scan, bool frames, double time) {
    size_t low = 0, high = scan->stored;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (qb__view_time(scan, frames, middle) < time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void group(qb__field_times *t, bool frames) {
    const size_t n = t->flats->taken;
    qsort(t->shot, n, sizeof *t->shot, by_time);
    for (size_t i = 0; i < n; i++) t->shot[i].before = views_before(t->scan, frames, t->shot[i].time);
    t->series = 0;
    for (size_t i = 0; i < n; i++)
        if (i == 0 || t->shot[i].before != t->shot[i - 1].before) t->first[t->series++] = i;
    t->first[t->series] = n;
}

qb_status qb__field_times_find(qb__field_times *t, const char *at, bool *known) {
    const qb__flats *f = t->flats;
    double *time = NULL;
    size_t n = 0;
    qb_status status;
    QB__TRY(qb__alloc(f->all->count, sizeof *time, &time));
    QB__TRY(qb__alloc(f->taken, sizeof *t->shot, &t->shot));
    QB__TRY(qb__alloc(f->taken + 1, sizeof *t->first, &t->first));
    QB__TRY(find_times(t, at, time, known));
    for (size_t i = 0; *known && i < f->all->count; i++)
        if (!f->bad[i]) t->shot[n++] = (qb__field_shot){.time = time[i], .frame = i};
    if (*known) group(t, !at && qb__fields_in_one_file(t->scan, f));
out:
    qb__free(time);
    return status;
}

void qb__field_times_clear(qb__field_times *t) { QB__FREE(t->shot, t->first); }
