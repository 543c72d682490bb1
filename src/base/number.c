/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1 /* strtod_l */
#include "base/number.h"

#include <ctype.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 0 if memory ran out: then the process's own locale is used. */
static locale_t plain;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_plain(void) { plain = newlocale(LC_ALL_MASK, "C", (locale_t)0); }

double qb__strtod(const char *text, char **end) {
    const char *digits = text + strspn(text, " \t\r\n\v\f");
    digits += *digits == '-' || *digits == '+';
    if (digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X')) {
        if (end) *end = (char *)(uintptr_t)text;
        return 0;
    }
    pthread_once(&once, make_plain);
    return plain ? strtod_l(text, end, plain) : strtod(text, end);
}

int qb__vprint(char *text, size_t size, const char *format, va_list arguments) {
    pthread_once(&once, make_plain);
    locale_t before = plain ? uselocale(plain) : (locale_t)0; /* changes this thread only */
    int n = vsnprintf(text, size, format, arguments);
    if (plain) uselocale(before);
    return n;
}

int qb__print(char *text, size_t size, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int n = qb__vprint(text, size, format, arguments);
    va_end(arguments);
    return n;
}

int qb__read_numbers(const char *text, char between, int most, double *out, const char **end) {
    int n = 0;
    const char *at = text;
    while (n < most) {
        char *stop;
        const char *from = at;
        if (n && between && *from++ != between) break;
        double value = qb__strtod(from, &stop);
        if (stop == from) break;
        out[n++] = value;
        at = stop;
    }
    if (end) *end = at;
    return n;
}

bool qb__setting_number(const char *text, double *value) {
    char words[64], *end;
    snprintf(words, sizeof words, "%s", text);
    char *comma = strchr(words, ',');
    if (comma && isdigit((unsigned char)comma[1]) && !strchr(words, '.')) *comma = '.';
    const double number = qb__strtod(words, &end);
    if (end == words || !isfinite(number)) return false;
    const size_t attached = strcspn(end, " \t");
    if (strcspn(end, "0123456789+-") < attached || (attached == 1 && strchr("eExX", *end))) return false; /* 1e, 1d5 */
    end += strspn(end, " \t");
    if (isdigit((unsigned char)*end) || (*end && strchr(",.;:+-", *end))) return false;
    static const char *const other[] = {"cm", "m", "um", "\xc2\xb5m", "\xb5m", "nm", "in", "inch"}; /* than mm */
    const size_t n = strcspn(end, " \t");
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        if (n == strlen(other[i]) && strncmp(end, other[i], n) == 0) return false;
    *value = number;
    return true;
}
