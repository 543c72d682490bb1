/* SPDX-License-Identifier: MIT */
#pragma once

#include "io/scan/scan.h"
#include "prep/prepare.h"

/* Find the number of columns that two cameras share, if the second camera is on the right: the number with which line
 * integrals of some views and rows agree best. QB_BAD_INPUT if they agree for no number. */
qb_status qb__overlap_find(qb_scan *first, const qb__prepare *first_prepared, qb_scan *second,
                           const qb__prepare *second_prepared, double *overlap);
