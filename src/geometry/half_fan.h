/* SPDX-License-Identifier: MIT */
#ifndef QB_GEOMETRY_HALF_FAN_H
#define QB_GEOMETRY_HALF_FAN_H

#include <stdbool.h>
#include <stddef.h>

#include "geometry/turn.h"
#include "quickbeam/recon.h"

/* A full turn of parallel views whose axis lies to one side of the detector: a ray that falls on the
 * wide side is measured once, one near the axis twice, by views half a turn apart, which see the
 * axis from both sides. As for the half fans of a cone beam each column counts for a share, so that
 * with its mirror image about the axis it makes 1:
 *     1/2 near the axis, from half of the narrow side on rising to 1, on the other side falling to 0
 *     where the detector ends,
 * and rows go on with zeros on the narrow side, as far as the wide one reaches: filtered, a row that
 * ends is not zero beyond its end. Sums over opposite views are then those over rows twice as wide as
 * the wide side. The halves near the axis keep the noise there that of two measurements. */
typedef struct qb__half_fan {
    bool used;
    bool off_center;               /* the axis lies to one side, whether the turn is full or not */
    double covered;                /* degrees of the turn that views cover, if they were given; else 0 */
    size_t columns, before, after; /* measured; added left and right of them */
} qb__half_fan;

/* Whether the views, in radians and in any order, cover a full turn but for gaps of at most 30 degrees each; `covered`: degrees, may be NULL. QB_NO_MEMORY, QB_BAD_INPUT
 * for angles that are not finite. */
qb_status qb__turns_fully(size_t views, const double *radians, bool *full, double *covered);

/* For the axis at columns first..last (a sweep; else equal), how rows go on. Used when the axis lies so
 * far off the middle that one side is wider than the other by 5 % of the columns and by more than
 * two of them. */
qb__half_fan qb__half_fan_of(size_t columns, double first, double last);
/* qb__half_fan_of for views at `radians`. Used only for a full turn; gaps of 30 degrees are allowed, and of 60 if the narrow side is less
 * than a third of the wide one. For an axis that is not found yet (NAN) rows end where they were measured. QB_NO_MEMORY,
 * QB_BAD_INPUT as qb__turns_fully. */
qb_status qb__half_fan_of_views(size_t views, const double *radians, size_t columns, double first, double last,
                                qb__half_fan *fan);
/* Columns of the rows that go on, and so pixels of a slice as wide as what was seen. */
size_t qb__half_fan_width(const qb__half_fan *fan);
/* "full turn", or how much of it. */
void qb__half_fan_turn(const qb__half_fan *fan, char *text, size_t size);
/* Write a note on the width of the slices for an axis at `center`. */
void qb__half_fan_report(const qb__half_fan *fan, double center, char *text, size_t size);
/* share[columns] for an axis at `center`, 0 <= center <= columns - 1. */
void qb__half_fan_shares(size_t columns, double center, float *share);
/* Weights for a view of a turn with gaps: opposite rays make up for a gap near the axis. */
void qb__half_fan_view_shares(const qb__turn *turn, size_t view, size_t columns, double center, float *share);

#endif
