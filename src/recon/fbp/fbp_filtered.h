/* SPDX-License-Identifier: MIT */
#pragma once

#include "quickbeam/recon.h"

/* Filtered rows that jobs of qb_fbp_plan() leave in memory. A later job on the CPU that would filter the same rows in
 * the same way takes them: it neither reads nor filters, and gives the same bits. Only qb uses it. */
typedef struct qb_tool_filtered qb_tool_filtered;

/* A job whose rows need more than `most` bytes leaves none. */
QB_API qb_status qb_tool_filtered_create(size_t most, qb_tool_filtered **filtered);
QB_API void qb_tool_filtered_destroy(qb_tool_filtered *filtered); /* NULL-safe; after the jobs that use it */
/* Call it before qb_job_run(), for one job at a time. Another text `rows` means that the scan or its preparation has
 * changed. */
QB_API qb_status qb_tool_filtered_use(qb_tool_filtered *filtered, const char *rows, qb_job *job);
