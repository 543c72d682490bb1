/* SPDX-License-Identifier: MIT */
#ifndef QB_REPORT_HTML_H
#define QB_REPORT_HTML_H

#include <unistd.h>

#include "cli.h"

/* Before the job is planned: gathers what passes by the output's slab function in c->page, if a report is asked for. */
qb_status html_report_begin(cli *c);
/* After the job: writes the page. `plan` and `report` are the job's JSON; geometry NULL: a parallel beam. */
qb_status html_report_write(cli *c, qb_scan *scan, const qb_geometry *geometry, const char *plan, const char *report);
void html_report_end(cli *c);

#endif
