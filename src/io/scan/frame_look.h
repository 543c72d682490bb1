/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_FRAME_LOOK_H
#define QB_IO_FRAME_LOOK_H

#include <stdbool.h>
#include <stddef.h>

#include "io/scan/frame_steps.h"
#include "quickbeam/array.h"
#include "quickbeam/env.h"

/* What some hundred numbers of a frame say of it. A frame is a view, a flat or a dark. */
typedef struct qb__frame {
    bool looked;               /* whether the other fields are known */
    float least, most;         /* range of the finite numbers below the type's maximum; NaN = none */
    float low, median, bright; /* their 5 %, 50 % and 95 % levels */
    float low_end,
        high_end;    /* range of the finite numbers of every column of the rows, and 0; 0 where `ends` is false */
    float lost, top; /* shares of the numbers that are NaN or infinite, and that are the type's maximum */
    float covered
        [2];      /* share of its columns without beam, from the left and from the right; 0 where nobody asked for it */
    float dim[2]; /* the same of columns with little beam */
    qb__frame_step step; /* from the frame before; NaN where nobody asked for it */
} qb__frame;

/* Frames of one series, and how their rows are read. */
typedef struct qb__frame_series {
    void *self;
    /* Row `row` of frames first <= i < end into out[frame][column]. */
    qb_status (*read)(void *self, size_t first, size_t end, size_t row, void *out);
    qb_dtype dtype;
    size_t count, rows, columns;
    size_t lines;  /* look at so many rows, spread over the height */
    size_t stride; /* look at every such frame */
    bool ends;     /* fill in low_end and high_end, too */
    bool steps;    /* fill in step, too, of numbers farther from `zero` than `part` of the largest */
    float zero, part;
    float lit; /* fill in covered, too: numbers below it have no beam; 0: do not */
} qb__frame_series;

/* Into frames[count]. It holds about 256 KiB, or a row where that is more. `lines` is 16 at most. */
qb_status qb__frames_look(const qb__frame_series *series, const qb_env *env, qb__frame *frames);
/* Only frame `at`, from up to 16 rows; `least` and `most` are of all numbers of these rows. */
qb_status qb__frame_look_again(const qb__frame_series *series, size_t at, qb__frame *frame);

#endif
