/* SPDX-License-Identifier: MIT */
#ifndef QB_VIEW_PLANES_H
#define QB_VIEW_PLANES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/* Cache of the planes that were computed last, found by name. */

enum { VIEW_PLANES_MOST = 12, VIEW_PLANE_NAME = 320 };

typedef struct view_made {
    char name[VIEW_PLANE_NAME];
    float *values;
    size_t shape[2];
    int users;
    unsigned long used; /* value of `clock` at the last use */
} view_made;

typedef struct view_planes {
    pthread_mutex_t lock;
    view_made made[VIEW_PLANES_MOST];
    unsigned long clock;
} view_planes;

void view_planes_init(view_planes *planes);
void view_planes_clear(view_planes *planes);
/* Finds a plane; NULL: there is none with this name. The plane stays valid until it is released. */
const view_made *view_planes_find(view_planes *planes, const char *name);
/* Takes over the values (from malloc) and keeps them in place of the plane that was not used for the longest time.
 * Returns the plane, which the caller releases. NULL: all places are in use, and the values are freed. */
const view_made *view_planes_add(view_planes *planes, const char *name, float *values, const size_t shape[2]);
void view_planes_release(view_planes *planes, const view_made *made);

#endif
