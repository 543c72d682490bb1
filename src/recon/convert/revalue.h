/* SPDX-License-Identifier: MIT */
#ifndef QB_RECON_CONVERT_REVALUE_H
#define QB_RECON_CONVERT_REVALUE_H

#include <stdint.h>

#include "base/json.h"
#include "io/plain/source.h"
#include "quickbeam/recon.h"

/* --dtype of qb convert: the numbers of a volume in another type, for the same values. */
typedef struct qb__revalue {
    bool used; /* else numbers stay as stored */
    qb_dtype from, to;
    double base, step; /* value = base + step * stored number */
    bool given;        /* --range */
    double low, high;  /* values of the integers 0 and maximum */
    size_t pixels;     /* pixels of an image */
    uint64_t outside;  /* clamped values */
} qb__revalue;

/* QB_BAD_ARGUMENT for a type that cannot be written, or a range that does not fit it. */
qb_status qb__revalue_begin(const qb_convert_options *options, const qb__source *source, qb__revalue *revalue);
/* Bytes per image in addition to the stored one. */
size_t qb__revalue_bytes(const qb__revalue *revalue);
/* Find the range of integers from all values if none is given; reads `block` images at a time into `images`, which has
 * room for the floats after them. */
qb_status qb__revalue_range(qb__revalue *revalue, qb__source *source, size_t block, char *images, const qb_env *env);
/* *out: `count` converted images, which are after `images` or are these. */
qb_status qb__revalue_images(qb__revalue *revalue, size_t threads, size_t count, char *images, const void **out);
/* Report the number of clamped values. */
void qb__revalue_report(const qb__revalue *revalue, double all, cJSON *report, const qb_env *env);

#endif
