/* SPDX-License-Identifier: MIT */
#pragma once

#include "cli.h"

/* sweep.c: --sweep OPTION=VALUES, or --center A:B:STEP. The verb plans a job for each value; one slice of each job is
 * kept. */

/* Checks the options of a sweep; c->sweep stays NULL where no sweep is asked for. */
qb_status sweep_begin(cli *c);
/* Runs the verb for each value and prints the table. */
qb_status sweep_run(cli *c);
/* Handles the job of one value: called by the verb in place of running the job. */
qb_status sweep_job(cli *c, qb_job *job, bool parallel);
/* Prints the line about the sweep in a plan; prints nothing where there is no sweep. */
void sweep_print_plan(const cJSON *sweep, FILE *out);
void sweep_end(cli *c);
/* The scan that stays open for all jobs of the sweep; NULL: there is none. */
qb_scan *sweep_scan(const cli *c);
/* Keeps an open scan for the next jobs, unless the sweep changes how it is opened. */
void sweep_keep(cli *c, qb_scan *scan);

/* sweep_values.c: the values of a sweep as texts, in the form in which the option takes them. */
typedef struct sweep_values {
    char name[64]; /* name of the option */
    char **text;   /* values [count] */
    size_t count;
} sweep_values;
/* "center=30:34:0.5", "rings=sort,wavelet", "filter=hann:{0.4:1:0.2}". */
qb_status sweep_values_parse(const char *flag, const char *text, sweep_values *values);
void sweep_values_clear(sweep_values *values);
/* Does the text have the form A:B:STEP, with three numbers? */
bool sweep_is_range(const char *text);

/* sweep_table.c: if the option is "center", looks for the axis and adds it to the report. */
void sweep_find_axis(cli *c, qb_scan *scan, cJSON *report);
void sweep_print_table(const sweep_values *values, const cJSON *report);

/* cmd_fbp.c: prints the name of a picture and its black and white values; prints nothing for NULL. */
void print_picture(const cJSON *picture, FILE *out);
