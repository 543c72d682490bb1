/* SPDX-License-Identifier: MIT */
#ifndef QB_JOB_BUDGET_H
#define QB_JOB_BUDGET_H

#include "geometry/partition.h"
#include "quickbeam/scan.h"

/* What a job holds from beginning to end, besides the rings of its pipeline and the threads'
 * scratch. */
typedef struct qb__held {
    int threads;
    const qb_scan_info *scan; /* NULL = none is prepared */
    size_t prepared;          /* bytes of the fields of its preparation */
    size_t observers;         /* bytes of the observers of the output */
    size_t more;              /* bytes of the method's own */
} qb__held;
/* All of it, with what the process holds now. */
size_t qb__held_bytes(const qb__held *held);

/* The memory that the caller's env allows is too small: QB_BAD_ARGUMENT with what the least cut needs. */
qb_status qb__too_small(const qb__cut_space *space, const qb__cut *least, const qb_env *env);

#endif
