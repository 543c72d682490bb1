/* SPDX-License-Identifier: MIT */
#pragma once

#include "quickbeam/param.h"

/* Make a view of a caller's options (any size, or NULL) as this library knows the struct, for calls that read options
 * and do not keep them. Texts in `to` belong to the caller or the table: never clear it. Fields that are not in the
 * table are copied too. After a failure `to` is all 0. */
qb_status qb__params_view(const qb_param *table, const void *from, void *to);
