/* SPDX-License-Identifier: MIT */
#pragma once

#include "geometry/phantom.h"

/* A simulated bag of a security scanner, for benchmarks of iterative methods; not based on measurements. A suitcase
 * with plastic walls or a soft bag, a third of them with the rods of a handle, full of clothes (0.08 to 0.3 of water,
 * with folds). In it, without overlap: bottles and cartons of liquids (0.78 to 1.25), books (0.7 to 1), sheets (1 to
 * 1.5), food (0.85 to 1.1), shoes (soles 1.15 to 1.35), plastic appliances with metal parts, copper cables, metal
 * (aluminium 2.5 to 2.8, steel 6 to 8). Independent layers follow each other along z; the middle of the box is the
 * middle of a layer. `plane` and `depth` are half the box's sides in the plane (the shorter) and along z, in mm;
 * `attenuation` is that of water. */
qb_status qb__phantom_baggage(const double center[3], double plane, double depth, double attenuation, uint64_t seed,
                              qb__phantom *phantom);
