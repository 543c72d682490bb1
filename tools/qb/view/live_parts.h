/* SPDX-License-Identifier: MIT */
#pragma once

#include "live.h"
#include "live_source.h"

/* The struct and the functions that live.c and live_lines.c share. */

enum { VIEW_LIVE_WORKERS = 8 };

struct view_live {
    cli *c;
    bool cone;
    view_source *source;
    pthread_t thread; /* thread that takes views from the source */
    bool started;
    int ending;
    pthread_mutex_t scan_lock; /* protects `taken` */
    view_taken *taken;         /* the last scan; NULL: none */
    pthread_mutex_t lock;      /* protects all members below; held only for moments, because requests wait for it */
    size_t rows, columns, slots;
    double pixels[2];          /* pixel size in mm along columns and rows; 0: unknown */
    bool rolling;              /* slots are used again, for further turns */
    size_t expected;           /* number of views of the scan; 0: unknown */
    double from, step;         /* first angle and step between views, radians */
    float *lines;              /* line integrals [slot][row][column] */
    float *flat, *dark, *gain; /* NULL: the scan needs no flats and darks */
    bool no_darks;             /* no darks have come: `dark` is 0 */
    size_t *view_of;           /* [slot] 1 + number of the view whose lines are in the slot; 0: none */
    qb_quantity quantity;
    size_t end, received, seen, late, unreadable, restarts; /* end: 1 + highest view number; seen: views with lines */
    double first, newest;                                   /* times when the first and the newest view came */
    unsigned long version;
    /* Raw views, from which workers make line integrals. So the thread that takes views never waits for a worker. */
    qb_dtype dtype;
    view_pixels *raw; /* [slot] pixels of the newest view, until a worker takes them */
    size_t *raw_of;   /* [slot] 1 + number of that view; 0: none */
    bool *queued;     /* [slot] a worker has the slot, or it is in the queue */
    size_t *queue, head, waiting;
    pthread_cond_t more;
    pthread_t worker[VIEW_LIVE_WORKERS];
    int workers;
};

/* live_lines.c: allocates memory and starts workers, once rows, columns, slots and dtype are known. */
qb_status view_lines_open(view_live *live);
void view_lines_close(view_live *live);
/* Takes the pixels of a view over, and lets a worker make its line integrals. */
void view_lines_take(view_live *live, size_t number, view_pixels *pixels);
/* Forgets all raw views, because they belong to another scan; line integrals stay. The caller holds the lock. */
void view_lines_forget(view_live *live);
