/* SPDX-License-Identifier: MIT */
#include "planes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void view_planes_init(view_planes *planes) {
    *planes = (view_planes){0};
    pthread_mutex_init(&planes->lock, NULL);
}

void view_planes_clear(view_planes *planes) {
    for (int i = 0; i < VIEW_PLANES_MOST; i++) free(planes->made[i].values);
    pthread_mutex_destroy(&planes->lock);
}

static view_made *take(view_planes *planes, view_made *one) {
    one->users++;
    one->used = ++planes->clock;
    return one;
}

const view_made *view_planes_find(view_planes *planes, const char *name) {
    view_made *found = NULL;
    pthread_mutex_lock(&planes->lock);
    for (int i = 0; !found && i < VIEW_PLANES_MOST; i++) {
        view_made *one = &planes->made[i];
        if (one->values && strcmp(one->name, name) == 0) found = take(planes, one);
    }
    pthread_mutex_unlock(&planes->lock);
    return found;
}

const view_made *view_planes_add(view_planes *planes, const char *name, float *values, const size_t shape[2]) {
    view_made *oldest = NULL;
    pthread_mutex_lock(&planes->lock);
    for (int i = 0; i < VIEW_PLANES_MOST; i++) {
        view_made *one = &planes->made[i];
        if (!one->users && (!oldest || one->used < oldest->used)) oldest = one;
    }
    if (oldest) {
        free(oldest->values);
        oldest->values = values;
        memcpy(oldest->shape, shape, sizeof oldest->shape);
        snprintf(oldest->name, sizeof oldest->name, "%s", name);
        take(planes, oldest);
    } else {
        free(values);
    }
    pthread_mutex_unlock(&planes->lock);
    return oldest;
}

void view_planes_release(view_planes *planes, const view_made *made) {
    if (!made) return;
    pthread_mutex_lock(&planes->lock);
    planes->made[made - planes->made].users--;
    pthread_mutex_unlock(&planes->lock);
}
