/* SPDX-License-Identifier: MIT */
#ifndef QB_RECON_TRUNCATION_CHECK_H
#define QB_RECON_TRUNCATION_CHECK_H

#include "geometry/truncation.h"
#include "prep/levels_said.h"
#include "prep/turn_check.h"
#include "quickbeam/recon.h"

/* What a method wants to be checked of rows that do not end in air (reconstruction_truncation.c). */
typedef struct qb__truncation_check {
    qb__truncation ends; /* ends of rows that should see air */
    char remedy[256];    /* what to do, such as "--pad ellipse ..."; empty: rows are not checked */
    char columns[64];    /* what to do about columns, such as "--size ..."; empty: not checked */
    qb__turn_asked turn; /* where views are said to be; zeroed: nobody looks */
    qb__levels_asked levels;
} qb__truncation_check;

/* For a method that filters: the remedy is --pad, unless the pad already continues the object. */
void qb__truncation_check_pad(const char *filter, qb_pad pad, qb__truncation_check *asked);
/* For an axis to one side with views over `covered` degrees: the remedy is a full turn. */
void qb__truncation_check_turn(double covered, qb__truncation_check *asked);
/* For an iterative method: the remedy is a larger volume, which has voxels for what is cut off. `radius` as in
 * qb__truncation_within. */
qb_status qb__truncation_check_size(const qb_geometry *geometry, const qb_grid *grid, double radius,
                                    qb__truncation_check *asked);
/* For an iterative method on a cone beam: the remedy for columns is a taller volume. */
void qb__truncation_check_height(const qb_geometry *geometry, const qb_grid *grid, qb__truncation_check *asked);

#endif
