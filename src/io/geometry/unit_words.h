/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_UNIT_WORDS_H
#define QB_IO_UNIT_WORDS_H

#include <stdbool.h>
#include <stddef.h>

/* Millimetres of one unit ("um"), radians of one unit ("degrees"); 0 when the word is not known. Capitals, blanks,
 * quotes and brackets around the word do not matter: " [Deg] " is "deg". */
double qb__length_unit(const char *word);
double qb__angle_unit(const char *word);

/* Numbers that are said to be radians: do they make half a turn or a whole one when they are read as degrees? */
bool qb__angles_like_degrees(const double *numbers, size_t count);

/* Degrees or radians: more than eight numbers within a little over 2 pi. */
bool qb__angles_may_be_either(size_t count, double low, double high);

#endif
