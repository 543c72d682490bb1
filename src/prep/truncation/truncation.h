/* SPDX-License-Identifier: MIT */
#pragma once

#include "prep/truncation/line_ends.h"
#include "quickbeam/recon.h"

/* Ends of detector rows that must see past the object, so that all of it is measured. */
typedef struct qb__truncation {
    /* [0] column 0, [1] last column. In a full turn with the axis near one side the near end does not count: what it
     * cuts off is measured half a turn later. */
    bool count[2];
    double reach; /* largest distance from the axis, in mm, that the counting ends see */
} qb__truncation;

/* For parallel beams and cones. No end counts if rows are turned by more than 20 degrees towards the axis.
 * QB_NO_MEMORY. */
qb_status qb__truncation_of(const qb_geometry *geometry, qb__truncation *ends);

/* Checks of rows that do not end in air, as a method asks for them. */
typedef struct qb__truncation_check {
    qb__truncation ends; /* ends of rows that should see air */
    char remedy[256];    /* what to do, such as "--pad ellipse ..."; empty: rows are not checked */
    char columns[64];    /* what to do about columns, such as "--size ..."; empty: not checked */
} qb__truncation_check;

/* For a method that filters: the remedy is --pad, unless the pad already continues the object. */
void qb__truncation_check_pad(const char *filter, qb_pad pad, qb__truncation_check *asked);
/* For an axis near one side with views over `covered` degrees: the remedy is a full turn. */
void qb__truncation_check_turn(double covered, qb__truncation_check *asked);
/* For an iterative method: the remedy is a larger volume, with voxels for what is cut off. Only voxels within `radius`
 * mm count; INFINITY: all. */
qb_status qb__truncation_check_size(const qb_geometry *geometry, const qb_grid *grid, double radius,
                                    qb__truncation_check *asked);
/* For an iterative method on a cone beam: the remedy for columns is a taller volume. */
void qb__truncation_check_height(const qb_geometry *geometry, const qb_grid *grid, qb__truncation_check *asked);

/* The object is wider than the detector: report `cut` for the ends that count, as a warning and into the report (may be
 * NULL). */
void qb__truncation_warn_rows(const qb__truncation_check *asked, const qb__line_ends_cut *cut, const qb_env *env,
                              cJSON *report);
/* The object is taller than the detector. `held` as in qb__column_ends_words. */
void qb__truncation_warn_columns(const qb__truncation_check *asked, unsigned held, const qb_env *env, cJSON *report);
