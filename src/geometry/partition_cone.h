/* SPDX-License-Identifier: MIT */
#ifndef QB_GEOMETRY_PARTITION_CONE_H
#define QB_GEOMETRY_PARTITION_CONE_H

#include "geometry/matrix.h"

/* Detector rows first <= row < end; first = end when a slab misses the detector. */
typedef struct qb__rows {
    size_t first, end;
} qb__rows;

/* The rows that linear interpolation reads for the slices z0 <= iz < z1 of a grid, over all views.
 * matrices[geometry->views] are those of the whole grid (qb__matrices_on_grid). The image of a box
 * in front of the source is the hull of its corners' images, so these bounds are exact for the box.
 */
qb__rows qb__rows_of_slab(const qb_geometry *geometry, const qb_grid *grid,
                          const qb__matrix *matrices, size_t z0, size_t z1);

/* The most rows that a chunk needs when the grid is cut every `slices` slices. */
size_t qb__most_rows_of_slab(const qb_geometry *geometry, const qb_grid *grid,
                             const qb__matrix *matrices, size_t slices);

#endif
