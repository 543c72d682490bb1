/* SPDX-License-Identifier: MIT */
#ifndef QB_VIEW_QUERY_H
#define QB_VIEW_QUERY_H

#include <cjson/cJSON.h>

#include "quickbeam/quickbeam.h"
#include "server.h"

/* What a query says, and answers. Every request is checked, whoever sent it. */

/* The text behind NAME=, which ends with & or the query; NULL where it is not there. */
const char *view_find(const char *query, const char *name);
/* A copy of that text; false where it is not there or too long. */
bool view_text(const char *query, const char *name, char *text, size_t size);
/* Whole numbers NAME=A,B,... of which there are `count`. */
bool view_numbers(const char *query, const char *name, size_t count, size_t *out);
/* As many numbers, of a size below a billion. */
bool view_reals(const char *query, const char *name, size_t count, double *out);

__attribute__((format(printf, 2, 3))) view_answer view_say(int status, const char *format, ...);
/* What the library says of a failure. */
view_answer view_failed(qb_status status);
/* What this thread has complained of, once; else the status in words. */
void view_why(qb_status status, char *words, size_t size);
/* Takes the object. */
view_answer view_json(cJSON *root);
/* Takes the values, which are from malloc. */
view_answer view_values(float *values, size_t count);

#endif
