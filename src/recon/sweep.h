/* SPDX-License-Identifier: MIT */
#ifndef QB_RECON_SWEEP_H
#define QB_RECON_SWEEP_H

#include "quickbeam/recon.h"

/* For the command of the same build; no part of the library's interface.
 *
 * A sweep: one slice, made by a job for each value of an option. The caller plans each job with the options of
 * qb_tool_sweep_output; the sweep runs it and keeps its middle slice. All slices become TIFF files of one folder, with a
 * contact sheet; they appear together or not at all. */
typedef struct qb_tool_sweep qb_tool_sweep;

typedef struct qb_tool_sweep_plan {
    const char *option;        /* "center" */
    const char *const *values; /* [count] as the option takes them, and as files and labels name them */
    size_t count;
    const qb_output_options *output; /* the folder, the files' type and range, the sheet's window */
    const char *command;             /* for the provenance */
} qb_tool_sweep_plan;

/* The plan and its values must live as long as the sweep. */
QB_API qb_status qb_tool_sweep_create(const qb_tool_sweep_plan *plan, const qb_env *env, qb_tool_sweep **sweep);
/* Output options with which the jobs are to be planned: no file, float32, and the sweep's eye on the slabs. */
QB_API qb_output_options qb_tool_sweep_output(qb_tool_sweep *sweep);
/* QB_BAD_ARGUMENT if a file of the sweep would take the place of one that the job reads. */
QB_API qb_status qb_tool_sweep_check(const qb_tool_sweep *sweep, const qb_job *job);
/* Run the job of the next value, with this env, and write its middle slice. */
QB_API qb_status qb_tool_sweep_add(qb_tool_sweep *sweep, qb_job *job, const qb_env *env);
/* The axis' column in the last job, where that has found or was given one; else NAN. */
QB_API double qb_tool_sweep_column(const qb_tool_sweep *sweep);
/* Write the contact sheet and give all files their names. *report is a JSON object, for qb_text_free. */
QB_API qb_status qb_tool_sweep_finish(qb_tool_sweep *sweep, char **report);
QB_API void qb_tool_sweep_destroy(qb_tool_sweep *sweep); /* NULL-safe; removes what has no name yet */

#endif
