/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "geometry/turn.h"
#include "quickbeam/recon.h"

/* Half acquisition: a full turn of parallel views whose axis is near one side of the detector. A ray on the wide side
 * is measured once, a ray near the axis twice, by views half a turn apart. As for the half fan of a cone beam, each
 * column gets a share, so that the shares of a column and its mirror image about the axis sum to 1:
 *     1/2 near the axis; from half of the narrow side on it rises to 1, on the other side it falls
 *     to 0 at the detector's end.
 * Rows are extended by zeros on the narrow side to the width of the wide one, because a filtered row is not zero beyond
 * its end. Sums over opposite views then correspond to rows twice as wide as the wide side. The shares of 1/2 near the
 * axis keep the noise of two measurements there. */
typedef struct qb__half_fan {
    bool used;
    bool off_center;               /* the axis is near one side, for any range of angles */
    double covered;                /* degrees of the turn that the views cover, if they were given; else 0 */
    size_t columns, before, after; /* measured columns; columns added on the left and right */
} qb__half_fan;

/* True if the views (radians, any order) cover a full turn except for gaps of at most 30 degrees each; `covered`:
 * degrees, may be NULL. QB_NO_MEMORY, QB_BAD_INPUT for angles that are not finite. */
qb_status qb__turns_fully(size_t views, const double *radians, bool *full, double *covered);

/* How rows are extended for an axis at columns first..last (a sweep; else equal). Used if one side is wider than the
 * other by 5 % of the columns and by more than two columns. */
qb__half_fan qb__half_fan_of(size_t columns, double first, double last);
/* qb__half_fan_of for views at `radians`. Used only for a full turn; gaps of 30 degrees are allowed, and of 60 if the
 * narrow side is less than a third of the wide one. If the axis is not known yet (NAN), rows are not extended.
 * QB_NO_MEMORY, QB_BAD_INPUT as qb__turns_fully. */
qb_status qb__half_fan_of_views(size_t views, const double *radians, size_t columns, double first, double last,
                                qb__half_fan *fan);
/* Columns of the extended rows, which is the width in voxels of a slice of all that was seen. */
size_t qb__half_fan_width(const qb__half_fan *fan);
/* "full turn", or the part of it. */
void qb__half_fan_turn(const qb__half_fan *fan, char *text, size_t size);
/* Write a note on the width of the slices for an axis at `center`. */
void qb__half_fan_report(const qb__half_fan *fan, double center, char *text, size_t size);
/* share[columns] for an axis at `center`, 0 <= center <= columns - 1. */
void qb__half_fan_shares(size_t columns, double center, float *share);
/* Weights for a view of a turn with gaps: opposite rays fill a gap near the axis. */
void qb__half_fan_view_shares(const qb__turn *turn, size_t view, size_t columns, double center, float *share);
