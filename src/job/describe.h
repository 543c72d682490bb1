/* SPDX-License-Identifier: MIT */
#ifndef QB_JOB_DESCRIBE_H
#define QB_JOB_DESCRIBE_H

#include "base/json.h"
#include "job/volume_out.h"

/* What the plans of all reconstructions say in the same words; it becomes the provenance. */

/* The scan, and the volume that it becomes. */
void qb__describe_volume(cJSON *plan, const char *verb, const qb_scan_info *scan,
                         const qb__volume_out *volume);
/* Every option of a table that is set, under "options". */
void qb__describe_options(cJSON *plan, const qb_param *table, const void *options);
/* Memory held, bytes written, seconds of computing. */
void qb__describe_cost(cJSON *plan, const qb__volume_out *volume, size_t memory, double seconds);

#endif
