/* SPDX-License-Identifier: MIT */
#pragma once

#include "quickbeam/quickbeam.h"

/* A stack of images of which any part can be read. */
typedef struct view_stack {
    const qb_array_info *info;
    /* Reads a part, as qb_volume_read() does. */
    qb_status (*read)(void *user, const size_t first[3], const size_t count[3], const size_t step[3], float *out);
    void *user;
} view_stack;

/* How the slices of a thick plane are combined. */
typedef enum view_how { VIEW_MEAN, VIEW_MAX, VIEW_MIN, VIEW_HOWS } view_how;

/* A plane across one axis of a stack: 0 images (z), 1 rows (y), 2 columns (x). Its lines follow the first of the other
 * two axes. */
typedef struct view_plane {
    size_t axis, index, thick; /* the planes index to index + thick - 1 are combined */
    view_how how;
    size_t first[2], count[2]; /* first line and point in the stack; number of lines and points of the result */
    size_t step;               /* each value of the result is the mean of step x step values of the plane */
    bool draft;                /* the plane may be less exact, so that it comes soon */
} view_plane;

enum { VIEW_VALUES_MOST = 1 << 24, VIEW_WORDS = 300 };

/* Checks a plane. QB_BAD_ARGUMENT, with the reason in `words`, where the plane reaches beyond the stack or has too many
 * values. */
qb_status view_plane_check(const qb_array_info *info, const view_plane *plane, char words[VIEW_WORDS]);
/* Reads a checked plane into out[count[0]][count[1]]; NaN where nothing was measured. To read at most 1 GB (64 MB for a
 * draft), means are taken over fewer lines; where that is not enough, lines are repeated. */
qb_status view_plane_read(const view_stack *stack, const view_plane *plane, float *out);
