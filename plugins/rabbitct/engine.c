/* SPDX-License-Identifier: MIT */
#include "engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/rabbitct_engine.h"

/* Settings from the environment, since neither benchmark passes options on. The runners print only that a call failed,
 * so messages go to stderr. */
static bool wanted_accuracy(qb_accuracy *accuracy) {
    const char *wanted = getenv("RABBITCT_ACCURACY");
    *accuracy = QB_ACCURACY_NORMAL;
    if (!wanted || !*wanted) return true;
    for (int class = QB_ACCURACY_HIGH; class <= QB_ACCURACY_FAST; class ++) {
        if (strcmp(wanted, qb_accuracy_name((qb_accuracy) class)) != 0) continue;
        *accuracy = (qb_accuracy) class;
        return true;
    }
    fprintf(stderr, "quickbeam: RABBITCT_ACCURACY=%s is none of high, normal and fast\n", wanted);
    return false;
}

static bool wanted_threads(int *threads) {
    const char *wanted = getenv("RABBITCT_THREADS");
    char *end;
    *threads = 0;
    if (!wanted || !*wanted) return true;
    const long count = strtol(wanted, &end, 10);
    *threads = (int)count;
    if (!*end && count >= 0 && count <= 4096) return true;
    fprintf(stderr, "quickbeam: RABBITCT_THREADS=%s is no number of threads\n", wanted);
    return false;
}

qb_rabbitct *qb_rabbitct_create(size_t size, size_t columns, size_t rows, float voxel, float origin) {
    const char *device = getenv("RABBITCT_DEVICE");
    qb_accuracy accuracy;
    int threads;
    qb__rabbitct_engine *engine;
    if (!wanted_accuracy(&accuracy) || !wanted_threads(&threads)) return NULL;
    const qb__rabbitct_setup setup = {.size = size,
                                      .columns = columns,
                                      .rows = rows,
                                      .voxel = (double)voxel,
                                      .origin = (double)origin,
                                      .threads = threads,
                                      .device = device && *device ? device : NULL,
                                      .accuracy = accuracy};
    if (qb__rabbitct_engine_create(&setup, &engine) != QB_OK && setup.device)
        fprintf(stderr, "quickbeam: RABBITCT_DEVICE=%s: %s\n", device, qb_detail());
    return (qb_rabbitct *)engine;
}

void qb_rabbitct_destroy(qb_rabbitct *engine) { qb__rabbitct_engine_destroy((qb__rabbitct_engine *)engine); }

bool qb_rabbitct_add(qb_rabbitct *engine, const qb_rabbitct_view *views, size_t count, float *volume) {
    while (count > 0) {
        qb__rabbitct_input some[QB__RABBITCT_GROUP];
        const size_t n = count < QB__RABBITCT_GROUP ? count : QB__RABBITCT_GROUP;
        for (size_t i = 0; i < n; i++) some[i] = (qb__rabbitct_input){views[i].matrix, views[i].image};
        if (qb__rabbitct_engine_add((qb__rabbitct_engine *)engine, some, n, volume) != QB_OK) return false;
        views += n;
        count -= n;
    }
    return true;
}

bool qb_rabbitct_flush(qb_rabbitct *engine, float *volume) {
    return qb__rabbitct_engine_flush((qb__rabbitct_engine *)engine, volume) == QB_OK;
}

const char *qb_rabbitct_kernel(const qb_rabbitct *engine) {
    return qb__rabbitct_engine_kernel((const qb__rabbitct_engine *)engine)->id;
}
