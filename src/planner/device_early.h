/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>

#include "quickbeam/env.h"

/* For the command qb only: a thread opens the CUDA device that env names, or with `sure` the first one, while the scan
 * is opened. Jobs find it open; it stays so until the process ends. A failure shows when a job opens it. */
QB_API void qb_tool_device_early(const qb_env *env, bool sure);
/* Waits for the thread: the process must not end before. */
QB_API void qb_tool_device_settle(void);
