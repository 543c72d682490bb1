/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "quickbeam/status.h"

/* Open beam: up to two ranges of columns (left and right of the object), x0 <= column < x1, over rows y0 <= row <
 * y1. */
typedef struct qb__air_region {
    int ranges;
    size_t x0[2], x1[2];
    size_t y0, y1;
} qb__air_region;

/* "X0:X1,Y0:Y1" or "X0:X1" (all rows), columns first, ends exclusive. */
qb_status qb__air_parse(const char *text, size_t rows, size_t columns, qb__air_region *region);

/* The margins that are open beam in every view: profile[view][column] is each view's median over rows, of transmissions
 * or, without flats, of counts; NaN for a dead column. A margin is open as far as it is bright (transmission 0.5 to 2,
 * near the view's brightest), does not fall by more than 1 % or noise, and does not darken inwards in the mean of all
 * views. At least 5 columns, at most a third of them; false if there is none. */
bool qb__air_find(const float *profile, size_t views, size_t columns, bool transmission, qb__air_region *region);

/* Median of count values, whose order changes; none may be NaN: leave out dead pixels. */
float qb__air_median(float *values, size_t count);
