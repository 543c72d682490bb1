/* SPDX-License-Identifier: MIT */
#include "planes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void view_planes_init(view_planes *planes) {
    *planes = (view_planes){0};
    pthread_mutex_init(&planes->lock, NULL);
}

static void destroy(view_made *made) {
    if (!made) return;
    if (made->plain)
        free(made->values);
    else
        made->planes->room.drop(made->planes->room.user, made->values);
    free(made);
}

void view_planes_clear(view_planes *planes) {
    for (int i = 0; i < VIEW_PLANES_MOST; i++) destroy(planes->made[i]);
    for (int i = 0; i < VIEW_PLANES_SPARE; i++) destroy(planes->spare[i]);
    pthread_mutex_destroy(&planes->lock);
}

/* Keeps the memory of a plane that no one uses. The caller holds the lock; returns the plane that is to be destroyed. */
static view_made *leave(view_made *made) {
    view_made **spare = made->planes->spare, *last = spare[VIEW_PLANES_SPARE - 1];
    memmove(spare + 1, spare, (VIEW_PLANES_SPARE - 1) * sizeof(view_made *));
    spare[0] = made;
    return last;
}

void view_planes_release(view_made *made) {
    if (!made) return;
    view_planes *planes = made->planes;
    pthread_mutex_lock(&planes->lock);
    view_made *gone = --made->users == 0 ? leave(made) : NULL;
    pthread_mutex_unlock(&planes->lock);
    destroy(gone);
}

view_made *view_planes_find(view_planes *planes, const char *name) {
    view_made *found = NULL;
    pthread_mutex_lock(&planes->lock);
    for (int i = 0; !found && i < VIEW_PLANES_MOST; i++)
        if (planes->made[i] && strcmp(planes->made[i]->name, name) == 0) found = planes->made[i];
    if (found) found->users++, found->used = ++planes->clock;
    pthread_mutex_unlock(&planes->lock);
    return found;
}

/* Memory of a former plane with as many values. */
static view_made *again(view_planes *planes, size_t count) {
    view_made *found = NULL;
    pthread_mutex_lock(&planes->lock);
    for (int i = 0; !found && i < VIEW_PLANES_SPARE; i++) {
        view_made **one = &planes->spare[i];
        if (*one && (*one)->shape[0] * (*one)->shape[1] == count) found = *one, *one = NULL;
    }
    pthread_mutex_unlock(&planes->lock);
    return found;
}

view_made *view_planes_new(view_planes *planes, const size_t shape[2]) {
    const view_room *room = &planes->room;
    const size_t count = shape[0] * shape[1];
    view_made *made = again(planes, count), fresh = {.planes = planes};
    if (made) fresh.values = made->values, fresh.plain = made->plain;
    if (!made && !(made = malloc(sizeof *made))) return NULL;
    if (!fresh.values && room->make) fresh.values = room->make(room->user, count * sizeof(float));
    if (!fresh.values) fresh.values = malloc(count * sizeof(float)), fresh.plain = true;
    if (!fresh.values) {
        free(made);
        return NULL;
    }
    fresh.shape[0] = shape[0], fresh.shape[1] = shape[1], fresh.users = 1;
    *made = fresh;
    return made;
}

void view_planes_keep(view_made *made, const char *name) {
    view_planes *planes = made->planes;
    view_made **place = planes->made;
    pthread_mutex_lock(&planes->lock);
    for (int i = 0; i < VIEW_PLANES_MOST && *place; i++)
        if (!planes->made[i] || planes->made[i]->used < (*place)->used) place = &planes->made[i];
    view_made *oldest = *place;
    snprintf(made->name, sizeof made->name, "%s", name);
    made->users++;
    made->used = ++planes->clock;
    *place = made;
    pthread_mutex_unlock(&planes->lock);
    view_planes_release(oldest);
}
