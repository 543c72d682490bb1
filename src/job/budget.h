/* SPDX-License-Identifier: MIT */
#pragma once

#include "geometry/partition.h"
#include "quickbeam/scan.h"

/* Memory that a job holds from beginning to end, besides the rings of its pipeline and the scratch of its threads. */
typedef struct qb__held {
    int threads;
    const qb_scan_info *scan; /* NULL = no scan is prepared */
    size_t prepared;          /* bytes of flats and darks for preparation */
    size_t observers;         /* bytes of the output's observers */
    size_t more;              /* other bytes of the method */
} qb__held;
/* The sum of these, and of what the process holds at present. */
size_t qb__held_bytes(const qb__held *held);

/* The caller's memory limit is too small: QB_BAD_ARGUMENT with the memory that the smallest chunks need. */
qb_status qb__too_small(const qb__cut_space *space, const qb__cut *least, const qb_env *env);
