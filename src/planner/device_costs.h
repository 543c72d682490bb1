/* SPDX-License-Identifier: MIT */
#ifndef QB_PLANNER_DEVICE_COSTS_H
#define QB_PLANNER_DEVICE_COSTS_H

#include "device/device.h"
#include "quickbeam/env.h"

/* What a device costs a job besides computing: what `qb tune` measured and keeps in the tuning file,
 * {"device": ..., "start_seconds": ..., ...}, else what such devices took where we had one. */
typedef struct qb__device_costs {
    double start;    /* s from nothing to a device that can be given work */
    double compile;  /* seconds to compile a program */
    double load;     /* seconds to load a program from the cache */
    double up, down; /* bytes a second to and from page-locked memory */
    double lock;     /* bytes of host memory that are page-locked in a second */
    bool measured;   /* start and compile are */
} qb__device_costs;

void qb__device_costs_of(const qb__device_info *device, qb__device_costs *costs);
/* The shortest start of any device, asked before one is opened; 0 where env names one. */
double qb__device_least_start(const qb_env *env);
/* Measure what a tuned device is still asked for, and keep it; `start` and `compile` come from who
 * opened it and compiled on it, 0 = not known. */
qb_status qb__device_costs_measure(qb__device *device, double start, double compile, const qb_env *env);

/* Seconds that `work` of computing takes with transfers under way beside it, in `chunks` chunks: the
 * first chunk's way up and the last one's way down are not hidden. */
double qb__device_streaming(const qb__device_costs *costs, double work, double up_bytes, double down_bytes,
                            double chunks);

#endif
