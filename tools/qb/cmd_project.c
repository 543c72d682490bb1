/* SPDX-License-Identifier: MIT */
#include "cli.h"

qb_status cmd_project(cli *c) {
    qb_job *job = NULL;
    qb_status status = qb_project_plan(c->argument[0], &c->options.geometry, &c->options.project, &c->options.output,
                                       c->command, &c->env, &job);
    if (status == QB_OK) status = finish_job(c, job, NULL, NULL);
    qb_job_destroy(job);
    return status;
}
