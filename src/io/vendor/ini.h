/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "io/text.h"
#include "quickbeam/status.h"

/* Settings files of scanners: lines KEY = VALUE below lines [SECTION]. Case and blanks in keys are ignored, because
 * they differ between versions of a program; the first line with a key counts. */
typedef struct qb__ini {
    const char *path;
    qb__text text;
} qb__ini;

/* A number of such a file, and its place in the caller's struct. */
typedef struct qb__ini_number {
    const char *key;
    size_t at; /* offset of a double; NAN if an optional key is missing */
    double low, high;
    bool needed;
} qb__ini_number;

/* Read a whole text of settings, also in UTF-16; the caller frees it. QB_BAD_INPUT above 64 MiB, or with a 0 in it. */
qb_status qb__settings_text(const char *path, char **text);
/* The same; QB_BAD_INPUT if it is XML that was cut off. */
qb_status qb__settings_xml(const char *path, char **text);
/* UTF-16 is read as well. `path` must outlive it. Release with qb__text_clear(&ini->text). */
qb_status qb__ini_read(const char *path, qb__ini *ini);
/* The value of a key, without surrounding blanks and quotes; false, and "", if the key is missing. */
bool qb__ini_text(const qb__ini *ini, const char *key, char *value, size_t size);
/* The same below the line [SECTION] only. */
bool qb__ini_text_of(const qb__ini *ini, const char *section, const char *key, char *value, size_t size);
/* QB_BAD_INPUT with the key and the value if it is missing or out of range. */
qb_status qb__ini_numbers(const qb__ini *ini, const qb__ini_number *numbers, size_t count, void *out);

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
