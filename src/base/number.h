/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* Numbers in files and options have a decimal point, even if the locale of the program has a comma. All reading and
 * writing of such text uses these functions; thread-safe. */

/* strtod and vsnprintf of the "C" locale; hexadecimal numbers are not read. */
double qb__strtod(const char *text, char **end);
int qb__vprint(char *text, size_t size, const char *format, va_list arguments);
__attribute__((format(printf, 3, 4))) int qb__print(char *text, size_t size, const char *format, ...);

/* Read at most `most` numbers, separated by `between` or by blanks if that is 0; returns their count. *end (may be
 * NULL) points behind the last one. */
int qb__read_numbers(const char *text, char between, int most, double *out, const char **end);

/* Read the number of a scanner's settings, with a decimal point, or with a decimal comma as programs of some countries
 * write it. A unit may follow, but no other length than mm. False, and *value stays, if it is not one finite number:
 * 1,234.5, 3;4 or 1e. */
bool qb__setting_number(const char *text, double *value);
