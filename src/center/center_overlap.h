/* SPDX-License-Identifier: MIT */
#pragma once

#include "center/center.h"
#include "center/center_pairs.h"

typedef enum qb__center_which { QB__CENTER_ALL, QB__CENTER_ONLY, QB__CENTER_WITHOUT } qb__center_which;

/* All rows are searched, or only `row`, or all without it. `still`, what stands still, is subtracted from them; NULL:
 * nothing is. */
typedef struct qb__center_overlapped {
    const qb__center_rows *rows;
    const qb__center_pairs *pairs;
    const float *still;
    qb__center_which which;
    size_t row;
} qb__center_overlapped;

/* Finds the column at which the values of opposite views agree best. *height becomes the correlation there; *there, if
 * not NULL, that at the column `other`, 0 where too little overlaps; both are NAN where they are not known. */
qb_status qb__center_overlap_find(const qb__center_overlapped *asked, double other, qb__center_answer *answer,
                                  double *height, double *there);
