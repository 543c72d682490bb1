/* SPDX-License-Identifier: MIT */
#ifndef QB_BASE_PARAMS_H
#define QB_BASE_PARAMS_H

#include "quickbeam/param.h"

/* A caller's struct of options, of whatever size, or NULL, as this library knows it: for calls that
 * read options and keep none. Texts in `to` are the caller's or the table's: never clear it. What is
 * in the struct besides the table's fields comes along. On failure `to` is all zero. */
qb_status qb__params_view(const qb_param *table, const void *from, void *to);

#endif
