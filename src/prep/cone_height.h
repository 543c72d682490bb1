/* SPDX-License-Identifier: MIT */
#pragma once

#include "geometry/circle.h"
#include "prep/cone_place.h"
#include "prep/prepare.h"

/* radians[views]: angles of the sources; rows row0 <= row < row1 are prepared. Reads at most 36 views, if that is a
 * small part of the scan, and holds at most `room` bytes. pool: NULL = the caller's thread computes. */
qb_status qb__cone_height_find(qb_scan *scan, const qb__prepare *prepare, const qb__circle *circle,
                               const double *radians, size_t row0, size_t row1, size_t room, qb__pool *pool,
                               qb__cone_height *found);
/* Warns only of clear errors. */
void qb__cone_height_warn(const qb__cone_height *found, const qb__circle *circle, bool from_file, const qb_env *env);
