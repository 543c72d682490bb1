/* SPDX-License-Identifier: MIT */
#ifndef QB_RECON_CONVERT_REVALUE_H
#define QB_RECON_CONVERT_REVALUE_H

#include <stdint.h>

#include "base/json.h"
#include "io/plain/source.h"
#include "quickbeam/recon.h"

/* --dtype of qb convert: the numbers of a volume in another type; the values that they stand for stay. */
typedef struct qb__revalue {
    bool used; /* else numbers stay as they are stored */
    qb_dtype from, to;
    double base, step; /* value = base + step * stored number */
    bool given;        /* --range */
    double low, high;  /* what 0 and the largest of integers stand for */
    size_t pixels;     /* of an image */
    uint64_t outside;  /* values that were clamped */
} qb__revalue;

/* QB_BAD_ARGUMENT for a type that is not written, or a range that does not go with it. */
qb_status qb__revalue_begin(const qb_convert_options *options, const qb__source *source, qb__revalue *revalue);
/* Bytes of an image besides the stored one. */
size_t qb__revalue_bytes(const qb__revalue *revalue);
/* Finds the range of integers where none is given, by all values; reads `block` images at a time into `images`, which have room for the
 * floats behind them. */
qb_status qb__revalue_range(qb__revalue *revalue, qb__source *source, size_t block, char *images, const qb_env *env);
/* *out: `count` images, converted; they lie behind `images`, or are these. */
qb_status qb__revalue_images(qb__revalue *revalue, size_t threads, size_t count, char *images, const void **out);
/* Says how many values were clamped. */
void qb__revalue_report(const qb__revalue *revalue, double all, cJSON *report, const qb_env *env);

#endif
