/* SPDX-License-Identifier: MIT */
#pragma once

#include "quickbeam/status.h"

/* QB_BAD_ARGUMENT if the state at `path` belongs to another job, with the difference. Both are JSON, with options in an
 * object of their own. */
qb_status qb__job_fingerprint_mismatch(const char *path, const char *then, const char *now);
