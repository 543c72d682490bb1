/* SPDX-License-Identifier: MIT */
#ifndef QB_PREP_COLUMN_ENDS_H
#define QB_PREP_COLUMN_ENDS_H

#include "prep/line_ends.h"

/* An open beam that is 2 % off leaves 0.02 everywhere; units of given line integrals are whatever they are. */
static const double qb__least_object = 0.03;

/* Whether many of the lines that were looked at hold something, of an object whose lines reach `top`. */
bool qb__column_end_held(const qb__lines_look *lines, double top);
/* Where the object goes on: bit 0: above row 0, bit 1: below the last row. "at both ends" of both. */
const char *qb__column_ends_words(unsigned held);

#endif
