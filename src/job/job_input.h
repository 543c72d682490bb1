/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

#include "base/inputs.h"
#include "base/json.h"
#include "quickbeam/scan.h"

/* What a job that is resumed has in common with the earlier one: the part of its fingerprint that says what it reads. */
void qb__job_add_hash(cJSON *json, const char *name, uint64_t hash);
/* The name of the input, and its files by size and times. */
void qb__job_add_files(cJSON *json, const char *path, const qb__inputs *inputs);
/* The same of a scan, with its angles, flats and darks, and a sample of its numbers. */
qb_status qb__job_add_input(cJSON *json, qb_scan *scan, const char *path, const qb__inputs *inputs);
