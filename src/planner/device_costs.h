/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/variant.h"
#include "device/device.h"
#include "quickbeam/env.h"

/* Costs of a device besides computing: measured by `qb tune` and kept in the tuning file as {"device": ...,
 * "start_seconds": ..., ...}, else those of similar devices. */
typedef struct qb__device_costs {
    double start;    /* seconds to open the device */
    double compile;  /* seconds to compile a program */
    double load;     /* seconds to load a program from the cache */
    double up, down; /* bytes/s to and from page-locked memory */
    double lock;     /* bytes of host memory that are page-locked per second */
    bool measured;   /* start and compile were measured */
} qb__device_costs;

void qb__device_costs_of(const qb__device_info *device, qb__device_costs *costs);
/* The shortest start of any device, used before one is opened; 0 if env names a device. */
double qb__device_least_start(const qb_env *env);
/* Measure the costs of a tuned device that are still unknown, and store them. `start` and `compile` come from the
 * caller, who opened the device and compiled for it; 0 = unknown. */
qb_status qb__device_costs_measure(qb__device *device, double start, double compile, const qb_env *env);

/* Seconds of `work` of computing with overlapped transfers in `chunks` chunks: the upload of the first and the download
 * of the last chunk are not hidden. */
double qb__device_streaming(const qb__device_costs *costs, double work, double up_bytes, double down_bytes,
                            double chunks);

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
