/* SPDX-License-Identifier: MIT */
/* Corrections by the views before and after, in place. A task is one row of the detector. It goes through its views
 * with three lines of transmissions, so that each view is compared with stored values and not with corrected ones. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/share.h"
#include "base/status.h"
#include "prep/neighbours_parts.h"

enum { EDGE = QB__NEAR_COLUMNS };

/* Largest number of columns by which details may move from view to view. Faster details would be taken for zingers
 * (prep/zingers.c). */
static const double MOST_MOVED = 2.5;

static double moved(const qb_scan_info *info, size_t a, size_t b) {
    return fabs(info->angles[a] - info->angles[b]) * (double)info->columns / 2;
}

/* The two neighbours of each view. At the ends and next to a gap the same view is used twice; a view without a near
 * neighbour is paired with itself. */
qb_status qb__near_pairs(const qb_scan_info *info, uint32_t **pairs) {
    const qb_status status = qb__alloc(2 * info->views, sizeof **pairs, pairs);
    for (size_t v = 0; status == QB_OK && v < info->views; v++) {
        const bool before = v > 0 && (!info->angles || moved(info, v - 1, v) <= MOST_MOVED);
        const bool after = v + 1 < info->views && (!info->angles || moved(info, v, v + 1) <= MOST_MOVED);
        const size_t first = before ? v - 1 : after ? v + 1 : v, second = after ? v + 1 : first;
        (*pairs)[2 * v] = (uint32_t)first;
        (*pairs)[2 * v + 1] = (uint32_t)second;
    }
    return status;
}

double qb__near_too_far(const qb_scan_info *info) {
    double least = INFINITY;
    for (size_t v = 0; info->angles && v + 1 < info->views; v++) least = fmin(least, moved(info, v, v + 1));
    return info->angles && info->views > 1 && least > MOST_MOVED ? least : 0;
}

/* ---- correcting a row ---- */

typedef struct rows {
    qb__neighbours *neighbours;
    size_t view0, view1, row0, rows;
    char *out;          /* [view][row] */
    const char *beyond; /* [2][row]: rows of the view before view0, and of view view1 */
    float *lines;       /* [thread][LINES], scratch */
} rows;

enum { LINES = 4 /* transmissions of three views, and the corrected line of the middle one */ };

static size_t line_floats(const qb_scan_info *info) { return qb__round_up(info->columns + 2 * EDGE, 16); }
/* Bytes of scratch for one thread. */
static size_t views_scratch(const qb_scan_info *info) { return LINES * line_floats(info) * sizeof(float); }

static char *stored(const rows *r, size_t view, size_t row) {
    const size_t bytes = qb__near_row_bytes(r->neighbours->info);
    if (view < r->view0 || view >= r->view1) return (char *)r->beyond + ((view >= r->view1) * r->rows + row) * bytes;
    return r->out + ((view - r->view0) * r->rows + row) * bytes;
}

static void load(const rows *r, size_t view, size_t row, float *line) {
    qb__near_transmissions(r->neighbours, stored(r, view, row), r->row0 + row, line + EDGE);
    qb__near_mirror(r->neighbours->info, line + EDGE);
}

static qb_status correct_row(void *context, size_t row, size_t worker) {
    const rows *r = context;
    qb__neighbours *d = r->neighbours;
    const size_t columns = d->info->columns, floats = line_floats(d->info), at = (r->row0 + row) * columns;
    float *line[3], *made = r->lines + (worker * LINES + 3) * floats + EDGE;
    /* the line of view v is line[v % 3] */
    for (int i = 0; i < 3; i++) line[i] = r->lines + (worker * LINES + (size_t)i) * floats;
    for (size_t v = r->view0 ? r->view0 - 1 : 0; v <= r->view0; v++) load(r, v, row, line[v % 3]);
    for (size_t v = r->view0; v < r->view1; v++) {
        if (v + 1 < d->info->views) load(r, v + 1, row, line[(v + 1) % 3]);
        const float *own = line[v % 3] + EDGE;
        const qb__near near = {.cells = own,
                               .before = line[d->pairs[2 * v] % 3] + EDGE,
                               .after = line[d->pairs[2 * v + 1] % 3] + EDGE,
                               .rows = 1,
                               .columns = columns,
                               .gain = d->gain ? d->gain + at : NULL,
                               .dark = d->dark ? d->dark + at : NULL,
                               .noise = {(float)d->noise.base, (float)d->noise.slope},
                               .options = d->options};
        if (!d->step[0]->near(&near, made)) continue;
        const uint64_t changed = qb__near_settle(d, own, r->row0 + row, made, stored(r, v, row));
        atomic_fetch_add_explicit(&d->changed[0], changed, memory_order_relaxed);
    }
    return QB_OK;
}

qb_status qb__near_correct_views(qb__neighbours *d, size_t view0, size_t view1, size_t row0, size_t row1,
                                 size_t threads, void *out) {
    const size_t bytes = (row1 - row0) * qb__near_row_bytes(d->info);
    rows r = {.neighbours = d, .view0 = view0, .view1 = view1, .row0 = row0, .rows = row1 - row0, .out = out};
    char *beyond = NULL;
    qb_status status;
    QB__TRY(qb__alloc(2, bytes, &beyond));
    QB__TRY(qb__alloc(threads, views_scratch(d->info), &r.lines));
    if (view0) QB__TRY(qb__scan_read_stored(d->scan, view0 - 1, view0, row0, row1, beyond));
    if (view1 < d->info->views) QB__TRY(qb__scan_read_stored(d->scan, view1, view1 + 1, row0, row1, beyond + bytes));
    r.beyond = beyond;
    status = qb__share(threads, r.rows, correct_row, &r);
out:
    QB__FREE(beyond, r.lines);
    return status;
}
