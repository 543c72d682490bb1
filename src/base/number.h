/* SPDX-License-Identifier: MIT */
#ifndef QB_BASE_NUMBER_H
#define QB_BASE_NUMBER_H

#include <stdarg.h>
#include <stddef.h>

/* Numbers in files and options have a decimal point, also in a program whose locale has a comma.
 * Reading and writing of such text goes through these; thread-safe. */

/* strtod and vsnprintf of the "C" locale. */
double qb__strtod(const char *text, char **end);
int qb__vprint(char *text, size_t size, const char *format, va_list arguments);
__attribute__((format(printf, 3, 4))) int qb__print(char *text, size_t size, const char *format, ...);

/* Up to `most` numbers with `between` them, or blanks when that is 0: how many there are. *end,
 * which may be NULL, is what follows the last one. */
int qb__read_numbers(const char *text, char between, int most, double *out, const char **end);

#endif
