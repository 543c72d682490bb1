/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "io/plain/source.h"
#include "quickbeam/array.h"
#include "quickbeam/env.h"

/* Logarithm of the factor from one frame to the next: the median over all pixels, its error by noise, and the spread of
 * most pixels. NaN: unknown. */
typedef struct qb__frame_step {
    float size, error, spread;
} qb__frame_step;

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

/* Unsigned counts that a program stored as signed ones: the upper half of their range is read as negative numbers. */
typedef enum qb__wrapped { QB__WRAPPED_NONE, QB__WRAPPED_SOME, QB__WRAPPED_MANY } qb__wrapped;

/* Judge the counts of a series by its frames; *least: the smallest value. */
qb__wrapped qb__counts_wrapped(const qb__frame *frames, size_t count, qb_dtype dtype, float *least);
/* True if counts of that type can have this fault, and if this value is too negative for noise. */
bool qb__counts_may_wrap(qb_dtype dtype);
bool qb__count_wrapped(qb_dtype dtype, float count);
/* Read signed integers of the source as unsigned ones of the same size; false if it has none. */
bool qb__source_read_unsigned(qb__source *source);
/* True if darks of that level show that a program subtracted half of the range from all counts: then nothing needs to
 * be corrected, because only differences from the darks count. */
bool qb__counts_shifted(qb_dtype dtype, double dark);
/* That half: 32768 for int16. */
double qb__signed_offset(qb_dtype dtype);
/* "uint16" for int16. */
const char *qb__unsigned_name(qb_dtype dtype);
