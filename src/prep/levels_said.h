/* SPDX-License-Identifier: MIT */
#ifndef QB_PREP_LEVELS_SAID_H
#define QB_PREP_LEVELS_SAID_H

#include "prep/truncation/line_ends.h"
#include "quickbeam/env.h"

typedef struct qb__levels_asked {
    const char *opaque; /* name of the weights that vanish for opaque rays, as in --weights; NULL: none */
    bool negative;      /* negative line integrals are wanted */
    bool zingers;       /* --zingers is given: what is left of single bright pixels is its choice */
    bool order;         /* the order of axes was looked at and named */
    bool gains;         /* views of another gain were named: they make air brighter or darker */
} qb__levels_asked;

/* Warn of views that have another gain than most, unless the preparation makes up for that. Whether it did. */
bool qb__levels_warn_gains(const qb_scan *scan, const qb_prep_options *options, const qb_env *env);

/* What the levels of a few lines say of the scan's quantity: refused, or warned of. *top: what lines reach. */
qb_status qb__levels_judge(const qb_scan_info *info, const qb__lines_look *lines, const qb__levels_asked *asked,
                           double *top, const qb_env *env);

/* A few lines of rows row0 <= row < row1; prepare as in qb__line_ends_look. */
qb_status qb__levels_look(qb_scan *scan, const qb__prepare *prepare, size_t row0, size_t row1, qb__lines_look *lines);

/* Both, for who streams no reconstruction: what cannot be is refused, what may be is warned of. */
qb_status qb__levels_tell(qb_scan *scan, const qb__prepare *prepare, const qb_prep_options *options, size_t row0,
                          size_t row1, const qb_env *env);

/* Warn where lines reach the top of the curve of --hardening, beyond which larger values come out smaller. */
void qb__levels_warn_hardening(const qb_prep_options *options, const qb__lines_look *lines, const qb_env *env);

#endif
