/* SPDX-License-Identifier: MIT */
#ifndef QUICKBEAM_COMPARE_H
#define QUICKBEAM_COMPARE_H

#include "quickbeam/array.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct qb_comparison {
    size_t struct_size;        /* sizeof(qb_comparison); 0 = first version. New fields come at the end */
    double rmse, max_abs;      /* rms and largest absolute value of a - b, in the data's unit */
    double rel_l2;             /* |a - b| / |b|; 0 when equal */
    double psnr_db;            /* 10 log10(range(b)^2 / mse); INFINITY when equal */
    double ssim;               /* mean structural similarity over the images; window 7x7, or the image's
                             side where that is smaller; range of b */
    double slope, correlation; /* least-squares a = slope b + offset; Pearson; NAN for a constant */
} qb_comparison;

/* b is the reference; both are converted to float. The caller sets result->struct_size. QB_BAD_INPUT if the shapes
 * differ, the arrays are empty, or a value is not finite (with the count and the first index); QB_NO_MEMORY. JSON has
 * no infinity: `qb compare` prints psnr_db of equal arrays as null. */
QB_API qb_status qb_compare(const qb_array *a, const qb_array *b, qb_comparison *result);

#ifdef __cplusplus
}
#endif
#endif
