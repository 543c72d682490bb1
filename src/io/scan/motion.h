/* SPDX-License-Identifier: MIT */
#pragma once

#include "io/scan/scan.h"

/* --shifts motors:U[,V[,TURN]]: reads the shifts from the sample positions of the scan. U and V name the sample axes
 * (x, y, z or none) that move the image along columns and rows; TURN names the axis about which it turns in the image.
 * A minus sign before an axis means: a larger position moves the image to smaller columns or rows, or turns it from
 * rows towards columns. Shifts are relative to the first stored view, in pixels of the whole detector and degrees.
 * qb__motors_named: whether the option begins with motors:. */
bool qb__motors_named(const char *shifts);
/* Fills stored[scan->stored][3]: columns, rows and degrees of each stored view. QB_BAD_ARGUMENT for a wrong option,
 * QB_BAD_INPUT if the scan does not state the positions. */
qb_status qb__motors_shifts(const qb_scan *scan, const char *shifts, double (*stored)[3]);
/* Notes a problem for each axis along which the sample moved and which the option does not name. `shifts`: text of
 * --shifts, or NULL. */
void qb__motion_note(qb_scan *scan, const char *shifts);
