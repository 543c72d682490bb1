/* SPDX-License-Identifier: MIT */
/* Line integrals of the views of a running scan. Workers compute them while further views come. */
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "live_parts.h"
#include "prep/frames.h"

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void integrate(const view_live *l, const void *values, float *out) {
    const size_t n = l->rows * l->columns;
    if (l->quantity == QB_LINE_INTEGRAL)
        qb_convert_to_float(values, l->dtype, n, out);
    else
        qb_tool_frame_lines(values, l->dtype, n, l->dark, l->gain, out);
}

static void *work(void *given) {
    view_live *l = given;
    const size_t n = l->rows * l->columns, size = qb_dtype_size(l->dtype);
    pthread_mutex_lock(&l->lock);
    for (;;) {
        while (!l->waiting && !__atomic_load_n(&l->ending, __ATOMIC_ACQUIRE)) pthread_cond_wait(&l->more, &l->lock);
        if (__atomic_load_n(&l->ending, __ATOMIC_ACQUIRE)) break;
        const size_t slot = l->queue[l->head], view = l->raw_of[slot];
        l->head = (l->head + 1) % l->slots;
        l->waiting--;
        if (!view) continue;
        pthread_mutex_unlock(&l->lock);
        integrate(l, l->raw + slot * n * size, l->lines + slot * n);
        pthread_mutex_lock(&l->lock);
        if (l->raw_of[slot] != view) continue; /* A later view has replaced the raw data meanwhile */
        l->view_of[slot] = view;
        l->seen++;
        l->version++;
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

void view_lines_take(view_live *l, size_t number, const void *values) {
    const size_t bytes = l->rows * l->columns * qb_dtype_size(l->dtype), slot = number % l->slots;
    if (!l->rolling && number >= l->slots) return;
    pthread_mutex_lock(&l->lock);
    const bool old = l->raw_of[slot] > number + 1; /* A view of a later turn already has the slot */
    if (!old) l->raw_of[slot] = 0;
    pthread_mutex_unlock(&l->lock);
    if (!old) memcpy(l->raw + slot * bytes, values, bytes);
    pthread_mutex_lock(&l->lock);
    l->late += number + 1 < l->end;
    if (number + 1 > l->end) l->end = number + 1;
    l->received++;
    l->seen += old; /* A late view counts as seen: no line integrals are made of it */
    l->newest = now();
    if (l->received == 1) l->first = l->newest;
    if (!old) {
        l->raw_of[slot] = number + 1;
        if (l->waiting < l->slots) l->queue[(l->head + l->waiting++) % l->slots] = slot;
        pthread_cond_signal(&l->more);
    }
    pthread_mutex_unlock(&l->lock);
}

void view_lines_forget(view_live *l) {
    memset(l->raw_of, 0, l->slots * sizeof *l->raw_of);
    l->waiting = 0;
}

qb_status view_lines_open(view_live *l) {
    const size_t bytes = l->rows * l->columns * (sizeof(float) + qb_dtype_size(l->dtype));
    const size_t most = l->c->env.max_ram ? l->c->env.max_ram : SIZE_MAX;
    const long cpus = sysconf(_SC_NPROCESSORS_ONLN);
    const int threads = l->c->env.threads > 0 ? l->c->env.threads : cpus > 0 ? (int)cpus : 1;
    if (l->slots < 2 || l->slots > most / bytes)
        return complain(QB_BAD_ARGUMENT,
                        "%zu views of %zu x %zu pixels do not fit memory: give --bin 2, or more --max-ram", l->slots,
                        l->rows, l->columns);
    l->lines = calloc(l->slots, l->rows * l->columns * sizeof(float));
    l->raw = calloc(l->slots, l->rows * l->columns * qb_dtype_size(l->dtype));
    l->view_of = calloc(l->slots, sizeof *l->view_of);
    l->raw_of = calloc(l->slots, sizeof *l->raw_of);
    l->queue = calloc(l->slots, sizeof *l->queue);
    if (!l->lines || !l->raw || !l->view_of || !l->raw_of || !l->queue) return QB_NO_MEMORY;
    while (l->workers < threads && l->workers < VIEW_LIVE_WORKERS &&
           pthread_create(&l->worker[l->workers], NULL, work, l) == 0)
        l->workers++;
    return l->workers ? QB_OK : complain(QB_INTERNAL, "no thread can be started");
}

void view_lines_close(view_live *l) {
    pthread_mutex_lock(&l->lock);
    pthread_cond_broadcast(&l->more);
    pthread_mutex_unlock(&l->lock);
    for (int i = 0; i < l->workers; i++) pthread_join(l->worker[i], NULL);
    free(l->lines);
    free(l->raw);
    free(l->view_of);
    free(l->raw_of);
    free(l->queue);
}
