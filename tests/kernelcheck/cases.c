/* SPDX-License-Identifier: MIT */
#include "cases.h"

/* A new operation adds its line here. */
const operation_cases cases[QB__OPERATIONS] = {
    [QB__BP_PARALLEL] = {&bp_parallel_case, &bp_device_case},
    [QB__BP_CONE] = {&bp_cone_case, &bp_cone_device_case},
    [QB__PROJECT_JOSEPH] = {&project_joseph_case, &project_joseph_device_case},
    [QB__ICD] = {&icd_case, &icd_device_case},
};
