/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/json.h"
#include "io/publish/publication.h"

/* Text that grows; zeroed = empty. A lack of memory is remembered until qb__text_write. */
typedef struct qb__text {
    char *data; /* ends in 0 */
    size_t length, room;
    bool failed;
} qb__text;

__attribute__((format(printf, 2, 3))) void qb__text_add(qb__text *text, const char *format, ...);
void qb__text_clear(qb__text *text);

/* Read a whole file of at most `most` bytes, and add a 0. QB_BAD_INPUT if it is longer. */
qb_status qb__text_read(const char *path, size_t most, qb__text *text);
/* Write it as one file of a set; NULL: as a file of its own. */
qb_status qb__text_write(qb__publication *set, const char *path, const qb__text *text);

/* Parse JSON text, which only white space may follow. Release with cJSON_Delete. QB_BAD_INPUT for invalid JSON, without
 * a message; QB_NO_MEMORY. */
qb_status qb__json_parse(const char *text, cJSON **object);

/* The same for provenance; QB_BAD_INPUT has a message. */
qb_status qb__provenance_parse(const char *text, cJSON **object);

/* Convert UTF-16 with a byte order mark to text with one byte per character, "?" for characters beyond ASCII. The mark
 * of UTF-8 is removed. */
void qb__text_narrow(qb__text *text);
