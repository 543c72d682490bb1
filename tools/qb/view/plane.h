/* SPDX-License-Identifier: MIT */
#ifndef QB_VIEW_PLANE_H
#define QB_VIEW_PLANE_H

#include "quickbeam/quickbeam.h"

/* Images of which any part can be read. */
typedef struct view_stack {
    const qb_array_info *info;
    /* As qb_volume_read. */
    qb_status (*read)(void *user, const size_t first[3], const size_t count[3], const size_t step[3], float *out);
    void *user;
} view_stack;

/* How the slices of a thick plane become one. */
typedef enum view_how { VIEW_MEAN, VIEW_MAX, VIEW_MIN, VIEW_HOWS } view_how;

/* A plane across one index of a stack, 0 images (z), 1 rows (y), 2 columns (x); its lines run along the first of the other two. */
typedef struct view_plane {
    size_t axis, index, thick; /* planes index .. index + thick - 1 */
    view_how how;
    size_t first[2], count[2]; /* lines, points of a line: of the result */
    size_t step;               /* each value of the result is the mean of step x step of the plane */
    bool draft;                /* to be read soon rather than exactly */
} view_plane;

enum { VIEW_VALUES_MOST = 1 << 24, VIEW_WORDS = 300 };

/* QB_BAD_ARGUMENT, and why in `words`, where it reaches beyond the stack, or has too many values. */
qb_status view_plane_check(const qb_array_info *info, const view_plane *plane, char words[VIEW_WORDS]);
/* out[count[0]][count[1]] of a plane that was checked; NaN where nothing was measured. Where that would read more than a GB (of a
 * draft 64 MB), means are of fewer lines, and beyond that some lines repeat the one before. */
qb_status view_plane_read(const view_stack *stack, const view_plane *plane, float *out);
#endif
