/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "io/scan/drift.h"
#include "io/scan/frame_look.h"
#include "io/scan/scan.h"
#include "quickbeam/array.h"

/* The mean of frames, pixel by pixel. A single value far from all others of its pixel, such as a zinger, is left out;
 * of two frames the brighter one. If there is none, the bits are those of the plain mean. Values that are not finite are
 * missing: the mean is that of the other frames. */
typedef struct qb__field_mean {
    size_t pixels, frames, threads;
    double *sum;
    float *high, *low; /* extremes of each pixel; NULL: not needed */
    uint32_t *lost;    /* frames without a finite value of each pixel; NULL: integers */
    float top;         /* maximum of the type; INFINITY: none */
} qb__field_mean;

/* `frames`: number that will be added; `robust`: leave out single values. */
qb_status qb__field_mean_begin(qb__field_mean *m, size_t pixels, size_t frames, qb_dtype dtype, bool robust,
                               size_t threads);
void qb__field_mean_end(qb__field_mean *m);
/* Add pixels first <= i < first + count of one frame. Threads may add different pixels at the same time. */
void qb__field_mean_add(qb__field_mean *m, size_t first, size_t count, const float *values);
/* Results of the mean. */
typedef struct qb__field_found {
    size_t left_out;  /* number of values */
    size_t missing;   /* pixels with no finite value in some of the frames */
    size_t saturated; /* pixels at the type's maximum: their mean is NaN */
    double differ[2]; /* relative difference of frames in the parts that differ least and most; 0: unknown */
    double noise;     /* standard deviation of a usual pixel in one frame; 0: too few frames */
} qb__field_found;
qb_status qb__field_mean_take(const qb__field_mean *m, float *mean, qb__field_found *found);

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

/* Mean [row][column] of the frames `taken`. *lowest becomes the smallest of its own value and all values. */
qb_status qb__frames_mean(const qb__frames *taken, bool lines, qb_field_average how, const qb_env *env, float *mean,
                          qb__field_found *found, float *lowest);
/* Median of the frames instead of the mean that `found` describes. */
qb_status qb__frames_median(const qb__frames *taken, bool lines, const qb_env *env, float *median,
                            qb__field_found *found);
/* Makes the drift according to --flat-fields, without the weights of the views; *drift must be NULL, and stays NULL if
 * the mean alone is used. scan->flat and scan->dark must exist. `flat` is scan->flat: pixels that are dead in one series
 * become NaN. */
qb_status qb__flat_series_load(qb_scan *scan, const qb__flats *flats, const qb_scan_options *options, const qb_env *env,
                               float *flat, qb__drift **drift);

/* Darks of several times: from then on views, and flats with known times, are read as float32, minus the difference
 * between the dark of their time and the mean dark. `flats` may have no frames. scan->dark must exist. */
qb_status qb__dark_series_load(qb_scan *scan, const qb__flats *darks, const qb__flats *flats,
                               const qb_scan_options *options, const qb_env *env);

/* The principal components of flats as modes of `drift`, which must be empty, and the brightness of each flat relative
 * to the mean flat, level[taken->count]. scan->flat and scan->dark must exist. */
qb_status qb__flat_pca_modes(const qb_scan *scan, const qb__frames *taken, const qb_env *env, qb__drift *drift,
                             double *level);
/* The weights of the modes for each view, times weight[view][0], which must exist. */
qb_status qb__flat_pca_weigh(qb_scan *scan, const qb_env *env);

/* Flats or darks, and marks of those that cannot be what they are stated to be. */
typedef struct qb__field_series {
    const qb__frame *frames; /* [count] */
    size_t count;
    bool *bad; /* [count]; frames that are marked already are not judged */
} qb__field_series;

/* Marks frames that lie far from their series: a dark with beam, a flat without beam, one that is much too dim or too
 * bright, or without numbers. At least one good frame stays in each series. Either series may be empty. */
void qb__fields_judge(qb__field_series *flats, qb__field_series *darks);
/* True if all flats are darker than all darks; with their middle levels. */
bool qb__fields_exchanged(const qb__field_series *flats, const qb__field_series *darks, double *flat, double *dark);
