/* SPDX-License-Identifier: MIT */
#ifndef KERNELCHECK_CASE_PROJECT_JOSEPH_DEVICE_H
#define KERNELCHECK_CASE_PROJECT_JOSEPH_DEVICE_H

#include "base/variant.h"
#include "device/device.h"
#include "kernelcheck.h"

/* bench_project_joseph_device.c */
bool project_joseph_device_bench(const qb__variant *variant, qb__device *device, size_t number, const options *o,
                                 measurement *m);

#endif
