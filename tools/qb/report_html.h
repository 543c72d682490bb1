/* SPDX-License-Identifier: MIT */
#pragma once

#include <unistd.h>

#include "cli.h"

/* Called before the job is planned. If a report is asked for, the output's slab function collects slices and values in
 * c->page. */
qb_status html_report_begin(cli *c);
/* Called after the job: writes the page. `plan` and `report` are the job's JSON; geometry NULL: a parallel beam. */
qb_status html_report_write(cli *c, qb_scan *scan, const qb_geometry *geometry, const char *plan, const char *report);
void html_report_end(cli *c);
