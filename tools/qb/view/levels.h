/* SPDX-License-Identifier: MIT */
#ifndef QB_VIEW_LEVELS_H
#define QB_VIEW_LEVELS_H

#include <cjson/cJSON.h>

#include "plane.h"

/* Adds histogram, percentiles and the share that was not measured, from 24 rows of 24 images at most. */
void view_levels_add(cJSON *about, const view_stack *stack);
/* The same of `looked` values, which are reordered. */
void view_levels_of(cJSON *about, float *values, size_t looked);

#endif
