/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_SCAN_MOTION_H
#define QB_IO_SCAN_MOTION_H

#include "io/scan/scan.h"

/* --shifts motors:U[,V[,TURN]]: the axes of the sample along columns and rows, and that about which it turns in the
 * image, x, y, z or none, with - where a larger position lies at smaller columns or rows, or is turned from rows to
 * columns. From the first stored view on, in pixels of the whole detector and degrees. */
bool qb__motors_named(const char *shifts);
/* stored[scan->stored][3]. QB_BAD_ARGUMENT, QB_BAD_INPUT. */
qb_status qb__motors_shifts(const qb_scan *scan, const char *shifts, double (*stored)[3]);
/* A problem for each axis along which the sample moved and which `shifts`, NULL or the option, does not name. */
void qb__motion_note(qb_scan *scan, const char *shifts);

#endif
