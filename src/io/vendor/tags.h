/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_TAGS_H
#define QB_IO_TAGS_H

#include <stdbool.h>
#include <stddef.h>

/* Values in the settings of scanners that are written as <NAME>value</NAME>, also where end tags are missing. Depth does not count: what
 * is looked for is found by its name. */

/* The text between the next <name>, from `text` on, and the tag behind it, without blanks at its ends. Returns where it ends; NULL, and
 * "", when there is none before `end` (NULL: the end of the text). */
const char *qb__tag_text(const char *text, const char *end, const char *name, char *value, size_t size);
/* The same for a finite number; false when there is none. */
bool qb__tag_number(const char *text, const char *end, const char *name, double *value);

#endif
