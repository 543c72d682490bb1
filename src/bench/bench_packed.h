/* SPDX-License-Identifier: MIT */
#ifndef QB_BENCH_BENCH_PACKED_H
#define QB_BENCH_BENCH_PACKED_H

#include "base/json.h"
#include "quickbeam/array.h"

/* In `folder`: each container and codec: compressed files written and read, and the codec alone, on all threads. Volumes smaller than a chunk are left
 * out. Changes the values. */
qb_status qb__bench_packed(const char *folder, qb_array *volume, cJSON *result);

#endif
