/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_TRANSPOSED_H
#define QB_IO_TRANSPOSED_H

#include "io/plain/source.h"

/* *source with its axes, which `text` names as they are stored, the slowest first ("columns,rows,views"), in the order [view][row][column];
 * it owns the one before. QB_BAD_ARGUMENT for other words; *source is as before then. */
qb_status qb__source_transpose(qb__source **source, const char *text);

#endif
