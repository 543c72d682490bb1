/* SPDX-License-Identifier: MIT */
#ifndef QB_GEOMETRY_MODULES_H
#define QB_GEOMETRY_MODULES_H

#include "quickbeam/geometry.h"

/* Whether the detector moves sideways by much from view to view, as where several modules are views of their own: then neighbouring
 * views are not alike, and the object may go on beyond the ends of rows. */
bool qb__is_modular(const qb_geometry *geometry);

#endif
