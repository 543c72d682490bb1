/* SPDX-License-Identifier: MIT */
#ifndef QB_JOB_CONTENT_H
#define QB_JOB_CONTENT_H

#include "base/json.h"
#include "io/digest.h"
#include "quickbeam/scan.h"

/* Hashes of the numbers that a job read: `content` of its provenance. Empty without xxhash. */

/* To qb_job's content: numbers that the running job holds and uses, as they are in memory. */
void qb__content_add(cJSON *content, const char *name, const void *values, size_t bytes);
/* Images that were gathered while they were read: nothing where not all of them were. */
void qb__content_add_images(cJSON *content, const char *name, const qb__digest *digest);
/* All of that, and of a scan, which may be NULL, {projections: {first_row, last_row, xxh3}, flats, darks, angles}; of its
 * projections what `digest` gathered. NULL: nothing. */
cJSON *qb__content(const cJSON *content, const qb_scan *scan, const qb__digest *digest);

#endif
