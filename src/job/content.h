/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/json.h"
#include "io/digest.h"
#include "quickbeam/scan.h"

/* Hashes of the data that a job has read, the `content` of its provenance. Empty without xxhash. */

/* Add the hash of an array in memory, which the running job uses, to qb_job's content. */
void qb__content_add(cJSON *content, const char *name, const void *values, size_t bytes);
/* Add a hash that the caller has computed. */
void qb__content_add_hash(cJSON *content, const char *name, uint64_t hash);
/* Add the hash of images that was gathered while reading; does nothing if not all images were read. */
void qb__content_add_images(cJSON *content, const char *name, const qb__digest *digest);
/* The job's content and, for a scan (may be NULL), {projections: {first_row, last_row, xxh3}, flats, darks, angles},
 * with the hash of the projections from `digest`. NULL: no content. */
cJSON *qb__content(const cJSON *content, const qb_scan *scan, const qb__digest *digest);
