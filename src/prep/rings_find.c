/* SPDX-License-Identifier: MIT */
/* Finds the stripes of one sinogram, one kind after the other. Stripes run along the views, so neighbouring views are
 * averaged first; the rest then costs the same for any number of views. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "cpu/rows/ring_loops.h"
#include "prep/rings.h"

enum { VIEWS = 256, LOST_PART = 4 };

size_t qb__rings_together(size_t views) { return (views + VIEWS - 1) / VIEWS; }

qb_status qb__rings_row_create(size_t views, size_t columns, qb__rings_row *row) {
    const size_t kept = (views + qb__rings_together(views) - 1) / qb__rings_together(views);
    qb_status status;
    *row = (qb__rings_row){.columns = columns,
                           .views = kept,
                           .all_views = views,
                           .together = qb__rings_together(views),
                           .blocks = kept < QB__RINGS_BLOCKS ? kept : QB__RINGS_BLOCKS,
                           .windows = kept / 2 < QB__RINGS_WINDOWS ? kept / 2 : QB__RINGS_WINDOWS};
    QB__TRY(qb__alloc(kept * columns, sizeof *row->lines, &row->lines));
    QB__TRY(qb__alloc(columns, sizeof *row->change, &row->change));
    QB__TRY(qb__alloc(row->blocks * columns + QB__RING_ENDS, sizeof *row->means, &row->means));
    QB__TRY(qb__alloc(qb__larger(row->windows, 1) * columns, sizeof *row->window, &row->window));
    QB__TRY(qb__alloc(columns, sizeof *row->structure, &row->structure));
    QB__TRY(qb__alloc(3 * columns, sizeof *row->known, &row->known));
    for (int i = 0; i < QB__RINGS_MEASURES; i++) QB__TRY(qb__alloc(columns, sizeof(double), &row->measured[i]));
    QB__TRY(qb__alloc(qb__rings_work(columns), sizeof *row->work, &row->work));
    QB__TRY(qb__alloc(row->blocks * qb__rings_apart(columns), sizeof *row->spare, &row->spare));
    QB__TRY(qb__alloc(QB__RINGS_SUMS * columns, sizeof *row->sums, &row->sums));
    QB__TRY(qb__alloc(qb__rings_ranks_floats(columns), sizeof *row->ranks, &row->ranks));
    QB__TRY(qb__alloc(columns, sizeof *row->stripe, &row->stripe));
    QB__TRY(qb__alloc(qb__courses_room(columns), sizeof *row->course, &row->course));
    QB__TRY(qb__alloc(2 * columns, sizeof *row->opposite, &row->opposite));
    QB__TRY(qb__alloc(columns, sizeof *row->lost, &row->lost));
    QB__TRY(qb__alloc(columns, sizeof *row->doubt, &row->doubt));
out:
    return status;
}

void qb__rings_row_destroy(qb__rings_row *row) {
    qb__free(row->lines);
    qb__free(row->change);
    qb__free(row->means);
    qb__free(row->window);
    qb__free(row->structure);
    qb__free(row->known);
    for (int i = 0; i < QB__RINGS_MEASURES; i++) qb__free(row->measured[i]);
    qb__free(row->work);
    qb__free(row->spare);
    qb__free(row->sums);
    qb__free(row->ranks);
    qb__free(row->stripe);
    qb__free(row->course);
    qb__free(row->opposite);
    qb__free(row->lost);
    qb__free(row->doubt);
    *row = (qb__rings_row){0};
}

static void average(const float *sinogram, size_t views, qb__rings_row *row) {
    const size_t n = row->columns, group = qb__rings_together(views);
    memset(row->change, 0, n * sizeof *row->change);
    for (size_t v = 0; v < views; v++) {
        const float *in = sinogram + v * n;
        float *out = row->lines + v / group * n;
        if (v % group == 0)
            memcpy(out, in, n * sizeof *out);
        else
            for (size_t c = 0; c < n; c++) out[c] += in[c];
        for (size_t c = 0; v > 0 && c < n; c++) row->change[c] += fabsf(in[c] - in[c - n]);
    }
    for (size_t t = 0; group > 1 && t < row->views; t++) {
        const size_t left = views - t * group;
        const float scale = 1 / (float)(left < group ? left : group);
        for (size_t c = 0; c < n; c++) row->lines[t * n + c] *= scale;
    }
}

/* If too many columns seem lost, the measure does not suit this row, and no column counts as lost. */
static bool lost_any(qb__rings_row *row) {
    size_t count = 0;
    for (size_t c = 0; c < row->columns; c++) count += row->lost[c];
    if (count > 0 && count <= row->columns / LOST_PART) row->kinds |= QB__RINGS_DEAD;
    if (count <= row->columns / LOST_PART) return count > 0;
    memset(row->lost, 0, row->columns * sizeof *row->lost);
    return false;
}

