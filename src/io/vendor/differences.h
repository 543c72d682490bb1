/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_DIFFERENCES_H
#define QB_IO_DIFFERENCES_H

#include "io/vendor/frame_head.h"

/* Rows row0 to row1 - 1 of an image packed as differences (.xim and .hnd of Varian): the first row and one pixel are stored as
 * they are, in 32 bits; of every other pixel its difference from left + above - above left, in 1, 2 or 4 bytes, as two bits of the table
 * say. QB_BAD_INPUT when the data end before. */
qb_status qb__differences_read(const char *path, const qb__frame_head *head, size_t row0, size_t row1, int32_t *out);

#endif
