/* SPDX-License-Identifier: MIT */
/* The kernels to check: the planner's table, on this computer and on each device found. */
#include <pthread.h>
#include <stdlib.h>

#include "base/status.h"
#include "cases.h"
#include "cpu/features.h"
#include "planner/variants.h"

enum { SUBJECTS_MAX = 512, DEVICES_MAX = 8 };

static struct {
    subject of[SUBJECTS_MAX];
    size_t count;
} all;

/* True if some plain problem can be computed with some parameters. */
static bool can(const qb__variant *row, const qb__device_info *info, const void *usual) {
    int values[QB__PARAMETERS_MAX];
    if (!(row->apis & (unsigned)info->api)) return false;
    for (size_t n = 0; n < qb__parameter_combinations(row); n++) {
        qb__parameter_combination(row, n, values);
        if (!row->unusable || !row->unusable(info, usual, values)) return true;
    }
    return false;
}

static void add(const qb__variant *row, qb__device *device, const qb__device_info *info, const void *usual) {
    const operation_cases *of = &cases[row->operation];
    if (all.count == SUBJECTS_MAX) abort();
    subject *s = &all.of[all.count++];
    *s = (subject){.row = row, .device = device, .test = info ? of->devices : of->cpu};
    snprintf(s->id, sizeof s->id, info ? "%s@%s" : "%s", row->id, info ? info->spec : "");
    s->here = info ? device && can(row, info, usual) : !(row->features & ~qb__cpu_features());
    s->costly = info && info->is_cpu;
}

static void add_device(const qb__device_info *info) {
    qb__device *device = NULL;
    const qb__variant *row;
    if (qb__device_open(info->spec, &device) != QB_OK) fprintf(stderr, "%s: %s\n", info->spec, qb_detail());
    for (int n = 0; n < QB__OPERATIONS; n++) {
        const qb__operation_row *operation = qb__operation_of((qb__operation)n);
        void *usual;
        if (operation->usual(&usual) != QB_OK) abort();
        for (size_t i = 0; (row = qb__variant_at((qb__operation)n, true, i)) != NULL; i++)
            add(row, device, info, usual);
        operation->forget(usual);
    }
}

static void collect(void) {
    const qb__device_info *list;
    const qb__variant *row;
    size_t devices;
    for (int n = 0; n < QB__OPERATIONS; n++)
        for (size_t i = 0; (row = qb__variant_at((qb__operation)n, false, i)) != NULL; i++) add(row, NULL, NULL, NULL);
    if (qb__device_list(&list, &devices) != QB_OK) return;
    for (size_t d = 0; d < devices && d < DEVICES_MAX; d++) add_device(&list[d]);
}

const subject *subjects(size_t *count) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, collect);
    *count = all.count;
    return all.of;
}
