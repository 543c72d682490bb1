/* SPDX-License-Identifier: MIT */
/* variantcheck [ARCH [FILTER]]: plans every device variant of every operation with each legal value of each parameter
 * (one changed at a time; with QB_QUICK=1 the first values alone) on the mock CUDA driver, so that the real NVRTC
 * compiles each of them for the chip ARCH (90). Everything that a tuner may choose must at least compile. Prints one
 * line when a variant is done. Exit code 77 where there is no NVRTC. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cpu/features.h"
#include "device/cuda_api.h"
#include "mock/mock_library.h"
#include "mock/mock_cuda.h"
#include "planner/variants.h"

enum { WORKERS_MAX = 64 };

typedef qb__variant variant;
typedef struct tally {
    int compiled, unusable, failed;
} tally;

static void try_values(qb__device *device, const variant *row, const void *usual, const int *values, tally *t) {
    if (row->unusable && row->unusable(qb__device_info_of(device), usual, values)) {
        t->unusable++;
        return;
    }
    if (qb__operation_of(row->operation)->plan(device, row, usual, values) == QB_OK) {
        t->compiled++;
        return;
    }
    t->failed++;
    printf("%s", row->id);
    for (int p = 0; p < QB__PARAMETERS_MAX && row->parameters[p].name; p++) {
        printf(" %s=%d", row->parameters[p].name, values[p]);
    }
    printf(": %s\n", qb_detail());
}

static void try_all_values(qb__device *device, const variant *row, const void *usual, bool quick, tally *t) {
    int values[QB__PARAMETERS_MAX] = {0};
    for (int p = 0; p < QB__PARAMETERS_MAX && row->parameters[p].name; p++) {
        values[p] = row->parameters[p].values[0];
    }
    try_values(device, row, usual, values, t);
    for (int p = 0; p < QB__PARAMETERS_MAX && row->parameters[p].name && !quick; p++) {
        for (int v = 1; v < row->parameters[p].count; v++) {
            values[p] = row->parameters[p].values[v];
            try_values(device, row, usual, values, t);
        }
        values[p] = row->parameters[p].values[0];
    }
}

/* A variant may take minutes, so each prints a line when it is done. */
static void try_variant(qb__device *device, const variant *row, bool quick, tally *all) {
    struct timespec from, to;
    tally t = {0};
    const qb__operation_row *operation = qb__operation_of(row->operation);
    void *usual;
    if (operation->usual(&usual) != QB_OK) abort();
    clock_gettime(CLOCK_MONOTONIC, &from);
    try_all_values(device, row, usual, quick, &t);
    clock_gettime(CLOCK_MONOTONIC, &to);
    operation->forget(usual);
    printf("%-44s %4d compiled, %4d unusable, %d failed, %5.1f s\n", row->id, t.compiled, t.unusable, t.failed,
           (double)(to.tv_sec - from.tv_sec) + 1e-9 * (double)(to.tv_nsec - from.tv_nsec));
    fflush(stdout);
    all->compiled += t.compiled;
    all->unusable += t.unusable;
    all->failed += t.failed;
}

/* Compiles this worker's share of the variants and returns its exit code. */
static int work(int worker, int workers, int arch, const char *filter) {
    const char *flag = getenv("QB_QUICK");
    bool quick = flag && !strcmp(flag, "1");
    tally t = {0};
    qb__device *device;
    void *mock = dlopen(mock_cuda_path(), RTLD_NOW);
    mock_cuda_state *state = mock ? dlsym(mock, "mock_cuda") : NULL;
    if (!state) return 1;
    state->arch = arch;
    state->any_code = 1;
    if (qb__device_open("cuda", &device) != QB_OK) {
        printf("%s\n", qb_detail());
        return 1;
    }
    const variant *row;
    for (int n = 0, mine = 0; n < QB__OPERATIONS; n++)
        for (size_t i = 0; (row = qb__variant_at((qb__operation)n, true, i)) != NULL; i++) {
            if (!(row->apis & QB__API_CUDA)) continue;
            if (filter && !strstr(row->id, filter)) continue;
            if (mine++ % workers == worker) try_variant(device, row, quick, &t);
        }
    qb__device_close(device);
    printf("sm_%d, worker %d: %d compiled, %d unusable, %d failed\n", arch, worker, t.compiled, t.unusable, t.failed);
    return t.failed != 0 || state->modules != 0 || state->allocations != 0;
}

int main(int argc, char **argv) {
    int arch = argc > 1 ? atoi(argv[1]) : 90, workers = qb__cpu_count(), failed = 0;
    char why[400];
    if (!qb__nvrtc_open(0, why, sizeof why)) {
        printf("not run: %s\n", why);
        return 77;
    }
    if (workers > WORKERS_MAX) workers = WORKERS_MAX;
    setenv("QB_LIBCUDA", mock_cuda_path(), 1);
    setenv("QB_LIBOPENCL", "", 1);
    setenv("QB_CACHE_DIR", "", 1);
    for (int w = 0; w < workers; w++) {
        fflush(NULL);
        pid_t child = fork();
        if (child < 0) return 1;
        if (child == 0) exit(work(w, workers, arch, argc > 2 ? argv[2] : NULL));
    }
    for (int status; wait(&status) > 0;) failed |= !WIFEXITED(status) || WEXITSTATUS(status);
    return failed;
}
