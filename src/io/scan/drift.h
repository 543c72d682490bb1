/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_DRIFT_H
#define QB_IO_DRIFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "quickbeam/status.h"

/* How the open beam changes during a scan. In view v, of pixel p,
 *
 *   beam(v, p) = (flat(p) - dark(p)) change(v, p),
 *   change(v, p) = weight[v][0] + sum over k of weight[v][k + 1] mode[k][p].
 *
 * Flats of several series: mode k is series k over the mean flat. Principal components: weight[v][0] is the level. */
typedef struct qb__drift {
    size_t modes, pixels, columns, views;
    float *mode;   /* [modes][row][column]; finite everywhere */
    float *weight; /* [views][modes + 1] */
    size_t series; /* of flats, with known times; modes, or of principal components another number */
    double *time;  /* [series] when each was taken */
    double
        *level; /* [series] the beam, over all flats': by its monitor, 1 where there is none; of components by counts */
    float *monitor;  /* [views] what the monitor says of flats that were interpolated so */
    bool components; /* modes are principal components, not series */
    char text[200];  /* how flats are taken, in words */
} qb__drift;

void qb__drift_destroy(qb__drift *drift); /* NULL-safe */

/* No change is smaller: a beam that is gone is dead in the mean flat, too. */
#define QB__DRIFT_LEAST 1e-3f

/* Of pixels first <= p < first + count in a view: their changes; gain[p] / change. */
void qb__drift_changes(const qb__drift *drift, size_t view, size_t first, size_t count, float *change);
void qb__drift_gain(const qb__drift *drift, size_t view, size_t first, size_t count, const float *gain, float *out);
/* It continues such a hash. */
uint64_t qb__drift_hash(const qb__drift *drift, uint64_t hash);

#endif
