/* SPDX-License-Identifier: MIT */
#ifndef QB_PREP_ROW_INTERLACE_H
#define QB_PREP_ROW_INTERLACE_H

#include "prep/prepare.h"

/* Cameras may write the even rows of one image and the odd rows of another. A row is then more like the next row of the view before than
 * of the one behind, or the other way round, in turns. A leaning axis does the same for all rows alike. Into *from: whether odd rows are of
 * views before (-1) or behind (1) those of the even rows, as nearly all places say; 0: neither, or nothing can be said. Of rows
 * row0 <= row < row0 + rows, which are prepared; reads a few rows of some 72 views. */
qb_status qb__row_interlace_find(qb_scan *scan, const qb__prepare *prepare, size_t row0, size_t rows, int *from);

#endif
