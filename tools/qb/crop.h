/* SPDX-License-Identifier: MIT */
#ifndef QB_TOOLS_CROP_H
#define QB_TOOLS_CROP_H

#include "cli.h"

/* crop.c: --size object. The verb runs twice: first its job is planned only, a coarse volume is made by FBP or FDK in its place, and
 * the box of the object becomes --size and --offset. */

/* Is it that word for that option? Then it is noted, and the option stays unset. */
bool crop_asked(cli *c, const qb_param *row, const char *value);
/* Before the verb runs: finds the box. QB_OK where it is not asked for. */
qb_status crop_run(cli *c);
/* What the verb does with its job meanwhile. */
qb_status crop_job(cli *c, qb_job *job, qb_scan *scan, const qb_geometry *geometry);

#endif
