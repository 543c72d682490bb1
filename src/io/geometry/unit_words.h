/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_UNIT_WORDS_H
#define QB_IO_UNIT_WORDS_H

#include <stdbool.h>
#include <stddef.h>

/* Millimetres of a unit ("um"), radians of a unit ("degrees"); 0 for an unknown word. Case, and blanks, quotes and
 * brackets around the word, are ignored: " [Deg] " is "deg". */
double qb__length_unit(const char *word);
double qb__angle_unit(const char *word);

/* Angles stated to be in radians: true if they would make half a turn or a whole one as degrees. */
bool qb__angles_like_degrees(const double *numbers, size_t count);

/* Guess degrees or radians: more than eight numbers within a little over 2 pi. */
bool qb__angles_may_be_either(size_t count, double low, double high);

#endif
