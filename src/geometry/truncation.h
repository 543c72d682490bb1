/* SPDX-License-Identifier: MIT */
#ifndef QB_GEOMETRY_TRUNCATION_H
#define QB_GEOMETRY_TRUNCATION_H

#include <stdbool.h>

#include "quickbeam/geometry.h"

/* Ends of detector rows that must see past the object, so that all of it is measured. */
typedef struct qb__truncation {
    /* [0] column 0, [1] last column. In a full turn with the axis to one side the near end does not count: what it
     * cuts off is measured half a turn later. */
    bool count[2];
    double reach; /* largest distance from the axis, in mm, that the counting ends see */
} qb__truncation;

/* For parallel beams and cones. No end counts if rows are turned by more than 20 degrees towards the axis. QB_NO_MEMORY. */
qb_status qb__truncation_of(const qb_geometry *geometry, qb__truncation *ends);
/* Whether slices reach far enough beyond the field of view to hold what is cut off. Only voxels within `radius` mm count; INFINITY: all. */
bool qb__truncation_within(const qb__truncation *ends, const qb_grid *grid, double radius);

#endif
