/* SPDX-License-Identifier: MIT */
#ifndef QB_OPS_EXTEND_H
#define QB_OPS_EXTEND_H

#include <stddef.h>

#include "quickbeam/recon.h"

/* How far a row of `columns` is continued on either side before it is nothing but zeros; edge and
 * mirror never end. */
size_t qb__extend_reach(qb_pad pad, size_t columns);

/* Write row[-left .. -1] and row[columns .. columns + right - 1]:
 *   zero     nothing
 *   edge     the last value
 *   mirror   the row's mirror image
 *   taper    the row turned about its end, 2 row[end] - mirror but never below 0, fading as cos^2
 *            over half the width (after Ohnesorge et al., Med. Phys. 27 (2000) 39)
 *   ellipse  what an ellipse would cast: the root of the parabola in the squared row that has the
 *            row's own curvature, and near the end its level and slope there; faded at the far end
 *            of its reach, the width. Needs no attenuation, unlike the cylinder of water of Hsieh
 *            et al., Med. Phys. 31 (2004) 2385. */
void qb__extend(qb_pad pad, float *row, size_t columns, size_t left, size_t right);
/* The transpose of zero, edge and mirror: adds what lies beyond the row to the values that it continues. */
void qb__extend_transposed(qb_pad pad, float *row, size_t columns, size_t left, size_t right);

#endif
