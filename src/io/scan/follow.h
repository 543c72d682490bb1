/* SPDX-License-Identifier: MIT */
#pragma once

#include "quickbeam/scan.h"

/* --follow: wait until a scan that is being written has all of its views and does not grow any more. The number of
 * views is known from `follow` (SECONDS:N) or from --angles, or a file tells that all exist (SECONDS:FILE).
 * QB_BAD_INPUT with what is missing if no view has come for so many seconds, QB_BAD_ARGUMENT if the end is not
 * known. */
qb_status qb__scan_follow(const char *path, const qb_scan_options *options, const qb_env *env);
