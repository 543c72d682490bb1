/* SPDX-License-Identifier: MIT */
#pragma once

#include <cjson/cJSON.h>

#include "plane.h"

/* Adds the histogram, percentiles and the share of values that were not measured, from at most 24 rows of 24 images. */
void view_levels_add(cJSON *about, const view_stack *stack);
/* Adds the same for `looked` given values, whose order changes. */
void view_levels_of(cJSON *about, float *values, size_t looked);
