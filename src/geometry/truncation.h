/* SPDX-License-Identifier: MIT */
#ifndef QB_GEOMETRY_TRUNCATION_H
#define QB_GEOMETRY_TRUNCATION_H

#include <stdbool.h>

#include "quickbeam/geometry.h"

/* Which ends of a detector's rows, that of column 0 and that of the last one, must see past the object for it to be measured as
 * a whole. */
typedef struct qb__truncation {
    bool count
        [2]; /* of a full turn with the axis to one side the near end does not: what it cuts off is seen half a turn later */
    double reach; /* mm from the axis to where those that count see, at most */
} qb__truncation;

/* Parallel beams and cones; none counts where rows are turned by more than 20 degrees towards the axis. QB_NO_MEMORY. */
qb_status qb__truncation_of(const qb_geometry *geometry, qb__truncation *ends);
/* A slice reaches so much farther that what is cut off has a place in it. `radius` in mm: of voxels only those within; INFINITY: all. */
bool qb__truncation_within(const qb__truncation *ends, const qb_grid *grid, double radius);

#endif