/* Wide stripes first, because their edges could be taken for narrow stripes. */
static void find_strong(const qb__rings_how *how, unsigned parts, qb__rings_row *row) {
    row->kinds &= QB__RINGS_DEAD | QB__RINGS_COURSES;
    memset(row->stripe, 0, row->columns * sizeof *row->stripe);
    row->sure = 0;
    qb__rings_concentric(how, row);
    /* a small part of the object on the axis would look like a stripe in air */
    if ((parts & QB__RINGS_NARROW) && !(how->parts & (QB__RINGS_SOFT | QB__RINGS_TURNS))) qb__rings_air(row);
    if (parts & QB__RINGS_LARGE) qb__rings_wide(how, row);
    if (parts & QB__RINGS_NARROW) qb__rings_spikes(how, row);
}

/* Finds weak stripes in all columns, then the stripes that become visible without them. */
static void find_weak(const qb__rings_how *how, qb__rings_row *row) {
    if (how->parts & (QB__RINGS_SORT | QB__RINGS_WAVELET | QB__RINGS_PROFILE)) qb__rings_dense(how, row);
    if (!(how->parts & QB__RINGS_LARGE)) return;
    qb__rings_wide(how, row);
    qb__rings_spikes(how, row); /* once more, next to the edges of wide stripes */
}

/* Strong stripes are subtracted first, because next to them a good column may look wrong. */
static void find_lost(const qb__rings_how *how, qb__rings_row *row) {
    qb__rings_dead(how, row);
    qb__rings_confirm(QB__RINGS_APART, row);
    if (lost_any(row)) qb__rings_bridge(row);
    if (qb__rings_courses(how, row)) row->kinds |= QB__RINGS_COURSES;
    qb__rings_windows(row);
    find_strong(how, QB__RINGS_NARROW | QB__RINGS_LARGE, row);
    qb__rings_partial(how, row);
    if (!lost_any(row) && (how->parts & QB__RINGS_LARGE)) return; /* the stripes are found already */
    qb__rings_windows_bridge(row);
    find_strong(how, how->parts, row);
}

static void find(const qb__rings_how *how, qb__rings_row *row) {
    /* it is a sum over the views so far */
    const float steps = (float)(row->all_views > 1 ? row->all_views - 1 : 1);
    for (size_t c = 0; c < row->columns; c++) row->change[c] /= steps;
    row->kinds = 0;
    row->courses = 0;
    memset(row->lost, 0, row->columns * sizeof *row->lost);
    memset(row->known, 0, 3 * row->columns * sizeof *row->known);
    if (how->parts & QB__RINGS_DEAD) {
        find_lost(how, row);
    } else {
        qb__rings_windows(row);
        find_strong(how, how->parts, row);
    }
    find_weak(how, row);
}

void qb__rings_find(const qb__rings_how *how, const float *sinogram, size_t views, qb__rings_row *row) {
    average(sinogram, views, row);
    find(how, row);
}

void qb__rings_find_averaged(const qb__rings_how *how, const float *lines, size_t apart, const float *change,
                             qb__rings_row *row) {
    const size_t n = row->columns;
    memcpy(row->change, change, n * sizeof *change);
    for (size_t v = 0; v < row->views; v++) memcpy(row->lines + v * n, lines + v * apart, n * sizeof *lines);
    find(how, row);
}
