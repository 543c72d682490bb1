/* SPDX-License-Identifier: MIT */
#ifndef QB_VIEW_LIVE_PARTS_H
#define QB_VIEW_LIVE_PARTS_H

#include "live.h"
#include "live_source.h"

/* What live.c and live_lines.c share. */

enum { VIEW_LIVE_WORKERS = 8 };

struct view_live {
    cli *c;
    bool cone;
    view_source *source;
    pthread_t thread; /* takes views */
    bool started;
    int ending;
    pthread_mutex_t lock; /* of all that follows; the network's threads hold it for moments only */
    size_t rows, columns, slots;
    double pixels[2];          /* mm along columns and rows; 0: not known */
    bool rolling;              /* slots are used again */
    size_t expected;           /* 0: not known */
    double from, step;         /* radians */
    float *lines;              /* [slot][row][column] */
    float *flat, *dark, *gain; /* NULL: no fields are needed */
    size_t *view_of;           /* [slot] 1 + number of the view whose lines are there; 0: none */
    qb_quantity quantity;
    size_t end, received, seen, late, unreadable, restarts; /* end: 1 + the highest number; seen: as lines */
    double first, newest;                                   /* when these came */
    unsigned long version;
    /* Views as they came, which workers make lines of: whoever takes views never waits for that. */
    qb_dtype dtype;
    char *raw;      /* [slot][row][column] */
    size_t *raw_of; /* [slot] as view_of */
    size_t *queue, head, waiting;
    pthread_cond_t more;
    pthread_t worker[VIEW_LIVE_WORKERS];
    int workers;
};

/* live_lines.c: memory and workers, once rows, columns, slots and dtype are known. */
qb_status view_lines_open(view_live *live);
void view_lines_close(view_live *live);
/* Keeps a view and has lines made of it. */
void view_lines_take(view_live *live, size_t number, const void *values);
/* Views that came are of another scan; lines stay. With the lock held. */
void view_lines_forget(view_live *live);

#endif
