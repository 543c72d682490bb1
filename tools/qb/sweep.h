/* SPDX-License-Identifier: MIT */
#ifndef QB_TOOLS_SWEEP_H
#define QB_TOOLS_SWEEP_H

#include "cli.h"

/* sweep.c: --sweep OPTION=VALUES, or --center A:B:STEP. The verb plans a job for each value; one slice of each is kept. */

/* Checks what is asked for; c->sweep stays NULL where there is no sweep. */
qb_status sweep_begin(cli *c);
/* Runs the verb for each value and prints the table. */
qb_status sweep_run(cli *c);
/* What the verb does with its job in a sweep. */
qb_status sweep_job(cli *c, qb_job *job, bool parallel);
/* The line of a plan; nothing where the plan is of no sweep. */
void sweep_print_plan(const cJSON *sweep, FILE *out);
void sweep_end(cli *c);
/* The scan that was kept for all jobs of the sweep; NULL: there is none. */
qb_scan *sweep_scan(const cli *c);
/* Keeps an open scan, unless the sweep changes how it is opened. */
void sweep_keep(cli *c, qb_scan *scan);

/* sweep_values.c: the values of a sweep, as the option takes them. */
typedef struct sweep_values {
    char name[64]; /* the option */
    char **text;   /* [count] */
    size_t count;
} sweep_values;
/* "center=30:34:0.5", "rings=sort,wavelet", "filter=hann:{0.4:1:0.2}". */
qb_status sweep_values_parse(const char *flag, const char *text, sweep_values *values);
void sweep_values_clear(sweep_values *values);
/* Is it A:B:STEP, three numbers? */
bool sweep_is_range(const char *text);

/* cmd_fbp.c: a picture's name, and what is black and white in it; nothing for NULL. */
void print_picture(const cJSON *picture, FILE *out);

#endif
