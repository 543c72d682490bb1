/* SPDX-License-Identifier: MIT */
/* Sizes and type of a Zarr array, and the value of numbers that are missing. */
#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/status.h"
#include "io/zarr/zarr.h"
#include "quickbeam/io.h"

qb_status qb__zarr_sizes(const char *path, const char *name, const cJSON *list, int axes, size_t n[3]) {
    enum { MOST = 1 << 30 };
    for (int i = 0; i < 3; i++) n[i] = 1;
    if (cJSON_GetArraySize(list) != axes)
        return qb__fail(QB_BAD_INPUT, "%s: %s has %d numbers, not %d", path, name, cJSON_GetArraySize(list), axes);
    for (int i = 0; i < axes; i++) {
        const double value = cJSON_GetNumberValue(cJSON_GetArrayItem(list, i));
        const int axis = 3 - axes + i;
        if (!(value >= 1 && value <= MOST) || value != floor(value))
            return qb__fail(QB_BAD_INPUT, "%s: number %d of its %s is %g, not one from 1 to %d", path, i + 1, name,
                            value, MOST);
        if (axis < 0 && value > 1)
            return qb__fail(QB_UNSUPPORTED,
                            "%s: axis %d of %d has %s %.0f, and 1 is needed: save one time and one channel of it", path,
                            i + 1, axes, name, value);
        if (axis >= 0) n[axis] = (size_t)value;
    }
    return QB_OK;
}

static const struct {
    const char *two, *three; /* names in versions 2 and 3 */
    qb_dtype dtype;
} types[] = {{"u1", "uint8", QB_U8},    {"i1", "int8", QB_I8},     {"u2", "uint16", QB_U16},
             {"i2", "int16", QB_I16},   {"u4", "uint32", QB_U32},  {"i4", "int32", QB_I32},
             {"f2", "float16", QB_F16}, {"f4", "float32", QB_F32}, {"f8", "float64", QB_F64}};

qb_status qb__zarr_type(const char *path, const char *name, qb__zarr_array *a) {
    const bool two = a->version == 2, sized = *name == '<' || *name == '>' || *name == '|';
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        if (strcmp(two ? types[i].two : types[i].three, two && sized ? name + 1 : name) != 0) continue;
        a->dtype = types[i].dtype;
        a->swap = two && *name == '>';
        return QB_OK;
    }
    return qb__fail(QB_UNSUPPORTED, "%s: its type %.24s cannot be read: save it as integers of up to 32 bits or floats",
                    path, name);
}

static bool fits_type(double value, qb_dtype dtype) {
    const double most = qb__dtype_most(dtype);
    const bool is_signed = dtype == QB_I8 || dtype == QB_I16 || dtype == QB_I32;
    return isinf(most) || (value == floor(value) && value >= (is_signed ? -most - 1 : 0) && value <= most);
}

/* Words for floats; version 3 may also state their bits, as 0x7fc00000. */
static bool float_of(const char *text, qb_dtype dtype, double *out) {
    const size_t bytes = qb_dtype_size(dtype);
    float single = 0;
    char *end = "";
    if (strcmp(text, "NaN") == 0)
        *out = NAN;
    else if (strcmp(text, "Infinity") == 0 || strcmp(text, "-Infinity") == 0)
        *out = *text == '-' ? -INFINITY : INFINITY;
    else if (strncmp(text, "0x", 2) == 0 && strlen(text) == 2 + 2 * bytes) {
        const uint64_t bits = strtoull(text, &end, 16);
        if (dtype == QB_F64)
            memcpy(out, &bits, sizeof bits);
        else
            qb_convert_to_float(&bits, dtype, 1, &single), *out = (double)single;
    } else
        return false;
    return *end == 0;
}

qb_status qb__zarr_fill(const char *path, const cJSON *fill, qb__zarr_array *a) {
    const char *text = cJSON_GetStringValue(fill);
    char shown[48] = "";
    if (!fill || cJSON_IsNull(fill)) return QB_OK;
    if (cJSON_IsNumber(fill)) a->fill = fill->valuedouble;
    if (text ? qb_dtype_is_float(a->dtype) && float_of(text, a->dtype, &a->fill)
             : cJSON_IsNumber(fill) && fits_type(a->fill, a->dtype))
        return QB_OK;
    cJSON_PrintPreallocated((cJSON *)fill, shown, sizeof shown, false);
    return qb__fail(QB_BAD_INPUT, "%s: its fill_value %.40s is no %s number: correct it, or write null", path, shown,
                    qb_dtype_name(a->dtype));
}
