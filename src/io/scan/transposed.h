/* SPDX-License-Identifier: MIT */
#pragma once

#include "io/plain/source.h"

/* Replace *source by one with the axes in the order [view][row][column]; `text` names the stored axes, the slowest
 * first ("columns,rows,views"). It owns the old one. QB_BAD_ARGUMENT for other words; then *source is unchanged. */
qb_status qb__source_transpose(qb__source **source, const char *text);
