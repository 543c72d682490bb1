/* SPDX-License-Identifier: MIT */
#pragma once

#include "quickbeam/geometry.h"

/* True if the detector moves far to the side between views, as when modules of a detector are stored as views. Then
 * neighbouring views differ, and the object may extend beyond the ends of rows. */
bool qb__is_modular(const qb_geometry *geometry);
