/* SPDX-License-Identifier: MIT */
#pragma once

#include "io/scan/scan.h"

/* The flats, or darks, of a scan. */
typedef struct qb__flats {
    const qb__frames *all; /* NULL: the scan has none */
    const bool *bad;       /* [all->count] true for frames that are left out */
    size_t taken;
    const size_t *part; /* [parts] number of frames of each --flats or --darks file; 0 parts: they are the scan's own */
    size_t parts;
    bool lines; /* the detector has a single row: each line of an image is a flat */
    qb_field_average average;
} qb__flats;

typedef struct qb__field_shot {
    double time;
    size_t frame;  /* index in qb__flats.all */
    size_t before; /* number of stored views that were taken before it */
} qb__field_shot;

/* When flats or darks were taken. Frames with no view taken between them form a series. */
typedef struct qb__field_times {
    const char *what; /* "flats", "darks" */
    qb_scan *scan;
    const qb__flats *flats;
    qb__field_shot *shot; /* [flats->taken], in order of time */
    size_t *first;        /* [series + 1] first shot of each series; the last entry is the number of shots */
    size_t series;
} qb__field_times;

/* Finds the shots and the series. The caller sets `scan`, `flats` and `what` before. at: text of --flats-at, or NULL.
 * *known: whether the times are stated; if not, there are no shots. */
qb_status qb__field_times_find(qb__field_times *times, const char *at, bool *known);
void qb__field_times_clear(qb__field_times *times);
/* Whether views and flats are frames of one stack, stored in order of time. */
bool qb__fields_in_one_file(const qb_scan *scan, const qb__flats *flats);
/* Time at which a stored view was taken: its frame number if views and flats are in one stack (`frames`), else its view
 * number. */
double qb__view_time(const qb_scan *scan, bool frames, size_t stored);
