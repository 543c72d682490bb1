/* SPDX-License-Identifier: MIT */
#include "kernels/macros.h"

#include <stdio.h>

void qb__macros_add(qb__macros *macros, const char *name, long long value) {
    char *text = macros->text[macros->count];
    snprintf(text, sizeof macros->text[0], "%s=%lld", name, value);
    macros->list[macros->count++] = text;
    macros->list[macros->count] = NULL;
}
