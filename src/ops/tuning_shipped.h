/* SPDX-License-Identifier: MIT */
#ifndef QB_OPS_TUNING_SHIPPED_H
#define QB_OPS_TUNING_SHIPPED_H

#include "ops/tuning.h"

/* Parameters and speeds measured on machines we had, by `qb tune`. */
typedef struct qb__tuning_shipped {
    qb__tuning_key key; /* slices and columns are classes already */
    qb__tuning_entry entry;
} qb__tuning_shipped;

extern const qb__tuning_shipped qb__tuning_shipped_rows[];
extern const size_t qb__tuning_shipped_count;

#endif
