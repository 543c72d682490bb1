/* SPDX-License-Identifier: MIT */
#ifndef QB_RECON_RECONSTRUCTION_H
#define QB_RECON_RECONSTRUCTION_H

#include "recon/method.h"

/* The frame around every method that goes from a file to a file: it owns the input, copies of the
 * options, preparation, memory, the output, report and provenance. A method is a row of what is its
 * own; docs/howto-algorithm.md shows one. */

/* What a caller brings; copied but for scan, more and read, which must outlive the job. */
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
/* The same from the arguments of a public call whose rays lie along a geometry, or, with NULL, along the scan's own
 * angles. */
qb_status qb__reconstruction_plan_along(const qb__method *method, qb_scan *scan, const qb_geometry *geometry,
                                        const qb_prep_options *prep, const void *options,
                                        const qb_output_options *output, const char *command, const qb_env *env,
                                        qb_job **job);

/* What the method decided for this job; NULL if the job belongs to another method. */
const void *qb__reconstruction_plan_of(const qb_job *job, const qb__method *method);

#endif
