/* SPDX-License-Identifier: MIT */
#ifndef QB_RECON_BENCH_PARTS_H
#define QB_RECON_BENCH_PARTS_H

#include <cjson/cJSON.h>

#include "quickbeam/bench.h"

/* Preparing and filtering rows, beside the bare transforms that filtering contains. */
qb_status qb__bench_filter(const qb_bench_options *options, const qb_env *env, cJSON *result);
/* A whole reconstruction, file to file in the temporary folder ($TMPDIR), from the page cache. */
qb_status qb__bench_fbp(const qb_bench_options *options, const qb_env *env, cJSON *result);
/* Writing and reading a volume of the size asked for, in each format. */
qb_status qb__bench_io(const qb_bench_options *options, const qb_env *env, cJSON *result);

#endif
