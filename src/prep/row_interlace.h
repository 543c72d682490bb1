/* SPDX-License-Identifier: MIT */
#pragma once

#include "prep/prepare.h"

/* Cameras may write the even rows of one image and the odd rows of another. Then a row is alternately more similar to
 * the next row of the view before than to that of the view after, or the reverse. A tilted axis has the same effect on
 * all rows. Into *from: whether odd rows belong to views before (-1) or after (1) those of the even rows, if nearly all
 * positions agree; 0: neither, or unknown. For rows row0 <= row < row0 + rows, which are prepared; reads a few rows of
 * some 72 views. */
qb_status qb__row_interlace_find(qb_scan *scan, const qb__prepare *prepare, size_t row0, size_t rows, int *from);
