/* SPDX-License-Identifier: MIT */
#ifndef QB_PLANNER_DEVICE_MODEL_H
#define QB_PLANNER_DEVICE_MODEL_H

#include "device/device.h"
#include "base/variant.h"

/* What each unit of a device does in a second, and what a multiprocessor holds: the other half of
 * the performance model. A kernel takes as long as its busiest unit (section 6.5 of the parallel
 * back-projection paper, generalised to every unit), longer where too few groups are under way to
 * keep it busy. Listed per multiprocessor and clock for the chips we know, scaled by the device's
 * own multiprocessors and clock. */
enum {
    QB__UNIT_TEXTURE,
    QB__UNIT_LOCAL,
    QB__UNIT_ARITHMETIC,
    QB__UNIT_TENSOR,
    QB__UNIT_L2,
    QB__UNIT_MEMORY,
    QB__UNIT_WAITING, /* no unit: the groups that fit, each waiting between its rounds */
    QB__UNITS
};

typedef struct qb__device_model {
    double rate[QB__UNITS]; /* texels, bytes, lane instructions, FLOP, bytes, bytes a second */
    bool known;             /* the chip is in the table; else a cautious guess */
    bool asks;              /* a launch can ask for groups on a multiprocessor (CUDA) */
    double clock, multiprocessors;
    /* Of a multiprocessor: registers, items, groups, shared memory, shared memory plus level-1 cache. registers = 0: a processor, where
     * groups do not matter. */
    double registers, items, groups, shared_bytes, near_bytes;
} qb__device_model;

extern const char *const qb__unit_names[QB__UNITS];

void qb__device_model_of(const qb__device_info *device, qb__device_model *model);

/* Seconds that `updates` updates of that cost take; in seconds[], which may be NULL, what each unit
 * alone would, and in *bottleneck which of them takes longest. */
double qb__device_predict(const qb__device_model *model, const qb__kernel_cost *cost, double updates,
                          double seconds[QB__UNITS], int *bottleneck);

/* What runs side by side on a multiprocessor (device_occupancy.c): groups there at a time, as
 * registers, shared memory and the launch's size allow; bytes an update that sums outside of
 * registers cost the level-1 memory, and the share of them that goes on to L2. */
typedef struct qb__occupancy {
    double groups, spilled_bytes, spilled_far;
} qb__occupancy;
qb__occupancy qb__device_occupancy(const qb__device_model *model, const qb__kernel_groups *groups);

/* How many times longer than without waiting `resident` groups take that work `busy` and wait
 * `wait` in turns, on one multiprocessor. */
double qb__device_turns(double resident, double busy, double wait);

#endif
