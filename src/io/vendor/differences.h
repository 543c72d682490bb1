/* SPDX-License-Identifier: MIT */
#pragma once

#include "io/vendor/frame_head.h"

/* Rows row0 to row1 - 1 of an image packed as differences (.xim and .hnd of Varian): the first row and one pixel are
 * stored as 32-bit numbers; for every other pixel the difference from left + above - above left, in 1, 2 or 4 bytes,
 * given by two bits of a table. QB_BAD_INPUT if the data end early. */
qb_status qb__differences_read(const char *path, const qb__frame_head *head, size_t row0, size_t row1, int32_t *out);
