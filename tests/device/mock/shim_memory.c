/* SPDX-License-Identifier: MIT */
#include "shim_opencl.h"

enum { OBJECTS_MAX = 4096 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
    const void *object;
    size_t bytes;
    bool backed;
} objects[OBJECTS_MAX];
static size_t live, peak, unbacked, refused;

bool shim_memory_take(size_t bytes, size_t limit) {
    pthread_mutex_lock(&lock);
    bool fits = bytes <= limit && live <= limit - bytes;
    if (fits) live += bytes;
    if (live > peak) peak = live;
    refused += !fits;
    pthread_mutex_unlock(&lock);
    return fits;
}

void shim_memory_made(void *object, size_t bytes, bool backed) {
    size_t i = 0;
    pthread_mutex_lock(&lock);
    while (i < OBJECTS_MAX && objects[i].object) i++;
    if (object && i < OBJECTS_MAX) {
        objects[i].object = object;
        objects[i].bytes = bytes;
        objects[i].backed = backed;
        unbacked += !backed;
    } else if (!object && backed) {
        live -= bytes;
    }
    pthread_mutex_unlock(&lock);
}

void shim_memory_gone(const void *object) {
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < OBJECTS_MAX; i++) {
        if (objects[i].object != object) continue;
        objects[i].object = NULL;
        if (objects[i].backed) live -= objects[i].bytes;
        unbacked -= !objects[i].backed;
        break;
    }
    pthread_mutex_unlock(&lock);
}

bool shim_memory_lacks(const void *object) {
    pthread_mutex_lock(&lock);
    bool lacks = !object && unbacked;
    for (size_t i = 0; object && i < OBJECTS_MAX && !lacks; i++)
        lacks = objects[i].object == object && !objects[i].backed;
    pthread_mutex_unlock(&lock);
    return lacks;
}

void shim_memory_report(FILE *file) {
    fprintf(file, "peak_bytes %zu\nlive_bytes %zu\nrefused %zu\n", peak, live, refused);
}
