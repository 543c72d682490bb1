/* SPDX-License-Identifier: MIT */
#pragma once

#include "io/vendor/vendor.h"

/* Reads the angles of the views in degrees, as stored, from the angle file next to the settings of the scan `name`.
 * *degrees is NULL if there is no such file, or if it has too few angles, with a note; the caller frees it. `file`
 * needs QB__VENDOR_NAME bytes. */
qb_status qb__nikon_angles(const qb__ini *ini, const char *name, size_t views, qb__notes *notes, char *file,
                           size_t size, double **degrees);
