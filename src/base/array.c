/* SPDX-License-Identifier: MIT */
#include "base/array.h"

#include <math.h>
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

static bool is_known(qb_dtype dtype) { return (unsigned)dtype < sizeof dtypes / sizeof dtypes[0]; }

size_t qb_dtype_size(qb_dtype dtype) { return is_known(dtype) ? dtypes[dtype].bytes : 0; }
const char *qb_dtype_name(qb_dtype dtype) { return is_known(dtype) ? dtypes[dtype].name : "unknown"; }
bool qb_dtype_is_float(qb_dtype dtype) { return is_known(dtype) && (dtype == QB_F32 || dtype >= QB_F16); }

double qb__dtype_most(qb_dtype dtype) {
    static const double tops[] = {
        [QB_U8] = 255, [QB_I8] = 127, [QB_U16] = 65535, [QB_I16] = 32767, [QB_U32] = 4294967295, [QB_I32] = 2147483647};
    return is_known(dtype) && !qb_dtype_is_float(dtype) ? tops[dtype] : INFINITY;
}

float qb__dtype_top(qb_dtype dtype) { return (float)qb__dtype_most(dtype); }

bool qb_dtype_parse(const char *text, qb_dtype *dtype) {
    for (size_t i = 0; text && dtype && i < sizeof dtypes / sizeof dtypes[0]; i++) {
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

size_t qb_array_count(const qb_array *array) { return array ? array->shape[0] * array->shape[1] * array->shape[2] : 0; }

qb_status qb__array_check(const qb_array *array, const char *what) {
    const size_t *n = array->shape;
    if (!is_known(array->dtype)) return qb__fail(QB_BAD_ARGUMENT, "%s: there is no dtype %d", what, (int)array->dtype);
    if (array->data || qb_array_count(array) == 0) return QB_OK;
    return qb__fail(QB_BAD_ARGUMENT, "%s of %zu x %zu x %zu: data is NULL", what, n[0], n[1], n[2]);
}

qb_status qb_array_to_float(qb_array *array) {
    QB__NEED(array);
    qb_status status = qb__array_check(array, "an array");
    if (status != QB_OK || array->dtype == QB_F32) return status;
    qb_array converted;
    QB__OR_RETURN(qb_array_create(QB_F32, array->shape[0], array->shape[1], array->shape[2], &converted));
    qb_convert_to_float(array->data, array->dtype, qb_array_count(array), converted.data);
    qb_array_destroy(array);
    *array = converted;
    return QB_OK;
}

void qb_convert_to_float(const void *values, qb_dtype dtype, size_t count, float *out) {
    switch (dtype) {
#define WIDEN(name, type)                                                                                              \
    case name: {                                                                                                       \
        const type *in = values;                                                                                       \
        for (size_t i = 0; i < count; i++) out[i] = (float)in[i];                                                      \
        break;                                                                                                         \
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
