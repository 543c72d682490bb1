/* SPDX-License-Identifier: MIT */
#ifndef QB_BENCH_BENCH_PACKED_H
#define QB_BENCH_BENCH_PACKED_H

#include "base/json.h"
#include "quickbeam/array.h"

/* In `folder`: for each container and codec, compressed files are written and read, and the codec is run alone, on all
 * threads. Skipped for volumes smaller than a chunk. Changes the values. */
qb_status qb__bench_packed(const char *folder, qb_array *volume, cJSON *result);

#endif
