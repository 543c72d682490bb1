/* SPDX-License-Identifier: MIT */
#pragma once

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
