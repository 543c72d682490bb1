/* SPDX-License-Identifier: MIT */
#pragma once

#include "quickbeam/env.h"

/* The numbers of an angle file, as stored in the file. */
typedef struct qb__angle_list {
    const char *path;
    size_t column; /* column of a table, from 1; 0: the only column, or the one whose header names an angle */
    double unit;   /* radians of one number; 0: not stated. A unit that the caller has set is kept. */
    double *values;
    size_t count;
    double *counts; /* [count] counts of the beam monitor during each view; NULL: not stated */
    bool row;       /* the numbers are in one row */
    char how[80];   /* note on which header was left out and which column was taken; "" */
    char doubt[80]; /* a line left out that begins like a number; "" */
    size_t doubt_line;
} qb__angle_list;

/* Parse a text; the text is changed. It holds one number per line, a column of a table, or one row of numbers. Lines
 * before the first number are headers. Lines that begin with # are comments. Both may name the unit. */
qb_status qb__angle_list_text(qb__angle_list *list, char *text);
/* Read an NPY file: a list, a row, or a column of a table. */
qb_status qb__angle_list_npy(qb__angle_list *list);
/* Read the array /NAME of a MATLAB file of version 5 to 7. It must have one row or one column. */
qb_status qb__angle_list_mat(qb__angle_list *list, const char *name);
/* Whether a text is a log with "angle: NUMBER" in its lines, such as the logs of the IMAT instrument at ISIS. */
bool qb__angle_list_is_log(const char *text);
qb_status qb__angle_list_log(qb__angle_list *list, const char *text);
