/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdint.h>

#include "base/json.h"
#include "io/plain/source.h"
#include "quickbeam/recon.h"

/* --dtype of qb convert: writes the values of a volume with another type. */
typedef struct qb__revalue {
    bool used; /* values are converted; else numbers stay as stored */
    qb_dtype from, to;
    double base, step; /* value = base + step * stored number */
    bool given;        /* --range is given */
    double low, high;  /* values of the integers 0 and maximum */
    size_t pixels;     /* pixels of an image */
    uint64_t outside;  /* number of clamped values */
} qb__revalue;

/* Decide the conversion. QB_BAD_ARGUMENT for a type that cannot be written, or a range that does not fit it. */
qb_status qb__revalue_begin(const qb_convert_options *options, const qb__source *source, qb__revalue *revalue);
/* Bytes per image that conversion needs, in addition to the stored image. */
size_t qb__revalue_bytes(const qb__revalue *revalue);
/* Find the range of integers from all values if none is given; reads `block` images at a time into `images`, which has
 * room for the floats after them. */
qb_status qb__revalue_range(qb__revalue *revalue, qb__source *source, size_t block, char *images, const qb_env *env);
/* Convert `count` images. *out: the result, which lies behind `images`, or `images` itself if nothing is converted. */
qb_status qb__revalue_images(qb__revalue *revalue, size_t threads, size_t count, char *images, const void **out);
/* Report the number of clamped values. */
void qb__revalue_report(const qb__revalue *revalue, double all, cJSON *report, const qb_env *env);
