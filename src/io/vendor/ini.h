/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_INI_H
#define QB_IO_INI_H

#include "io/text.h"

/* The settings that scanners write beside their images: lines KEY = VALUE below lines [SECTION]. Upper and lower case and blanks
 * in keys do not count, as they differ between versions of one program; the first line of a key does. */
typedef struct qb__ini {
    const char *path;
    qb__text text;
} qb__ini;

/* A number of such a file: where it goes in the caller's struct. */
typedef struct qb__ini_number {
    const char *key;
    size_t at; /* offset of a double; NAN when an optional key is not there */
    double low, high;
    bool needed;
} qb__ini_number;

/* UTF-16 is read as well. `path` must outlive it. Release by qb__text_clear(&ini->text). */
qb_status qb__ini_read(const char *path, qb__ini *ini);
/* The value behind a key, without blanks and quotes at its ends; false, and "", when the key is not there. */
bool qb__ini_text(const qb__ini *ini, const char *key, char *value, size_t size);
/* QB_BAD_INPUT with the key and the value for what is missing or out of range. */
qb_status qb__ini_numbers(const qb__ini *ini, const qb__ini_number *numbers, size_t count, void *out);

#endif
