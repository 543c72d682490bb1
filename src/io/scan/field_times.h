/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_FIELD_TIMES_H
#define QB_IO_FIELD_TIMES_H

#include "io/scan/scan.h"

/* The flats, or darks, of a scan. */
typedef struct qb__flats {
    const qb__frames *all; /* NULL: there are none */
    const bool *bad;       /* [all->count] those that are left out */
    size_t taken;
    const size_t *part; /* [parts] frames of each --flats; 0 parts: they are the scan's own */
    size_t parts;
    bool lines; /* the detector has a single row: each line of an image is a flat */
    qb_field_average average;
} qb__flats;

typedef struct qb__field_shot {
    double time;
    size_t frame;  /* number in qb__flats' list */
    size_t before; /* stored views that were taken before it */
} qb__field_shot;

/* When flats or darks were taken. Those between which no view was taken are a series. */
typedef struct qb__field_times {
    const char *what; /* "flats", "darks" */
    qb_scan *scan;
    const qb__flats *flats;
    qb__field_shot *shot; /* [flats->taken], by time */
    size_t *first;        /* [series + 1] of the flats */
    size_t series;
} qb__field_times;

/* Finds shots and series; `scan`, `flats` and `what` are set before. at: the option's text, or NULL; *known: the times
 * are stated. */
qb_status qb__field_times_find(qb__field_times *times, const char *at, bool *known);
void qb__field_times_clear(qb__field_times *times);
/* Are views and flats frames of one stack, in the order of time? */
bool qb__fields_in_one_file(const qb_scan *scan, const qb__flats *flats);
/* When a stored view was taken: counted in frames if they are in one stack (`frames`), else in views. */
double qb__view_time(const qb_scan *scan, bool frames, size_t stored);

#endif
