/* SPDX-License-Identifier: MIT */
#ifndef QB_JOB_DESCRIBE_H
#define QB_JOB_DESCRIBE_H

#include "base/json.h"
#include "job/volume_out.h"

/* What the plans of all jobs say in the same words; it becomes the provenance. */

/* The head: what is read, and the volume that it becomes or comes from. */
typedef struct qb__subject {
    const char *verb, *input, *format, *quantity, *quantity_from, *units;
    size_t views, rows, columns;
    qb_grid grid;
} qb__subject;
void qb__describe_subject(cJSON *plan, const qb__subject *subject);
/* Every option of a table that is set, under "options", which is returned. */
cJSON *qb__describe_options(cJSON *plan, const qb_param *table, const void *options);
/* Memory held, bytes written, seconds of computing. */
void qb__describe_cost(cJSON *plan, const qb__volume_out *volume, size_t memory, double seconds);

#endif
