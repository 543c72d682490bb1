/* SPDX-License-Identifier: MIT */
#include "kernels/macros.h"

#include <stdio.h>

#include "base/number.h"

static void add(qb__macros *m, const char *text) {
    snprintf(m->text[m->count], sizeof m->text[0], "%s", text);
    m->list[m->count] = m->text[m->count];
    m->list[++m->count] = NULL;
}

void qb__macros_add(qb__macros *macros, const char *name, long long value) {
    char text[sizeof macros->text[0]];
    snprintf(text, sizeof text, "%s=%lld", name, value);
    add(macros, text);
}

void qb__macros_add_text(qb__macros *m, const char *text) {
    m->list[m->count] = text;
    m->list[++m->count] = NULL;
}

/* The value is in brackets because of its sign, and has an exponent because 1f is not a number in C. */
void qb__macros_add_float(qb__macros *macros, const char *name, float value) {
    char text[sizeof macros->text[0]];
    qb__print(text, sizeof text, "%s=(%.8ef)", name, (double)value);
    add(macros, text);
}
