/* SPDX-License-Identifier: MIT */
#pragma once

#include "center/center.h"

/* Reconstructs the same rows for many trial axes, at reduced size, and computes the entropy of each picture. The rows
 * are filtered and packed once; a trial axis only changes the offset of the column coordinate. */
typedef struct qb__center_trial qb__center_trial;

/* `bin` columns are averaged into one. Views are averaged if their angles span less than pi / (width * per_width).
 * pick[row] != 0 chooses rows; NULL: all rows. */
qb_status qb__center_trial_create(const qb__center_rows *rows, const unsigned char *pick, size_t bin, double per_width,
                                  qb__center_trial **trial);
void qb__center_trial_destroy(qb__center_trial *trial); /* NULL-safe */

/* Computes entropy[row][axis] for `count` axes, in columns of the detector: in nats, the sum over three concentric
 * discs. All axes of a call have the same grey scale. The entropy of rows that are not chosen is 0. */
qb_status qb__center_trial_entropy(qb__center_trial *trial, const double *axes, size_t count, double *entropy);
