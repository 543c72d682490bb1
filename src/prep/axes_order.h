/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Role of an axis of the data. */
typedef enum qb__axis { QB__AXIS_VIEW, QB__AXIS_ROW, QB__AXIS_COLUMN } qb__axis;

/* For parallel rays the sum over the columns of a row is the same in every view, unless the object is wider than the
 * detector. Returns whether values[n[0]][n[1]][n[2]], line integrals at evenly spaced positions of each axis,
 * contradict that as they are read, and fit it in another order, which goes to `axes`. *sure: no third order fits as
 * well. */
bool qb__axes_order_other(const float *values, const size_t n[3], qb__axis axes[3], bool *sure);
