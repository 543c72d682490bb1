/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Millimetres of a unit of length ("um"), or radians of a unit of angles ("degrees"); 0 for an unknown word. Case,
 * blanks, quotes and brackets around the word are ignored: " [Deg] " is "deg". */
double qb__length_unit(const char *word);
double qb__angle_unit(const char *word);

/* True if angles that are stated in radians would be half a turn or a whole turn as degrees. */
bool qb__angles_like_degrees(const double *numbers, size_t count);

/* True if more than eight numbers lie within a little over 2 pi: they may be degrees or radians. */
bool qb__angles_may_be_either(size_t count, double low, double high);
