/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

#include "base/variant.h"

/* Key of a measurement: a row of the user's file, or of the built-in results. */
typedef struct qb__tuning_key {
    const char *device;     /* name of the device */
    const char *variant;    /* "bp_parallel_linear.alu" */
    size_t slices, columns; /* shape classes: rounded up to a power of two, slices at most 128 */
} qb__tuning_key;

enum { QB__TUNING_VALUES = QB__PARAMETERS_MAX };

typedef struct qb__tuning_entry {
    int values[QB__TUNING_VALUES];
    double giga_updates; /* a second */
} qb__tuning_entry;
