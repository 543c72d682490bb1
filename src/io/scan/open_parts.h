/* SPDX-License-Identifier: MIT */
#pragma once

#include "io/plain/source.h"

/* Open the scan at `path` as it is now, by its format. */
qb_status qb__scan_open_parts(const char *path, const qb_scan_options *options, qb__scan_parts *parts);
