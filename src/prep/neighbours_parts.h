/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdatomic.h>

#include "io/scan/scan.h"
#include "prep/prep.h"
#include "prep/step.h"

/* The noise of a scan's numbers: a number n has the variance base + slope * n. For photon counts base is 0 and slope 1;
 * a detector with g counts per photon has the slope g; readout noise adds a base. */
typedef struct qb__number_noise {
    double base, slope;
} qb__number_noise;

/* [row][column] of the detector: dark, 1 / (flat - dark), and flat - dark. NULL: 0, 1 and 1. */
typedef struct qb__number_fields {
    const float *dark, *gain, *beam;
} qb__number_fields;

/* Measures the noise in a few rows of a few views, which are the same for every job of the scan. Structure as fine as a
 * pixel counts as noise. */
qb_status qb__number_noise_of(qb_scan *scan, const qb__number_fields *fields, qb__number_noise *noise);

typedef struct qb__neighbours qb__neighbours; /* defined below, declared in neighbours.h */

/* Data shared by reading (neighbours.c) and correcting (neighbours_band.c, neighbours_views.c). */
struct qb__neighbours {
    qb__row_reader row_reader; /* must be the first member: a reader is cast to its qb__neighbours */
    qb__row_reader *before;
    qb_scan *scan;
    qb_scan_info stored; /* the scan's description, with the dtype that is stored */
    const qb_scan_info *info;
    const qb_prep_options *options;
    const qb__step *step[QB__PREP_STEPS];
    int steps;
    size_t margin;      /* sum of the margins of all steps */
    float *gain, *beam; /* [row][column] of the detector: 1 / (flat - dark), and flat - dark; NULL: 1 */
    const float *dark;  /* [row][column]; owned by the scan; NULL: 0 */
    qb__number_noise noise;
    uint32_t *pairs;      /* [view][2]: the views before and after, used by step[0]; NULL: the step does not use them */
    _Atomic(char *) kept; /* scratch of a thread, for the next read; NULL: none, or it is in use */
    _Atomic uint64_t changed[QB__PREP_STEPS], pixels;
    bool counted;   /* all pixels have been counted once */
    bool on_device; /* a device has corrected pixels */
};

/* Views that are corrected together, from view0 on: `out` holds rows row0 <= row < row1; top and bottom hold the
 * margin. */
typedef struct qb__near_views {
    qb__neighbours *neighbours;
    size_t view0, row0, row1;
    size_t above, below; /* rows of the margin above row0 and below row1 */
    char *out;
    const char *top, *bottom; /* margin rows of the first view */
    size_t apart;             /* bytes from view to view in `top` and `bottom` */
    char **scratch;
} qb__near_views;

static inline size_t qb__near_row_bytes(const qb_scan_info *info) { return info->columns * qb_dtype_size(info->dtype); }
/* Converts the numbers of a row to transmissions. */
void qb__near_transmissions(const qb__neighbours *neighbours, const void *raw, size_t row, float *out);
/* Fills the columns on both sides of a row by mirroring: column -1 is column 1. */
void qb__near_mirror(const qb_scan_info *info, float *row);
/* Stores the changed transmissions of a row as numbers in `raw` (NULL: the row is not returned) and converts these
 * back, so that the next step sees the numbers that are returned. Returns how many pixels changed. */
uint64_t qb__near_settle(const qb__neighbours *neighbours, const float *was, size_t row, float *cells, void *raw);
/* Corrects rows row0 <= row < row1 of views view0 <= view < view1 in place, with the views in `pairs`. */
qb_status qb__near_correct_views(qb__neighbours *neighbours, size_t view0, size_t view1, size_t row0, size_t row1,
                                 size_t threads, void *out);
qb_status qb__near_pairs(const qb_scan_info *info, uint32_t **pairs);
/* Bytes of scratch for one thread. */
size_t qb__near_scratch(const qb_scan_info *info, size_t margin);
/* Corrects one view of a qb__near_views in place; a task for qb__share. */
qb_status qb__near_correct(void *block, size_t view, size_t worker);
