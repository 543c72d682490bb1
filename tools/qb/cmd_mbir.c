/* SPDX-License-Identifier: MIT */
#include "cli.h"

qb_status cmd_mbir(cli *c) {
    qb_scan *scan = NULL;
    qb_job *job = NULL;
    qb_status status = open_scan(c, &scan);
    if (status != QB_OK) return status;
    status = qb_mbir_plan(scan, &c->options.prep, &c->options.mbir, &c->options.output, c->command,
                          &c->env, &job);
    if (status == QB_OK) status = finish_job(c, job);
    qb_job_destroy(job);
    qb_scan_close(scan);
    return status;
}
