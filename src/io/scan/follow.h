/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_FOLLOW_H
#define QB_IO_FOLLOW_H

#include "quickbeam/scan.h"

/* --follow: waits until a scan that is being written has all of its views, and nothing of it grows any more. How many there
 * are to be is known from `follow` (SECONDS:N), from --angles, or a file says that all are there (SECONDS:FILE). QB_BAD_INPUT with what is
 * missing when no view has come for so many seconds, QB_BAD_ARGUMENT where it is not known when to stop. */
qb_status qb__scan_follow(const char *path, const qb_scan_options *options, const qb_env *env);

#endif
