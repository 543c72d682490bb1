/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

#include "quickbeam/recon.h"

/* Distance by which a row of `columns` is continued on either side before zeros follow; edge and mirror never end. */
size_t qb__extend_reach(qb_pad pad, size_t columns);

/* Write row[-left .. -1] and row[columns .. columns + right - 1]:
 *   zero     zeros
 *   edge     the last value
 *   mirror   the row's mirror image
 *   taper    the row rotated about its end, 2 row[end] - mirror but never below 0, fading as cos^2
 *            over half the width (after Ohnesorge et al., Med. Phys. 27 (2000) 39)
 *   ellipse  the projection of an ellipse: the root of a parabola in the squared row with the row's
 *            own curvature, and with its level and slope at the end; it fades out at the end of its
 *            range, one width. Needs no attenuation, unlike the cylinder of water of Hsieh et al.,
 *            Med. Phys. 31 (2004) 2385. */
void qb__extend(qb_pad pad, float *row, size_t columns, size_t left, size_t right);
/* The transpose of zero, edge and mirror: adds the values outside the row to the values that they continue. */
void qb__extend_transposed(qb_pad pad, float *row, size_t columns, size_t left, size_t right);
