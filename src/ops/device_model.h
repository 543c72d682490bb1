/* SPDX-License-Identifier: MIT */
#ifndef QB_OPS_DEVICE_MODEL_H
#define QB_OPS_DEVICE_MODEL_H

#include "device/device.h"
#include "kernels/bp_parallel_device.h"

/* What each unit of a device does in a second: the other half of the performance model, in which a
 * kernel takes as long as its busiest unit (section 6.5 of the parallel back-projection paper,
 * generalised to every unit). Listed per multiprocessor and clock for the chips we know, scaled by
 * the device's own multiprocessors and clock. */
enum {
    QB__UNIT_TEXTURE,
    QB__UNIT_LOCAL,
    QB__UNIT_ARITHMETIC,
    QB__UNIT_TENSOR,
    QB__UNIT_L2,
    QB__UNIT_MEMORY,
    QB__UNITS
};

typedef struct qb__device_model {
    double rate[QB__UNITS]; /* texels, bytes, lane instructions, FLOP, bytes, bytes a second */
    bool known;             /* the chip is in the table; else a cautious guess */
} qb__device_model;

extern const char *const qb__unit_names[QB__UNITS];

void qb__device_model_of(const qb__device_info *device, qb__device_model *model);

/* Seconds that each unit needs for `updates` updates of that cost; returns the largest, its unit in
 * *bottleneck. seconds may be NULL. */
double qb__device_predict(const qb__device_model *model, const qb__kernel_cost *cost,
                          double updates, double seconds[QB__UNITS], int *bottleneck);

#endif
