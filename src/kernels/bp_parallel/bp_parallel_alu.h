/* SPDX-License-Identifier: MIT */
#pragma once

#include "bp_parallel_layout.h"

/* bp_parallel_alu.cl with all its macros: rows of the arithmetic family set the first twelve, rows of the hybrid family
 * also the others. */
typedef struct qb__alu {
    qb_interp interp;
    int slices, half, width, difference, write64, area, pixels, views, round, cache, blocks;
    int texture_share, balance;
} qb__alu;

/* Reason why the device cannot run it; NULL: it can. */
const char *qb__alu_unusable(const qb__device_info *device, const qb__bp_parallel_problem *problem, const qb__alu *alu);
/* Threads that cache a view; threads of a group. */
size_t qb__alu_team(const qb__alu *alu);
size_t qb__alu_threads(const qb__alu *alu);
/* Samples of a view that an area may need, and bytes of a cached element of one thread. */
size_t qb__alu_bins(const qb__bp_parallel_problem *problem, const qb__alu *alu);
size_t qb__alu_element_bytes(const qb__alu *alu);
/* Upper limit of the local memory of a group. */
double qb__alu_local_bytes(const qb__bp_parallel_problem *problem, const qb__alu *alu);
/* Cost of an update; `slices`: slices of the pass. */
void qb__alu_cost(const qb__bp_parallel_problem *problem, unsigned slices, const qb__alu *alu, qb__kernel_cost *cost);
qb_status qb__alu_plan(qb__device *device, const qb__bp_parallel_problem *problem, unsigned slices, const qb__alu *alu,
                       qb__bp_parallel_plan **plan);
/* Number of the kernel's arguments that both families have. */
enum { QB__ALU_ARGS = 11 };
typedef struct qb__alu_args {
    int32_t views, columns, nx, ny, slices;
    uint64_t undo_at, out_at;
    qb__arg list[QB__ALU_ARGS + 5];
} qb__alu_args;
void qb__alu_fill(const qb__bp_parallel_plan *plan, const qb__memory *packed, unsigned slices, qb__memory *out,
                  size_t offset, qb__alu_args *args);
