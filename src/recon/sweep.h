/* SPDX-License-Identifier: MIT */
#pragma once

#include "quickbeam/recon.h"

/* For the command of the same build; not a part of the public interface.
 *
 * A sweep: one slice, made by a job for each value of an option. The caller plans each job with the options of
 * qb_tool_sweep_output; the sweep runs it and keeps its middle slice. All slices become TIFF files of one folder, with
 * a contact sheet; they are published together or not at all. */
typedef struct qb_tool_sweep qb_tool_sweep;

typedef struct qb_tool_sweep_plan {
    const char *option;        /* "center" */
    const char *const *values; /* [count] in the form that the option takes, also used in names and labels */
    size_t count;
    const qb_output_options *output; /* the folder, the files' type and range, the sheet's window */
    const char *command;             /* command line, written into the provenance */
} qb_tool_sweep_plan;

/* The plan and its values must live as long as the sweep. */
QB_API qb_status qb_tool_sweep_create(const qb_tool_sweep_plan *plan, const qb_env *env, qb_tool_sweep **sweep);
/* Output options for planning the jobs: no file, float32, and the sweep's callback for slabs. */
QB_API qb_output_options qb_tool_sweep_output(qb_tool_sweep *sweep);
/* QB_BAD_ARGUMENT if a file of the sweep would replace one that the job reads. */
QB_API qb_status qb_tool_sweep_check(const qb_tool_sweep *sweep, const qb_job *job);
/* Run the job of the next value, with this env, and write its middle slice. `report` may be NULL, as for qb_job_run. */
QB_API qb_status qb_tool_sweep_add(qb_tool_sweep *sweep, qb_job *job, const qb_env *env, const char **report);
/* Write the contact sheet and publish all files. *report is a JSON object; release it with qb_text_free. */
QB_API qb_status qb_tool_sweep_finish(qb_tool_sweep *sweep, char **report);
QB_API void qb_tool_sweep_destroy(qb_tool_sweep *sweep); /* NULL-safe; removes files that are not published */
