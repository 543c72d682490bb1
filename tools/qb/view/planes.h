/* SPDX-License-Identifier: MIT */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/* Cache of the planes that were computed last, found by name. A plane stays valid as long as someone uses it, also
 * when the cache has forgotten it, so that an answer can be sent from it without a copy. Memory of planes is used again:
 * new pages of 17 MB cost more time than the values. */

enum { VIEW_PLANES_MOST = 12, VIEW_PLANES_SPARE = 3, VIEW_PLANE_NAME = 320 };

typedef struct view_planes view_planes;

typedef struct view_made {
    char name[VIEW_PLANE_NAME];
    float *values;
    bool plain; /* `values` are from malloc */
    size_t shape[2];
    view_planes *planes;
    int users;          /* the cache is one of them */
    unsigned long used; /* value of `clock` at the last use */
} view_made;

/* Memory for the values of planes; where it makes none, they are from malloc. */
typedef struct view_room {
    float *(*make)(void *user, size_t bytes); /* may return NULL */
    void (*drop)(void *user, float *values);
    void *user;
} view_room;

struct view_planes {
    pthread_mutex_t lock;
    view_room room;
    view_made *made[VIEW_PLANES_MOST], *spare[VIEW_PLANES_SPARE];
    unsigned long clock;
};

void view_planes_init(view_planes *planes);
void view_planes_clear(view_planes *planes);
/* Finds a plane, which the caller releases; NULL: there is none with this name. */
view_made *view_planes_find(view_planes *planes, const char *name);
/* A plane to be filled, which the caller releases; NULL: no memory. */
view_made *view_planes_new(view_planes *planes, const size_t shape[2]);
/* Keeps a filled plane in place of the one that was not used for the longest time. */
void view_planes_keep(view_made *made, const char *name);
void view_planes_release(view_made *made); /* NULL-safe */
