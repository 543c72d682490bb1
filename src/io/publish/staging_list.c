/* SPDX-License-Identifier: MIT */
#include "io/publish/staging.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "base/status.h"

/* Shared by the process, because signals end the whole process. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t idle;
    char **name; /* [count] */
    size_t count, room;
    int publishing;
    bool abandoned;
} staging = {.lock = PTHREAD_MUTEX_INITIALIZER, .idle = PTHREAD_COND_INITIALIZER};

static bool make_room(void) {
    char **wider;
    if (staging.count < staging.room) return true;
    if (qb__alloc(2 * staging.room + 8, sizeof *wider, &wider) != QB_OK) return false;
    if (staging.count) memcpy(wider, staging.name, staging.count * sizeof *wider);
    qb__free(staging.name);
    staging.name = wider;
    staging.room = 2 * staging.room + 8;
    return true;
}

bool qb__staging_list_add(const char *name) {
    char *copy = qb__strdup(name);
    pthread_mutex_lock(&staging.lock);
    bool good = copy && make_room();
    if (good) staging.name[staging.count++] = copy;
    pthread_mutex_unlock(&staging.lock);
    if (!good) qb__free(copy);
    return good;
}

void qb__staging_list_drop(const char *name) {
    pthread_mutex_lock(&staging.lock);
    size_t i = staging.count;
    while (name && i > 0 && strcmp(staging.name[i - 1], name) != 0) i--;
    if (name && i > 0) {
        qb__free(staging.name[i - 1]);
        staging.name[i - 1] = staging.name[--staging.count];
    }
    if (!staging.count) {
        qb__free(staging.name);
        staging.name = NULL;
        staging.room = 0;
    }
    pthread_mutex_unlock(&staging.lock);
}

qb_status qb__staging_list_publish(void) {
    pthread_mutex_lock(&staging.lock);
    bool late = staging.abandoned;
    if (!late) staging.publishing++;
    pthread_mutex_unlock(&staging.lock);
    return late ? qb__fail(QB_CANCELLED, "interrupted before the end") : QB_OK;
}

void qb__staging_list_published(void) {
    pthread_mutex_lock(&staging.lock);
    if (--staging.publishing == 0) pthread_cond_broadcast(&staging.idle);
    pthread_mutex_unlock(&staging.lock);
}

void qb__staging_list_abandon(void (*remove)(const char *name)) {
    enum { PATIENCE = 5 }; /* seconds to wait for renames on a disk that does not answer */
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE;
    pthread_mutex_lock(&staging.lock);
    staging.abandoned = true;
    for (int error = 0; staging.publishing && !error;)
        error = pthread_cond_timedwait(&staging.idle, &staging.lock, &until);
    for (size_t i = 0; i < staging.count && !staging.publishing; i++) remove(staging.name[i]);
    pthread_mutex_unlock(&staging.lock);
}
