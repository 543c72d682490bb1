/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_WAYS_H
#define QB_IO_WAYS_H

#include "io/vendor/vendor.h"

/* A way to read settings of which public readers make different things. */
typedef struct qb__way {
    double sense;    /* 1: views turn as qb__vendor.step says; -1: the other way */
    double offset_u; /* same meaning as in qb__vendor */
} qb__way;

enum { QB__WAYS = 16 };

/* Angles and detector of the parts, which qb__vendor_parts() has filled, in the way that the rays show. Where they do
 * not show it clearly, the first one is kept, with a warning; `ask`: QB_BAD_INPUT with the options that say it. Angles
 * that the user gives are not judged. */
qb_status qb__ways_choose(const qb__vendor *v, const qb_scan_options *options, const qb__way *ways, size_t count,
                          bool ask, qb__scan_parts *parts);

#endif
