/* SPDX-License-Identifier: MIT */
#ifndef QB_BENCH_BENCH_PACKED_H
#define QB_BENCH_BENCH_PACKED_H

#include "base/json.h"
#include "quickbeam/array.h"

/* For each container and codec, writes and reads compressed files in `folder`, and runs the codec alone, on all
 * threads. Volumes smaller than a chunk are skipped. Changes the values. */
qb_status qb__bench_packed(const char *folder, qb_array *volume, cJSON *result);

#endif
