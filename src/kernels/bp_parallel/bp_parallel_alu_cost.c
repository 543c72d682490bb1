/* SPDX-License-Identifier: MIT */
#include "bp_parallel_alu.h"

/* The arithmetic family in the performance model: instructions and registers counted in the machine code for sm_90,
 * then fitted where counts do not tell the cost (conversions, bank conflicts, waits); see bench/notes/paper.md for the
 * accuracy. */

/* Lane instructions per pixel and view: finding its position in the cache. */
static double coordinate_cost(const qb__alu *alu) {
    static const double linear[] = {10.0, 6.0, 7.0}; /* indexed by ROUND */
    if (alu->interp != QB_INTERP_LINEAR) return 4.6;
    return linear[alu->round] - (alu->difference ? 2.0 : 0.0) + (alu->half == 2 ? 2.0 : 0.0);
}

/* Lane instructions per pixel, view and slice: interpolation, sum, and conversions of half precision. */
static double slice_cost(const qb__alu *alu) {
    static const double linear[] = {3.0, 7.0, 2.7}, nearest[] = {1.0, 2.6, 1.65}; /* indexed by HALF */
    if (alu->interp != QB_INTERP_LINEAR) return nearest[alu->half];
    return alu->difference ? 2.0 : linear[alu->half];
}

/* Registers that the compiler uses if it is free to load ahead; on average within 9 of those of the machine code. */
static double registers(const qb__alu *alu) {
    static const double form[] = {64.0, 44.0, 64.0}, sum[] = {0.9, 0.9, 1.5}; /* indexed by HALF */
    const bool linear = alu->interp == QB_INTERP_LINEAR;
    const double sums = (double)alu->pixels * alu->slices;
    if (alu->interp == QB_INTERP_OVERSAMPLE) return 48.0 + alu->pixels + sums;
    double count = form[alu->half] + alu->pixels * (linear ? 1.7 : 0.9) + sum[alu->half] * sums;
    /* The turns of all cached views are loaded at once; a floor's conversions wait in registers. */
    if (linear && alu->cache == 1) count += 65.0;
    if (linear && alu->round == 0 && alu->half < 2) count += 130.0 / alu->slices;
    return count;
}

/* A round is VIEWS views of an area: teams of threads fetch bins, one view each at a time, then all threads sum. A
 * memory access with its barrier takes 1,000 clocks, the last warps of a round 700, by fit. */
static qb__kernel_groups groups(const qb__bp_parallel_problem *problem, unsigned slices, const qb__alu *alu) {
    const size_t area = (size_t)alu->area, teams = qb__alu_threads(alu) / qb__alu_team(alu);
    const size_t trips = qb__ceil_div((size_t)alu->views, teams ? teams : 1);
    const double sums = (double)alu->pixels * alu->slices;
    return (qb__kernel_groups){
        .count = (double)(qb__ceil_div(problem->nx, area) * qb__ceil_div(problem->ny, area) *
                          qb__ceil_div(slices, (size_t)alu->slices)),
        .items = (double)qb__alu_threads(alu),
        .local_bytes = qb__alu_local_bytes(problem, alu),
        .registers = registers(alu),
        .registers_least = 24.0 + 1.375 * sums,
        .sums = sums,
        .blocks = alu->blocks,
        .round = (double)(area * area) * alu->slices * alu->views,
        .wait = 700.0 + 1000.0 * (double)trips,
    };
}

void qb__alu_cost(const qb__bp_parallel_problem *problem, unsigned slices, const qb__alu *alu, qb__kernel_cost *cost) {
    const bool over = alu->interp == QB_INTERP_OVERSAMPLE;
    const int width = alu->width ? alu->width : alu->slices;
    const double s = alu->slices, area = (double)alu->area * alu->area;
    const double samples = (double)qb__alu_bins(problem, alu);
    const double element = (double)qb__alu_element_bytes(alu);
    const double reads = alu->interp != QB_INTERP_LINEAR || alu->difference ? 1.0 : 2.0;
    /* Oversampled neighbours are four elements apart, which causes bank conflicts. */
    const double conflicts = !over ? 1.0 : width == 1 ? 1.6 : 2.0;
    /* Per view and area: filling the cache; per view and thread: the first coordinate. */
    const double fill = samples * (over ? 25.0 : 6.0) / area;
    const double per_thread = (alu->interp != QB_INTERP_LINEAR ? 10.0 : 4.0) / alu->pixels;
    *cost = (qb__kernel_cost){
        .local_bytes = reads * element * conflicts + samples * element / area +
                       (alu->interp != QB_INTERP_LINEAR ? 1.0 : 0.5) / alu->pixels / s,
        .arithmetic =
            (coordinate_cost(alu) + reads * s / width * (over ? 1.3 : 1.0) + per_thread + fill) / s + slice_cost(alu),
        .l2_bytes = samples / (over ? QB__OVERSAMPLE : 1) * (alu->half ? 2.0 : 4.0) / area,
        .memory_bytes = 4.0 / (double)problem->views,
        .launches = 1.0,
        .groups = groups(problem, slices, alu),
    };
}
