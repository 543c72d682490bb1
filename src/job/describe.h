/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/json.h"
#include "job/volume_out.h"

/* Parts that the plans of all jobs have in common; the plan becomes the provenance. */

/* The head: the input, and the volume that is made or read. */
typedef struct qb__subject {
    const char *verb, *input, *format, *quantity, *quantity_from, *units;
    size_t views, rows, columns;
    qb_grid grid;
} qb__subject;
void qb__describe_subject(cJSON *plan, const qb__subject *subject);
/* Add every option of a table that is set to "options", which is returned. */
cJSON *qb__describe_options(cJSON *plan, const qb_param *table, const void *options);
/* Memory in bytes, output bytes, seconds of computing. */
void qb__describe_cost(cJSON *plan, const qb__volume_out *volume, size_t memory, double seconds);
