/* SPDX-License-Identifier: MIT */
#pragma once

#include "io/plain/source.h"
#include "quickbeam/scan.h"

/* Open the scan at `path` as it is now, by its format. */
qb_status qb__scan_open_parts(const char *path, const qb_scan_options *options, qb__scan_parts *parts);

/* Replace *source by one with the axes in the order [view][row][column]; `text` names the stored axes, the slowest
 * first ("columns,rows,views"). It owns the old one. QB_BAD_ARGUMENT for other words; then *source is unchanged. */
qb_status qb__source_transpose(qb__source **source, const char *text);

/* --follow: wait until a scan that is being written has all of its views and does not grow any more. The number of
 * views is known from `follow` (SECONDS:N) or from --angles, or a file tells that all exist (SECONDS:FILE).
 * QB_BAD_INPUT with what is missing if no view has come for so many seconds, QB_BAD_ARGUMENT if the end is not
 * known. */
qb_status qb__scan_follow(const char *path, const qb_scan_options *options, const qb_env *env);
