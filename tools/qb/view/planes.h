/* SPDX-License-Identifier: MIT */
#ifndef QB_VIEW_PLANES_H
#define QB_VIEW_PLANES_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/* Planes that were computed last, by name. */

enum { VIEW_PLANES_MOST = 12, VIEW_PLANE_NAME = 320 };

typedef struct view_made {
    char name[VIEW_PLANE_NAME];
    float *values;
    size_t shape[2];
    int users;
    unsigned long used; /* when, by a counter */
} view_made;

typedef struct view_planes {
    pthread_mutex_t lock;
    view_made made[VIEW_PLANES_MOST];
    unsigned long clock;
} view_planes;

void view_planes_init(view_planes *planes);
void view_planes_clear(view_planes *planes);
/* NULL: there is none of that name. It stays until it is released. */
const view_made *view_planes_find(view_planes *planes, const char *name);
/* Takes the values (from malloc) and keeps them in the place of the plane that was used longest ago. Returns it, to be released; NULL, and the
 * values are freed: all places are in use. */
const view_made *view_planes_add(view_planes *planes, const char *name, float *values, const size_t shape[2]);
void view_planes_release(view_planes *planes, const view_made *made);

#endif
