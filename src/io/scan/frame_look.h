/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "io/scan/frame_steps.h"
#include "quickbeam/array.h"
#include "quickbeam/env.h"

/* Statistics of some hundred samples of a frame: a view, a flat or a dark. */
typedef struct qb__frame {
    bool looked;               /* the other fields are known */
    float least, most;         /* range of the finite numbers below the type's maximum; NaN = none */
    float low, median, bright; /* their 5 %, 50 % and 95 % levels */
    float low_end,
        high_end;        /* range of the finite numbers of the end columns of the rows, including 0; 0 unless `ends` */
    float lost, top;     /* shares of the numbers that are NaN or infinite, and at the type's maximum */
    float covered[2];    /* share of its columns without beam, from the left and from the right; 0 unless asked for */
    float dim[2];        /* the same for columns with little beam */
    qb__frame_step step; /* step from the previous frame; NaN unless asked for */
} qb__frame;

/* Frames of one series, and how their rows are read. */
typedef struct qb__frame_series {
    void *self;
    /* Read row `row` of frames first <= i < end into out[frame][column]. */
    qb_status (*read)(void *self, size_t first, size_t end, size_t row, void *out);
    qb_dtype dtype;
    size_t count, rows, columns;
    size_t lines;  /* rows to check, spread over the height */
    size_t stride; /* check every n-th frame */
    bool ends;     /* also fill in low_end and high_end */
    bool steps;    /* also fill in step, from numbers farther from `zero` than `part` of the largest */
    float zero, part;
    float lit; /* also fill in covered: smaller numbers have no beam; 0: not */
} qb__frame_series;

/* Fill in frames[count]. Takes about 256 KiB, or a row if that is more. `lines` is at most 16. */
qb_status qb__frames_look(const qb__frame_series *series, const qb_env *env, qb__frame *frames);
/* Only frame `at`, from up to 16 rows; `least` and `most` are those of all numbers of these rows. */
qb_status qb__frame_look_again(const qb__frame_series *series, size_t at, qb__frame *frame);
