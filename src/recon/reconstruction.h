/* SPDX-License-Identifier: MIT */
#pragma once

#include "recon/method.h"

/* The frame around every method that reads a file or array and writes one. It owns the input, copies of the options,
 * preparation, memory, the output, report and provenance. A method is one row of a table with its own functions;
 * docs/howto-algorithm.md shows one. */

/* Input of a job. It is copied except scan, `more` and `read`, which must outlive the job. */
typedef struct qb__request {
    qb_scan *scan;
    const char *input; /* NULL: the scan's name */
    const void *more;
    const qb__inputs *read;      /* the files that `more` comes from; NULL = none */
    const qb_prep_options *prep; /* NULL: defaults */
    const void *options;
    const qb_output_options *output;
    const char *command;
    bool silent; /* a job inside another one: the outer job checks the scan and prints all messages */
} qb__request;

qb_status qb__reconstruction_plan(const qb__method *method, const qb__request *request, const qb_env *env,
                                  qb_job **job);
/* The same from the arguments of a public call. The rays lie along `geometry` or, if it is NULL, along the scan's own
 * angles. */
qb_status qb__reconstruction_plan_along(const qb__method *method, qb_scan *scan, const qb_geometry *geometry,
                                        const qb_prep_options *prep, const void *options,
                                        const qb_output_options *output, const char *command, const qb_env *env,
                                        qb_job **job);

/* The plan of the method for this job; NULL if the job belongs to another method. */
const void *qb__reconstruction_plan_of(const qb_job *job, const qb__method *method);
