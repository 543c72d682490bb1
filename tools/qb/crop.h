/* SPDX-License-Identifier: MIT */
#pragma once

#include "cli.h"

/* crop.c: --size object. The verb runs twice. The first run only plans the job; FBP or FDK then makes a coarse volume
 * of the same field, and the box of the object in it becomes --size and --offset. */

/* True for --size object: the request is noted, and the option itself stays unset. */
bool crop_asked(cli *c, const qb_param *row, const char *value);
/* Finds the box before the verb runs. Returns QB_OK at once where --size object is not given. */
qb_status crop_run(cli *c);
/* What the verb does with its job during the first run. */
qb_status crop_job(cli *c, qb_job *job, qb_scan *scan, const qb_geometry *geometry);
