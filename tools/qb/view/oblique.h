/* SPDX-License-Identifier: MIT */
#ifndef QB_VIEW_OBLIQUE_H
#define QB_VIEW_OBLIQUE_H

#include "plane.h"

/* A plane in any direction, by linear interpolation between voxels. Vectors are z, y, x, in voxels. */
typedef struct view_oblique {
    double at[3];             /* of the first point */
    double down[3], right[3]; /* to the next line, to the next point */
    size_t count[2];          /* lines, points */
} view_oblique;

/* "at=z,y,x&down=z,y,x&right=z,y,x&count=lines,points"; false where the query says something else. */
bool view_oblique_parse(const char *query, view_oblique *oblique);
/* out[count[0]][count[1]]; NaN outside of the stack. */
qb_status view_oblique_read(const view_stack *stack, const view_oblique *oblique, float *out);

#endif
