/* SPDX-License-Identifier: MIT */
/* What the benchmarks share: a clock, a median, noise, a scan. */
#include "ops/bench.h"

#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "base/memory.h"
#include "base/status.h"
#include "geometry/parallel.h"

double qb__bench_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double qb__median(double *values, size_t count) {
    qsort(values, count, sizeof *values, ascending);
    return count % 2 ? values[count / 2] : 0.5 * (values[count / 2 - 1] + values[count / 2]);
}

void qb__noise(float *values, size_t count, unsigned long long seed) {
    for (size_t i = 0; i < count; i++) {
        unsigned long long z = (seed + i + 1) * 0x9e3779b97f4a7c15ull; /* splitmix64 */
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
        z = (z ^ z >> 27) * 0x94d049bb133111ebull;
        values[i] = (float)((double)((z ^ z >> 31) >> 11) * 0x1p-52 - 1.0);
    }
}

qb_status qb__bench_half_turn(qb__bp_parallel_problem *problem, double **coefficients) {
    size_t views = problem->views, columns = problem->columns;
    const qb_grid grid = {.n = {problem->nx, problem->ny, 1}, .voxel = {1, 1, 1}};
    double *angles = NULL, *rows = NULL;
    qb_geometry geometry = {0};
    qb_status status;
    QB__TRY(qb__alloc(3 * views, sizeof *rows, &rows));
    QB__TRY(qb__alloc(views, sizeof *angles, &angles));
    for (size_t v = 0; v < views; v++) angles[v] = M_PI * (double)v / (double)views;
    QB__TRY(
        qb_geometry_parallel(views, angles, 1, columns, 1.0, ((double)columns - 1) / 2, &geometry));
    problem->ax = rows;
    problem->ay = rows + views;
    problem->h0 = rows + 2 * views;
    status = qb__parallel_rows(&geometry, &grid, rows, rows + views, rows + 2 * views);
out:
    *coefficients = rows;
    qb_geometry_destroy(&geometry);
    qb__free(angles);
    return status;
}
