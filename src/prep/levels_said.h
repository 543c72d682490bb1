/* SPDX-License-Identifier: MIT */
#pragma once

#include "prep/truncation/line_ends.h"
#include "quickbeam/env.h"

typedef struct qb__levels_asked {
    const char *opaque; /* name of the weights that vanish for opaque rays, as in --weights; NULL: none */
    bool negative;      /* negative line integrals are expected */
    bool zingers;       /* --zingers is given: remaining bright pixels are its choice */
    bool order;         /* the order of axes was checked and reported */
    bool gains;         /* views with another gain were reported: they make air brighter or darker */
} qb__levels_asked;

/* Warn of views with another gain than most, unless the preparation corrects that. Returns true if it warned. */
bool qb__levels_warn_gains(const qb_scan *scan, const qb_prep_options *options, const qb_env *env);

/* Judge the scan's quantity from the levels of a few lines: refuse, or warn. *top: the level of the lines' maxima. */
qb_status qb__levels_judge(const qb_scan_info *info, const qb__lines_look *lines, const qb__levels_asked *asked,
                           double *top, const qb_env *env);

/* Reads a few lines of rows row0 <= row < row1; `prepare` as in qb__line_ends_look. */
qb_status qb__levels_look(qb_scan *scan, const qb__prepare *prepare, size_t row0, size_t row1, qb__lines_look *lines);

/* Reads the lines and judges them, for callers without a reconstruction: refuses what cannot be right and warns of what
 * may be wrong. */
qb_status qb__levels_tell(qb_scan *scan, const qb__prepare *prepare, const qb_prep_options *options, size_t row0,
                          size_t row1, const qb_env *env);

/* Warn if lines exceed the maximum of the curve of --hardening, beyond which larger values become smaller. */
void qb__levels_warn_hardening(const qb_prep_options *options, const qb__lines_look *lines, const qb_env *env);
