/* SPDX-License-Identifier: MIT */
#ifndef QB_PREP_AIR_SCAN_H
#define QB_PREP_AIR_SCAN_H

#include "prep/prep.h"
#include "quickbeam/recon.h"

/* The open beam of every view, air[views], in the region `where` (X0:X1,Y0:Y1 or auto) of the scan,
 * or at a percentile of the whole view (99.9%): its median transmission, or median counts less dark
 * where there are no flats. What was found goes into text[size] and the log. */
qb_status qb__air_measure(qb_scan *scan, const char *where, const qb_env *env, float *air, char *text,
                          size_t size);

#endif
