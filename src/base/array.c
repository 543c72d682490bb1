/* SPDX-License-Identifier: MIT */
#include "quickbeam/array.h"

#include <string.h>

#include "base/half.h"
#include "base/memory.h"
#include "base/status.h"
#include "quickbeam/io.h"

static const struct {
    size_t bytes;
    const char *name;
} dtypes[] = {
#define ROW(name, bytes, text) {bytes, text},
    QB_DTYPE_LIST(ROW)
#undef ROW
};

static bool is_known(qb_dtype dtype) {
    return (unsigned)dtype < sizeof dtypes / sizeof dtypes[0];
}

size_t qb_dtype_size(qb_dtype dtype) { return is_known(dtype) ? dtypes[dtype].bytes : 0; }
const char *qb_dtype_name(qb_dtype dtype) { return is_known(dtype) ? dtypes[dtype].name : "unknown"; }
bool qb_dtype_is_float(qb_dtype dtype) { return is_known(dtype) && dtype >= QB_F16; }

bool qb_dtype_parse(const char *text, qb_dtype *dtype) {
    for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++) {
        if (strcmp(text, dtypes[i].name) == 0) {
            *dtype = (qb_dtype)i;
            return true;
        }
    }
    return false;
}

qb_status qb_array_create(qb_dtype dtype, size_t n0, size_t n1, size_t n2, qb_array *array) {
    QB__NEED(array);
    *array = (qb_array){.dtype = dtype, .shape = {n0, n1, n2}};
    size_t count;
    if (!is_known(dtype)) return qb__fail(QB_BAD_ARGUMENT, "there is no dtype %d", (int)dtype);
    if (!qb__mul(n0, n1, n2, &count))
        return qb__fail(QB_NO_MEMORY, "an array of %zu x %zu x %zu is too large", n0, n1, n2);
    return qb__alloc(count, qb_dtype_size(dtype), &array->data);
}

void qb_array_destroy(qb_array *array) {
    if (!array) return;
    qb__free(array->data);
    *array = (qb_array){0};
}

size_t qb_array_count(const qb_array *array) {
    return array->shape[0] * array->shape[1] * array->shape[2];
}

qb_status qb_array_to_float(qb_array *array) {
    QB__NEED(array);
    if (array->dtype == QB_F32) return QB_OK;
    qb_array converted;
    qb_status status =
        qb_array_create(QB_F32, array->shape[0], array->shape[1], array->shape[2], &converted);
    if (status != QB_OK) return status;
    qb_convert_to_float(array->data, array->dtype, qb_array_count(array), converted.data);
    qb_array_destroy(array);
    *array = converted;
    return QB_OK;
}

void qb_convert_to_float(const void *values, qb_dtype dtype, size_t count, float *out) {
    switch (dtype) {
#define WIDEN(name, type)                                                                          \
    case name: {                                                                                   \
        const type *in = values;                                                                   \
        for (size_t i = 0; i < count; i++) out[i] = (float)in[i];                                  \
        break;                                                                                     \
    }
        WIDEN(QB_U8, unsigned char)
        WIDEN(QB_I8, signed char)
        WIDEN(QB_U16, unsigned short)
        WIDEN(QB_I16, short)
        WIDEN(QB_U32, unsigned)
        WIDEN(QB_I32, int)
        WIDEN(QB_F64, double)
#undef WIDEN
    case QB_F16: qb__half_to_float(values, count, out); break;
    case QB_F32: memmove(out, values, count * sizeof *out); break;
    }
}

/* Round to nearest even with one addition: exact for 0 <= x < 2^22. Signed, as vectors have that. */
static inline int quantise(float x, float scale, float low, float top) {
    float q = (x - low) * scale;
    q = q > 0.0f ? q : 0.0f; /* NaN too */
    q = q < top ? q : top;
    return (int)(q + 8388608.0f - 8388608.0f);
}

/* Half floats end at 65504; infinity is no value of a volume. NaN stays. */
static void halve(const float *values, size_t count, unsigned short *out) {
    enum { BLOCK = 256 };
    float block[BLOCK];
    for (size_t at = 0; at < count; at += BLOCK) {
        size_t n = count - at < BLOCK ? count - at : BLOCK;
        for (size_t i = 0; i < n; i++) {
            float v = values[at + i];
            block[i] = v > 65504.0f ? 65504.0f : v < -65504.0f ? -65504.0f : v;
        }
        qb__float_to_half(block, n, out + at);
    }
}

size_t qb_count_outside(const float *values, size_t count, qb_dtype dtype, double low,
                        double high) {
    double half = 0.5 * (high - low) / (dtype == QB_U8 ? 255 : 65535);
    float least = (float)(low - half), most = (float)(high + half);
    size_t outside = 0;
    if (dtype == QB_F32) return 0;
    if (dtype == QB_F16) least = -65519.996f, most = 65519.996f; /* beyond it, rounding makes no 65504 */
    /* Without branches, and counted in what vectors of floats count in. */
    enum { RUN = 1 << 16 };
    for (size_t at = 0; at < count; at += RUN) {
        const size_t n = count - at < RUN ? count - at : RUN;
        int inside = 0;
        for (size_t i = 0; i < n; i++) inside += (values[at + i] >= least) & (values[at + i] <= most);
        outside += n - (size_t)inside;
    }
    return outside;
}

void qb_convert_from_float(const float *values, size_t count, qb_dtype dtype, double low,
                           double high, void *out) {
    float top = dtype == QB_U8 ? 255.0f : 65535.0f;
    float scale = high > low ? (float)(top / (high - low)) : 0.0f, base = (float)low;
    if (dtype == QB_U8) {
        unsigned char *bytes = out;
        for (size_t i = 0; i < count; i++)
            bytes[i] = (unsigned char)quantise(values[i], scale, base, top);
    } else if (dtype == QB_U16) {
        unsigned short *words = out;
        for (size_t i = 0; i < count; i++)
            words[i] = (unsigned short)quantise(values[i], scale, base, top);
    } else if (dtype == QB_F16) {
        halve(values, count, out);
    } else if (out != values) {
        memcpy(out, values, count * sizeof *values);
    }
}
