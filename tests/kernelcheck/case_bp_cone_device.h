/* SPDX-License-Identifier: MIT */
#ifndef KERNELCHECK_CASE_BP_CONE_DEVICE_H
#define KERNELCHECK_CASE_BP_CONE_DEVICE_H

#include "kernelcheck.h"
#include "kernels/bp_cone/bp_cone_device.h"

/* The ceiling is what the performance model predicts. */
bool bp_cone_device_bench(const qb__bp_cone_device_variant *variant, qb__device *device,
                          size_t number, const options *o, measurement *m);

#endif
