/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "quickbeam/status.h"

/* Change of the open beam during a scan. In view v, at pixel p,
 *
 *   beam(v, p) = (flat(p) - dark(p)) change(v, p),
 *   change(v, p) = weight[v][0] + sum over k of weight[v][k + 1] mode[k][p].
 *
 * Flats of several series: mode k is series k divided by the mean flat. Principal components: weight[v][0] is the
 * level. */
typedef struct qb__drift {
    size_t modes, pixels, columns, views;
    float *mode;   /* [modes][row][column]; finite everywhere */
    float *weight; /* [views][modes + 1] */
    size_t series; /* number of series of flats with known times; equals modes, except for principal components */
    double *time;  /* [series] time of each */
    /* [series] the beam relative to the mean of all flats: by its monitor, 1 without one; for components by counts */
    double *level;
    float *monitor;  /* [views] the monitor relative to flats that were interpolated in the same way */
    bool components; /* modes are principal components, not series */
    char text[200];  /* how flats are combined, in words */
} qb__drift;

void qb__drift_destroy(qb__drift *drift); /* NULL-safe */

/* Smallest change: a beam that is off is dead in the mean flat, too. */
#define QB__DRIFT_LEAST 1e-3f

/* For pixels first <= p < first + count of a view: their changes; gain[p] / change. */
void qb__drift_changes(const qb__drift *drift, size_t view, size_t first, size_t count, float *change);
void qb__drift_gain(const qb__drift *drift, size_t view, size_t first, size_t count, const float *gain, float *out);
/* Continues a hash with the drift. */
uint64_t qb__drift_hash(const qb__drift *drift, uint64_t hash);
