/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "quickbeam/status.h"

/* Values in settings files of scanners in the form <NAME>value</NAME>, also without end tags. The nesting is ignored: a
 * value is found by its name. */

/* The text between the next <name> from `text` on and the tag after it, without surrounding blanks. Returns the end of
 * the text; NULL, and "", if there is none before `end` (NULL: the end of the text). */
const char *qb__tag_text(const char *text, const char *end, const char *name, char *value, size_t size);
/* The same for a finite number; false if there is none. */
bool qb__tag_number(const char *text, const char *end, const char *name, double *value);
/* The same; a missing value stays as it is. QB_BAD_INPUT for what is no number. */
qb_status qb__tag_optional(const char *path, const char *text, const char *name, double *value);
/* True if the first element, `name`, has its end tag, or if the text does not begin with a tag. */
bool qb__tag_closed(const char *text, char *name, size_t size);
