/* SPDX-License-Identifier: MIT */
#pragma once

#include "io/scan/scan.h"
#include "prep/step.h"

/* The rows in which --rings finds stripes. A stripe stays in its pixel of the detector. If the images of a scan are
 * resampled (prep/warp.h), its stripes lie elsewhere in each view: they are found in the stored images, and corrected
 * before those are resampled. Else they are the rows of the given pass. */
typedef struct qb__rings_from {
    qb__pass pass;
    size_t (*group)[2], groups; /* rows group[i][0] <= row < group[i][1], every step-th of the pass's fields */
    /* of the stored images: */
    qb_scan scan;
    qb_prep_options options;
    qb__fields fields;
    struct qb__prepare *prepare;
} qb__rings_from;

qb_status qb__rings_from_open(const qb__pass *asked, qb__rings_from *from);
/* Passes the finished field of the stored images on to the resampling. Does nothing if they are not resampled. */
void qb__rings_from_give(qb__rings_from *from, const qb__pass *asked, float **field);
void qb__rings_from_close(qb__rings_from *from);
