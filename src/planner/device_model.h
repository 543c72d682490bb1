/* SPDX-License-Identifier: MIT */
#pragma once

#include "device/device.h"
#include "base/variant.h"

/* Rates of each unit of a device, and limits of a multiprocessor: the device's part of the performance model. A kernel
 * takes as long as its busiest unit (section 6.5 of the parallel back-projection paper, generalised to all units), or
 * longer if too few groups run to keep it busy. Listed per multiprocessor and clock for known chips, scaled by the
 * device's number of multiprocessors and clock. */
enum {
    QB__UNIT_TEXTURE,
    QB__UNIT_LOCAL,
    QB__UNIT_ARITHMETIC,
    QB__UNIT_TENSOR,
    QB__UNIT_L2,
    QB__UNIT_MEMORY,
    QB__UNIT_WAITING, /* not a unit: groups that wait between their rounds */
    QB__UNITS
};

typedef struct qb__device_model {
    double rate[QB__UNITS]; /* per second: texels, bytes, lane instructions, FLOP, bytes, bytes */
    bool known;             /* the chip is in the table; else a cautious guess */
    bool asks;              /* a launch can ask for a number of groups per multiprocessor (CUDA) */
    double clock, multiprocessors;
    /* Limits of a multiprocessor: registers, items, groups, shared memory, shared memory plus level-1 cache. registers
     * = 0: a CPU, where groups do not matter. */
    double registers, items, groups, shared_bytes, near_bytes;
} qb__device_model;

extern const char *const qb__unit_names[QB__UNITS];

void qb__device_model_of(const qb__device_info *device, qb__device_model *model);

/* Seconds of `updates` updates with that cost; seconds[] (may be NULL) gets the time of each unit alone, *bottleneck
 * the slowest unit. */
double qb__device_predict(const qb__device_model *model, const qb__kernel_cost *cost, double updates,
                          double seconds[QB__UNITS], int *bottleneck);

/* Occupancy of a multiprocessor (device_occupancy.c): groups that are resident at a time, limited by registers, shared
 * memory and the launch's size; bytes per update of spilled sums in the level-1 cache, and the share of them that
 * reaches L2. */
typedef struct qb__occupancy {
    double groups, spilled_bytes, spilled_far;
} qb__occupancy;
qb__occupancy qb__device_occupancy(const qb__device_model *model, const qb__kernel_groups *groups);

/* Slow-down of `resident` groups on one multiprocessor that work for `busy` and then wait for `wait`, relative to no
 * waiting. */
double qb__device_turns(double resident, double busy, double wait);
