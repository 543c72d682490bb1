/* SPDX-License-Identifier: MIT */
/* Line integrals of the views of a running scan. Workers compute them while further views come. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "live_parts.h"
#include "prep/frames.h"

enum { HUGE_FROM = 64 << 20 };

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

/* Makes the line integrals of a slot, until it has no newer view. The caller holds the lock. */
static void work_on(view_live *l, size_t slot) {
    while (l->raw[slot].values) {
        const size_t view = l->raw_of[slot], scan = l->restarts;
        view_pixels pixels = view_pixels_take(&l->raw[slot]);
        pthread_mutex_unlock(&l->lock);
        integrate(l, pixels.values, l->lines + slot * l->rows * l->columns);
        view_pixels_release(&pixels);
        pthread_mutex_lock(&l->lock);
        if (l->restarts != scan) continue;
        l->view_of[slot] = view;
        l->seen++;
        l->version++;
    }
    l->queued[slot] = false;
}

static void *work(void *given) {
    view_live *l = given;
    pthread_mutex_lock(&l->lock);
    while (!__atomic_load_n(&l->ending, __ATOMIC_ACQUIRE)) {
        if (l->waiting) {
            const size_t slot = l->queue[l->head];
            l->head = (l->head + 1) % l->slots;
            l->waiting--;
            work_on(l, slot);
        } else {
            pthread_cond_wait(&l->more, &l->lock);
        }
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

void view_lines_take(view_live *l, size_t number, view_pixels *pixels) {
    const size_t slot = number % l->slots;
    view_pixels unused = {0};
    if (!l->rolling && number >= l->slots) return;
    pthread_mutex_lock(&l->lock);
    const bool old = l->raw_of[slot] > number + 1; /* A view of a later turn already has the slot */
    l->late += number + 1 < l->end;
    if (number + 1 > l->end) l->end = number + 1;
    l->received++;
    l->newest = now();
    if (l->received == 1) l->first = l->newest;
    if (!old) {
        unused = view_pixels_take(&l->raw[slot]);
        l->raw[slot] = view_pixels_take(pixels);
        l->raw_of[slot] = number + 1;
    }
    /* A view without line integrals counts as seen where a view of a later turn has its slot. */
    l->seen += old || unused.values;
    if (!old && !l->queued[slot]) {
        l->queued[slot] = true;
        l->queue[(l->head + l->waiting++) % l->slots] = slot;
        pthread_cond_signal(&l->more);
    }
    pthread_mutex_unlock(&l->lock);
    view_pixels_release(&unused);
}

void view_lines_forget(view_live *l) {
    memset(l->raw_of, 0, l->slots * sizeof *l->raw_of);
    for (size_t i = 0; i < l->slots; i++) view_pixels_release(&l->raw[i]);
}

/* Memory for the line integrals of all views, in huge pages where the system has them: small pages take longer to come. */
static void alloc_lines(view_live *l) {
    const size_t bytes = l->slots * l->rows * l->columns * sizeof *l->lines, page = (size_t)sysconf(_SC_PAGESIZE);
    l->lines = calloc(l->slots, l->rows * l->columns * sizeof *l->lines);
    const uintptr_t end = (uintptr_t)l->lines + bytes, begin = ((uintptr_t)l->lines + page - 1) / page * page;
    if (l->lines && bytes >= HUGE_FROM) madvise((void *)begin, end - begin, MADV_HUGEPAGE);
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
    alloc_lines(l);
    l->raw = calloc(l->slots, sizeof *l->raw);
    l->queued = calloc(l->slots, sizeof *l->queued);
    l->view_of = calloc(l->slots, sizeof *l->view_of);
    l->raw_of = calloc(l->slots, sizeof *l->raw_of);
    l->queue = calloc(l->slots, sizeof *l->queue);
    if (!l->lines || !l->raw || !l->queued || !l->view_of || !l->raw_of || !l->queue) return QB_NO_MEMORY;
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
    for (size_t i = 0; l->raw && i < l->slots; i++) view_pixels_release(&l->raw[i]);
    free(l->lines);
    free(l->raw);
    free(l->queued);
    free(l->view_of);
    free(l->raw_of);
    free(l->queue);
}
