/* SPDX-License-Identifier: MIT */
/* A source whose values above a limit are not measured: integers become the largest number of their type, which counts
 * as saturated, floating-point numbers NaN. */
#include <math.h>
#include <stdint.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/status.h"
#include "io/plain/source.h"

typedef struct ceiling {
    qb__source base;
    qb__source *stored;
    double limit;
} ceiling;

#define LIMIT(type, top)                                                                                               \
    do {                                                                                                               \
        type *v = values;                                                                                              \
        for (size_t i = 0; i < count; i++) v[i] = (double)v[i] > limit ? (type)(top) : v[i];                           \
    } while (0)

static void apply(qb_dtype dtype, void *values, size_t count, double limit) {
    switch (dtype) {
    case QB_U8: LIMIT(uint8_t, UINT8_MAX); break;
    case QB_I8: LIMIT(int8_t, INT8_MAX); break;
    case QB_U16: LIMIT(uint16_t, UINT16_MAX); break;
    case QB_I16: LIMIT(int16_t, INT16_MAX); break;
    case QB_U32: LIMIT(uint32_t, UINT32_MAX); break;
    case QB_I32: LIMIT(int32_t, INT32_MAX); break;
    case QB_F32: LIMIT(float, NAN); break;
    case QB_F64: LIMIT(double, NAN); break;
    case QB_F16: break; /* no detector counts in it */
    }
}

static qb_status read_limited(qb__source *source, const qb__region *region, void *out) {
    const ceiling *c = (const ceiling *)source;
    const qb_status status = c->stored->read(c->stored, region, out);
    if (status == QB_OK)
        apply(source->dtype, out, region->count * (region->row1 - region->row0) * source->shape[2], c->limit);
    return status;
}

static void release_limited(qb__source *source) { qb__source_close(((ceiling *)source)->stored); }

qb_status qb__source_limit_values(qb__source **source, double limit) {
    qb__source *stored = *source;
    ceiling *c;
    if (!qb_dtype_is_float(stored->dtype) && limit >= qb__dtype_most(stored->dtype)) return QB_OK;
    const qb_status status = qb__source_create(sizeof *c, stored->format, stored->path, &c);
    if (status != QB_OK) {
        qb__source_close(stored);
        *source = NULL;
        return status;
    }
    char *const path = c->base.path;
    c->base = *stored;
    c->base.path = path;
    c->base.read = read_limited;
    c->base.release = release_limited;
    c->stored = stored;
    c->limit = limit;
    stored->holes = NULL; /* moved to the new source */
    *source = &c->base;
    return QB_OK;
}
