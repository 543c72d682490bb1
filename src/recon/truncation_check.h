/* SPDX-License-Identifier: MIT */
#ifndef QB_RECON_TRUNCATION_CHECK_H
#define QB_RECON_TRUNCATION_CHECK_H

#include "geometry/truncation.h"
#include "prep/turn_check.h"
#include "quickbeam/recon.h"

/* What is to be told of rows that do not end in air (reconstruction_truncation.c). */
typedef struct qb__truncation_check {
    qb__truncation ends; /* that should */
    char remedy[256];    /* "--pad ellipse ..."; empty: the method, or the user, has seen to it */
    char columns[64];    /* the same of columns: "--size ..."; empty: nobody looks */
    qb__turn_asked turn; /* where views are said to be; zeroed: nobody looks */
    const char *opaque;  /* weights that rays through much matter lose, as --weights calls them; NULL: none */
} qb__truncation_check;

/* Of a method that filters: rows that are continued as an object ends are seen to. */
void qb__truncation_check_pad(const char *filter, qb_pad pad, qb__truncation_check *asked);
/* Of an axis to one side, where the views cover `covered` degrees: instead of that, a full turn. */
void qb__truncation_check_turn(double covered, qb__truncation_check *asked);
/* Of a method that finds a volume whose projections are the data: one that reaches farther than the detector sees has a place for
 * what is cut off. `radius` as qb__truncation_within has it. */
qb_status qb__truncation_check_size(const qb_geometry *geometry, const qb_grid *grid, double radius,
                                    qb__truncation_check *asked);
/* The same of columns, of a cone beam. */
void qb__truncation_check_height(const qb_geometry *geometry, const qb_grid *grid, qb__truncation_check *asked);

#endif
