/* SPDX-License-Identifier: MIT */
#ifndef QB_GEOMETRY_PHANTOM_BAGGAGE_H
#define QB_GEOMETRY_PHANTOM_BAGGAGE_H

#include "geometry/phantom.h"

/* What a bag scanner sees, for benchmarks of iterative methods; no bag was measured for it. A suitcase with walls of
 * plastic or a soft bag, in a third of them with the rods of a handle, full of clothes (0.08 to 0.3 of water, with
 * folds), and among them, none within another: bottles and cartons of liquids (0.78 to 1.25), books (0.7 to 1), sheets
 * (1 to 1.5), food (0.85 to 1.1), shoes (soles 1.15 to 1.35), appliances of plastic with parts of metal in them, cables of
 * copper, metal (aluminium 2.5 to 2.8, steel 6 to 8). Layers, each packed for itself, follow each other along z; the middle of the box
 * is the middle of one, through everything in it. `plane` and `depth` are half the box's sides in the plane (the lesser) and
 * along z, in mm; `attenuation` is that of water. */
qb_status qb__phantom_baggage(const double center[3], double plane, double depth, double attenuation, uint64_t seed,
                              qb__phantom *phantom);

#endif
