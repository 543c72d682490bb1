/* SPDX-License-Identifier: MIT */
#ifndef KERNELCHECK_CASES_H
#define KERNELCHECK_CASES_H

#include "kernelcheck.h"

/* Cases for the CPU's kernels, and for the devices'; NULL where there are none. */
typedef struct operation_cases {
    const kernel_case *cpu, *devices;
} operation_cases;
extern const operation_cases cases[QB__OPERATIONS];

extern const kernel_case bp_parallel_case, bp_device_case, bp_cone_case, bp_cone_device_case, project_joseph_case,
    project_joseph_device_case, icd_case, icd_device_case;

#endif
