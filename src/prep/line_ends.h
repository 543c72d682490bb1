/* SPDX-License-Identifier: MIT */
#ifndef QB_PREP_LINE_ENDS_H
#define QB_PREP_LINE_ENDS_H

#include "prep/prepare.h"

/* What a few rows of a few views hold at their ends, where air should be: of an object wider than the detector something else. */
typedef struct qb__line_end {
    double end[2], noise[2]; /* at column 0 and at the last: the median of a few columns, and by how much it may be off */
    double top;              /* what few values of the line exceed */
    bool looked;             /* else there is none */
} qb__line_end;

/* A group of lines is a detector row in so many views. */
enum { QB__LINE_ENDS_VIEWS = 32, QB__LINE_ENDS_GROUPS = 8, QB__LINE_ENDS = QB__LINE_ENDS_GROUPS * QB__LINE_ENDS_VIEWS };

/* Where to look: over all the height of the detector rows row0, row0 + step, ... < row1 of a job, but only at those that are prepared
 * here, held0 <= row < held1, and in views view0 <= view < view1: who shares the job looks at others, and all together at the same as
 * one alone. */
typedef struct qb__line_ends_place {
    size_t row0, row1, step;
    size_t held0, held1, view0, view1;
    size_t room; /* bytes that reading may take */
} qb__line_ends_place;

/* Into lines[QB__LINE_ENDS], zeroed. Reads as little as the storage lets it. */
qb_status qb__line_ends_look(qb_scan *scan, const qb__prepare *prepare, const qb__line_ends_place *place, qb__line_end *lines);

/* How many of those views that hold anything do not end in air, on either side, and what they have there, as a share of `top`. */
typedef struct qb__line_ends_cut {
    double share[2], level[2];
    size_t lines;
    bool much; /* too many rows and views to be a holder that crosses, or noise */
} qb__line_ends_cut;

/* Of lines[QB__LINE_ENDS] only ends that count, and none that are below `least`. */
void qb__line_ends_judge(const qb__line_end *lines, const bool count[2], double least, qb__line_ends_cut *cut);

#endif
