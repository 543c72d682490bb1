/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

/* Macros "NAME=VALUE" for qb__program_build(); {.count = 0} is an empty list. */
enum { QB__MACROS_MAX = 32 };

typedef struct qb__macros {
    char text[QB__MACROS_MAX][40];
    const char *list[QB__MACROS_MAX + 1]; /* into text, or to what its owner keeps; ends with NULL */
    size_t count;
} qb__macros;

void qb__macros_add(qb__macros *macros, const char *name, long long value);
/* "NAME=VALUE" of any length, without a space or a quote; it must outlive the list. */
void qb__macros_add_text(qb__macros *macros, const char *text);
void qb__macros_add_float(qb__macros *macros, const char *name, float value); /* exactly */
