/* SPDX-License-Identifier: MIT */
#include "io/aside.h"

#include <pthread.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "base/status.h"

/* Of the process, as the signals are that end it. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t idle;
    char **name; /* [count] */
    size_t count, room;
    int publishing;
    bool abandoned;
} aside = {.lock = PTHREAD_MUTEX_INITIALIZER, .idle = PTHREAD_COND_INITIALIZER};

static bool make_room(void) {
    char **wider;
    if (aside.count < aside.room) return true;
    if (qb__alloc(2 * aside.room + 8, sizeof *wider, &wider) != QB_OK) return false;
    if (aside.count) memcpy(wider, aside.name, aside.count * sizeof *wider);
    qb__free(aside.name);
    aside.name = wider;
    aside.room = 2 * aside.room + 8;
    return true;
}

bool qb__aside_add(const char *name) {
    char *copy = qb__strdup(name);
    pthread_mutex_lock(&aside.lock);
    bool good = copy && make_room();
    if (good) aside.name[aside.count++] = copy;
    pthread_mutex_unlock(&aside.lock);
    if (!good) qb__free(copy);
    return good;
}

void qb__aside_drop(const char *name) {
    pthread_mutex_lock(&aside.lock);
    size_t i = aside.count;
    while (name && i > 0 && strcmp(aside.name[i - 1], name) != 0) i--;
    if (name && i > 0) {
        qb__free(aside.name[i - 1]);
        aside.name[i - 1] = aside.name[--aside.count];
    }
    if (!aside.count) {
        qb__free(aside.name);
        aside.name = NULL;
        aside.room = 0;
    }
    pthread_mutex_unlock(&aside.lock);
}

qb_status qb__aside_publish(void) {
    pthread_mutex_lock(&aside.lock);
    bool late = aside.abandoned;
    if (!late) aside.publishing++;
    pthread_mutex_unlock(&aside.lock);
    return late ? qb__fail(QB_CANCELLED, "interrupted before the end") : QB_OK;
}

void qb__aside_published(void) {
    pthread_mutex_lock(&aside.lock);
    if (--aside.publishing == 0) pthread_cond_broadcast(&aside.idle);
    pthread_mutex_unlock(&aside.lock);
}

void qb__aside_abandon(void (*remove)(const char *name)) {
    enum { PATIENCE = 5 }; /* seconds, for renames on a disk that has stopped */
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += PATIENCE;
    pthread_mutex_lock(&aside.lock);
    aside.abandoned = true;
    for (int error = 0; aside.publishing && !error;) error = pthread_cond_timedwait(&aside.idle, &aside.lock, &until);
    for (size_t i = 0; i < aside.count && !aside.publishing; i++) remove(aside.name[i]);
    pthread_mutex_unlock(&aside.lock);
}
