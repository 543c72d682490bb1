/* SPDX-License-Identifier: MIT */
/* A source whose values are slope * stored number + offset, as stated in MetaImage and HDF5 files, and NaN where the
 * stored number stands for a missing value. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/status.h"
#include "base/warning.h"
#include "io/plain/source.h"
#include "quickbeam/io.h"

typedef struct scaled {
    qb__source base;
    qb__source *stored;
    double slope, offset;
    float missing; /* stored number of missing values; NAN: none */
    double wrap;   /* added to negative stored numbers: they are counts without a sign */
} scaled;

enum { BLOCK = 4 << 20 }; /* bytes of stored numbers at once, or one layer of chunks */

size_t qb__source_images_at_once(const qb__source *stored, size_t image) {
    const size_t many = BLOCK / image, thick = stored->chunk[0];
    return many > thick ? many - many % thick : thick;
}

qb_status qb__source_read_changed(qb__source *stored, const qb__region *region, const void *self,
                                  qb__source_change *change, float *out) {
    const size_t values = (region->row1 - region->row0) * stored->shape[2];
    const size_t image = values * qb_dtype_size(stored->dtype);
    char *raw;
    if (!region->count || !image) return QB_OK;
    const size_t most = qb__smaller(qb__source_images_at_once(stored, image), region->count);
    qb_status status = qb__alloc(most, image, &raw);
    for (size_t i = 0; i < region->count && status == QB_OK; i += most) {
        qb__region part = *region;
        part.first += i * region->step;
        part.count = qb__smaller(most, region->count - i);
        status = stored->read(stored, &part, raw);
        for (size_t k = 0; k < part.count && status == QB_OK; k++, out += values) {
            qb_convert_to_float(raw + k * image, stored->dtype, values, out);
            change(self, part.first + k * part.step, region, out, values);
        }
    }
    qb__free(raw);
    return status;
}

static void scale(const void *self, size_t image, const qb__region *region, float *to, size_t count) {
    const scaled *s = self;
    (void)image, (void)region;
    for (size_t k = 0; k < count; k++)
        to[k] = to[k] == s->missing ? NAN : (float)(s->slope * ((double)to[k] + (to[k] < 0 ? s->wrap : 0)) + s->offset);
}

static qb_status read_scaled(qb__source *source, const qb__region *region, void *out) {
    return qb__source_read_changed(((scaled *)source)->stored, region, source, scale, out);
}

static void release_scaled(qb__source *source) { qb__source_close(((scaled *)source)->stored); }

static qb_status wrap(qb__source **source, double slope, double offset, double missing) {
    qb__source *stored = *source;
    scaled *s;
    qb_status status = isfinite(slope) && isfinite(offset) && slope != 0
                           ? qb__source_create(sizeof *s, stored->format, stored->path, &s)
                           : qb__fail(QB_BAD_INPUT, "%s: its values are said to be %g times the stored ones plus %g",
                                      stored->path, slope, offset);
    if (status != QB_OK) {
        qb__source_close(stored);
        *source = NULL;
        return status;
    }
    qb__source fresh = s->base;
    s->base = *stored;
    s->base.path = fresh.path;
    s->base.dtype = QB_F32;
    s->base.cache += qb__source_images_at_once(stored, stored->shape[1] * qb__source_row_bytes(stored)) *
                     stored->shape[1] * qb__source_row_bytes(stored);
    s->base.read = read_scaled;
    s->base.release = release_scaled;
    s->stored = stored;
    stored->holes = NULL; /* moved to the new source */
    s->slope = slope, s->offset = offset, s->missing = (float)missing;
    if (!*s->base.trouble && (slope != 1 || offset != 0))
        snprintf(s->base.trouble, sizeof s->base.trouble,
                 "values are %g times the stored ones plus %g, as the file says" QB__CODE("scaled-values"), slope,
                 offset);
    *source = &s->base;
    return QB_OK;
}

/* The other sign of the same size, as FITS stores it: by an offset of half the range. QB_F32: there is none. */
static qb_dtype other_sign(qb_dtype dtype, double offset) {
    if (dtype == QB_I16 && offset == 32768) return QB_U16;
    if (dtype == QB_I32 && offset == 2147483648.0) return QB_U32;
    return dtype == QB_U8 && offset == -128 ? QB_I8 : QB_F32;
}

static qb_status read_other_sign(qb__source *source, const qb__region *region, void *out) {
    qb__source *stored = ((const scaled *)source)->stored;
    const qb_status status = stored->read(stored, region, out);
    const size_t size = qb_dtype_size(stored->dtype);
    const size_t values = region->count * (region->row1 - region->row0) * source->shape[2];
    for (size_t i = 0; status == QB_OK && size == 1 && i < values; i++) ((uint8_t *)out)[i] ^= 0x80;
    for (size_t i = 0; status == QB_OK && size == 2 && i < values; i++) ((uint16_t *)out)[i] ^= 0x8000;
    for (size_t i = 0; status == QB_OK && size == 4 && i < values; i++) ((uint32_t *)out)[i] ^= 0x80000000;
    return status;
}

qb_status qb__source_scale(qb__source **source, double slope, double offset) {
    if (slope == 1 && offset == 0) return QB_OK;
    const qb_dtype whole = slope == 1 ? other_sign((*source)->dtype, offset) : QB_F32;
    if (whole == QB_F32) return wrap(source, slope, offset, NAN);
    const size_t cache = (*source)->cache;
    QB__OR_RETURN(wrap(source, 1, 0, NAN));
    (*source)->dtype = whole;
    (*source)->cache = cache;
    (*source)->read = read_other_sign;
    return QB_OK;
}

/* Whether a number of that type can have the value. */
static bool is_of(qb_dtype dtype, double value) {
    const bool is_signed = dtype == QB_I8 || dtype == QB_I16 || dtype == QB_I32;
    const double most = qb__dtype_most(dtype);
    return qb_dtype_is_float(dtype) || (value == floor(value) && value >= (is_signed ? -most - 1 : 0) && value <= most);
}

qb_status qb__source_values(qb__source **source, double slope, double offset, double missing) {
    const qb_dtype stored = (*source)->dtype;
    const bool sign = slope == 1 && other_sign(stored, offset) != QB_F32, quiet = !*(*source)->trouble;
    if (isnan(missing) || !is_of(stored, missing)) return qb__source_scale(source, slope, offset);
    /* a dark, and a pixel behind something opaque, may well have no count */
    if (missing == 0 && !qb_dtype_is_float(stored) && slope == 1 && offset == 0) {
        qb__source_tell(*source, "numbers that are 0 are said to be missing, and are read as counts of 0");
        return QB_OK;
    }
    qb__source_tell(*source, "numbers that are %g count as missing", missing);
    const bool whole = !qb_dtype_is_float(stored) && slope == 1 && offset == floor(offset);
    const qb_status status = wrap(source, slope, offset, missing);
    if (status == QB_OK) (*source)->integers |= whole;
    if (status == QB_OK && sign && quiet) (*source)->trouble[0] = 0;
    return status;
}

bool qb__source_wrap(qb__source *source) {
    scaled *s = (scaled *)source;
    if (source->read != read_scaled || s->slope != 1 || s->offset != 0) return false;
    const qb_dtype stored = s->stored->dtype;
    if (stored != QB_I8 && stored != QB_I16 && stored != QB_I32) return false;
    s->wrap = ldexp(1, 8 * (int)qb_dtype_size(stored));
    return true;
}

qb_status qb__source_float(qb__source **source) { return wrap(source, 1, 0, NAN); }
