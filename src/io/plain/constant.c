/* SPDX-License-Identifier: MIT */
/* An image of one number: the flat field of a scanner whose images are already corrected, and whose settings state the
 * count of the open beam. */
#include "base/status.h"
#include "io/plain/source.h"

typedef struct constant {
    qb__source base;
    float value;
} constant;

static qb_status read_constant(qb__source *source, const qb__region *region, void *out) {
    const float value = ((const constant *)source)->value;
    const size_t count = region->count * (region->row1 - region->row0) * source->shape[2];
    float *to = out;
    for (size_t i = 0; i < count; i++) to[i] = value;
    return QB_OK;
}

qb_status qb__source_constant(const qb__source *like, const size_t image[2], double value, qb__source **source) {
    constant *c;
    QB__OR_RETURN(qb__source_create(sizeof *c, like->format, like->path, &c));
    c->base.dtype = QB_F32;
    c->base.shape[0] = 1, c->base.shape[1] = image[0], c->base.shape[2] = image[1];
    c->base.read = read_constant;
    c->value = (float)value;
    *source = &c->base;
    return QB_OK;
}
