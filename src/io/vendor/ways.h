/* SPDX-License-Identifier: MIT */
#pragma once

#include "io/vendor/vendor.h"

/* One interpretation of settings that public readers interpret in different ways. */
typedef struct qb__way {
    double sense;         /* 1: views rotate as qb__vendor.step or `angles` state; -1: all angles have the other sign */
    double offset_u;      /* same meaning as in qb__vendor */
    const double *angles; /* [views] degrees after the first view, from the file `from`; NULL: i step of qb__vendor */
    const char *from;
} qb__way;

enum { QB__WAYS = 16 };

/* Chooses the way that opposite rays confirm, and sets the angles and the detector of the parts, which
 * qb__vendor_parts() has filled. If the rays do not tell clearly, the first way stays, with a warning; with `ask`,
 * QB_BAD_INPUT names the options to give. If the user gives angles, nothing is checked. */
qb_status qb__ways_choose(const qb__vendor *v, const qb_scan_options *options, const qb__way *ways, size_t count,
                          bool ask, qb__scan_parts *parts);
