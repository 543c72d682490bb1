/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/json.h"
#include "quickbeam/array.h"

/* For each container and codec, or for `only` ("h5_zstd"), writes and reads compressed files in `folder`, and runs the
 * codec alone, on all threads. Volumes smaller than a chunk are skipped. Changes the values. */
qb_status qb__bench_packed(const char *folder, const char *only, qb_array *volume, cJSON *result);
