/* SPDX-License-Identifier: MIT */
#pragma once

#include <cjson/cJSON.h>

#include "quickbeam/quickbeam.h"
#include "server.h"

/* Reading of queries, and making of answers. Every request is checked, whoever sent it. */

/* The text after NAME=, which ends at '&' or at the end of the query; NULL where the query has no NAME. */
const char *view_find(const char *query, const char *name);
/* Copies that text; false where it is missing or too long. */
bool view_text(const char *query, const char *name, char *text, size_t size);
/* Reads `count` whole numbers NAME=A,B,... */
bool view_numbers(const char *query, const char *name, size_t count, size_t *out);
/* Reads `count` real numbers, with absolute values below 1e9. */
bool view_reals(const char *query, const char *name, size_t count, double *out);

__attribute__((format(printf, 2, 3))) view_answer view_say(int status, const char *format, ...);
/* An answer with the library's message about a failure. */
view_answer view_failed(qb_status status);
/* Gives the last error message of this thread and clears it; without a message, the status in words. */
void view_why(qb_status status, char *words, size_t size);
/* An answer with a JSON object; deletes the object. */
view_answer view_json(cJSON *root);
/* An answer with float values; takes over the values, which are from malloc. */
view_answer view_values(float *values, size_t count);
