/* SPDX-License-Identifier: MIT */
#include "cases.h"

/* A new kernel adds its case here and, when its variants have a table of their own, that table. */
const kernel_case *const cases[] = {&bp_parallel_linear_case,
                                    &bp_parallel_nearest_case,
                                    &bp_device_linear_case,
                                    &bp_device_nearest_case,
                                    &bp_device_oversample_case,
                                    &bp_cone_circular_case,
                                    &bp_cone_matrix_case,
                                    &bp_cone_device_matrix_case,
                                    &project_joseph_case,
                                    &icd_case,
                                    NULL};

const kernel_table *const tables[] = {&bp_parallel_table, &bp_device_table, &bp_cone_table,
                                      &bp_cone_device_table, &project_joseph_table, &icd_table, NULL};
