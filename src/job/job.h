/* SPDX-License-Identifier: MIT */
#ifndef QB_JOB_JOB_H
#define QB_JOB_JOB_H

#include "base/inputs.h"
#include "base/json.h"
#include "io/digest.h"
#include "job/pipeline.h"
#include "quickbeam/recon.h"

/* What every reconstruction is to its caller; each kind puts this first in its own struct. */
struct qb_job {
    qb_status (*run)(qb_job *job, const qb_env *env);
    void (*destroy)(qb_job *job); /* frees the job itself too */
    /* projections = the transpose of what run() does; NULL: there is none */
    qb_status (*transpose)(qb_job *job, const qb_tensor *volume, const qb_env *env, const qb_tensor *projections);
    cJSON *plan;   /* decisions and forecast */
    cJSON *report; /* made by run */
    char *plan_text, *report_text;
    cJSON *warnings; /* array of texts: each warning given to the caller, once */
    qb_env heard;    /* the caller's, with an ear for that */
    const qb_env *caller;
    cJSON *content;      /* hashes of what was read, without those of the scan (job/content.h); made by run */
    const qb_scan *scan; /* not owned, may be NULL */
    qb__digest digest;   /* digest of the projections; made by run */
    atomic_bool running;
    qb__inputs inputs; /* the files it is made from; `also` are its scan's and its geometry's */
};

/* The caller's env for what a job does now; its warnings are kept, and passed on. It lasts as long as
 * the job, or until this is called again. */
const qb_env *qb__job_listen(qb_job *job, const qb_env *env);
/* If the caller sets no limits, a rank takes its share of the machine's threads and memory. */
void qb__job_share(qb_env *env);
/* Keep a warning that the caller has heard already. */
void qb__job_warned(qb_job *job, const char *text);
/* Add {warnings: [...]} of what was said until now. */
void qb__job_add_warnings(const qb_job *job, cJSON *object);

/* Add {stages: [...], wall_seconds, peak...} of a pipeline's run to a report. */
void qb__report_stages(cJSON *report, const qb__pipeline_report *times, int threads);

/* What every provenance begins with: program, version, command, an object `run` with the date: all in
 * it may differ between equal runs. */
cJSON *qb__provenance_begin(const char *command);

/* Append a word to a command that a shell can take back, quoted where it must be, into text[size]; what
 * does not fit is cut off. */
void qb__command_add(char *text, size_t size, const char *word);

/* The provenance of an output: its head, what was read, decisions (the plan), timings; cJSON_free it.
 * What qb_job_run will tell is printed now, too, in case there is no memory for it later. */
qb_status qb__provenance(qb_job *job, const char *command, const char *input, char **text);

#endif
