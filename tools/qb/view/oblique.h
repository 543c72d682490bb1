/* SPDX-License-Identifier: MIT */
#pragma once

#include "plane.h"

/* A plane in any direction, interpolated linearly between voxels. Vectors are z, y, x, in voxels. */
typedef struct view_oblique {
    double at[3];             /* position of the first point */
    double down[3], right[3]; /* steps to the next line and to the next point */
    size_t count[2];          /* number of lines, and of points in a line */
} view_oblique;

/* Reads "at=z,y,x&down=z,y,x&right=z,y,x&count=lines,points"; false where the query has no such plane. */
bool view_oblique_parse(const char *query, view_oblique *oblique);
/* Reads the plane into out[count[0]][count[1]]; NaN outside the stack. */
qb_status view_oblique_read(const view_stack *stack, const view_oblique *oblique, float *out);
