/* SPDX-License-Identifier: MIT */
#ifndef QB_CENTER_CENTER_TRIAL_H
#define QB_CENTER_CENTER_TRIAL_H

#include "center/center.h"

/* Reconstruct the same rows for many trial axes, at a reduced size, and take each picture's
 * entropy. The rows are filtered and packed once; an axis is only an offset of the column
 * coordinate. */
typedef struct qb__center_trial qb__center_trial;

/* `bin` columns become one. Neighbouring views within half a turn / width / `per_width` of another
 * are averaged. pick[row] != 0 chooses rows; NULL = all. */
qb_status qb__center_trial_create(const qb__center_rows *rows, const unsigned char *pick, size_t bin, double per_width,
                                  qb__center_trial **trial);
void qb__center_trial_destroy(qb__center_trial *trial); /* NULL-safe */

/* For each of `count` axes, in columns of the detector, entropy[row][axis]: in nats, the sum over
 * three concentric discs. The grey scale is the same for all axes of a call. Rows not picked
 * read 0. */
qb_status qb__center_trial_entropy(qb__center_trial *trial, const double *axes, size_t count, double *entropy);

#endif
