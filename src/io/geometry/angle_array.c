/* SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "base/status.h"
#include "io/geometry/angle_list.h"
#include "io/formats.h"
#include "quickbeam/io.h"

enum { MOST = 1 << 24 };

static qb_status check_shape(const qb__angle_list *list, const size_t n[3]) {
    size_t count;
    const bool one = n[1] == 1 || n[2] == 1;
    if (n[0] != 1 || !qb__mul(n[1], n[2], 1, &count) || !count || count > MOST)
        return qb__fail(QB_BAD_INPUT, "%s holds %zu x %zu x %zu numbers, which is not a list of angles", list->path,
                        n[0], n[1], n[2]);
    if (list->column > (one ? 1 : n[2]))
        return qb__fail(QB_BAD_INPUT, "%s has no column %zu", list->path, list->column);
    if (one || list->column) return QB_OK;
    return qb__fail(QB_BAD_ARGUMENT, "%s has %zu columns: say which, as in %s:2", list->path, n[2], list->path);
}

/* Doubles are kept; conversion to floats would round whole numbers beyond 2^24. */
static double value_at(const void *raw, qb_dtype dtype, char wide, size_t i) {
    float value;
    if (wide == 'i') return (double)((const int64_t *)raw)[i];
    if (wide == 'u') return (double)((const uint64_t *)raw)[i];
    if (dtype == QB_F64) return ((const double *)raw)[i];
    if (dtype == QB_I32) return ((const int32_t *)raw)[i];
    if (dtype == QB_U32) return ((const uint32_t *)raw)[i];
    qb_convert_to_float((const char *)raw + i * qb_dtype_size(dtype), dtype, 1, &value);
    return (double)value;
}

/* Take the values; from a table only the column of the list. */
static qb_status take_values(qb__angle_list *list, qb__source *source, char wide) {
    const size_t rows = source->shape[1], columns = source->shape[2];
    const bool one = rows == 1 || columns == 1;
    void *raw = NULL;
    qb_status status;
    list->count = one ? rows * columns : rows;
    QB__TRY(qb__alloc(rows * columns, qb_dtype_size(source->dtype), &raw));
    QB__TRY(qb__alloc(list->count, sizeof *list->values, &list->values));
    QB__TRY(source->read(source, &(qb__region){0, 1, 1, 0, rows}, raw));
    for (size_t i = 0; i < list->count; i++)
        list->values[i] = value_at(raw, source->dtype, wide, one ? i : i * columns + list->column - 1);
out:
    qb__free(raw);
    return status;
}

qb_status qb__angle_list_npy(qb__angle_list *list) {
    qb__source *source = NULL;
    char wide = 0;
    qb_status status = qb__npy_open_wide(list->path, &wide, &source);
    if (status == QB_UNSUPPORTED) status = qb__fail_in(status, "angles must be floats or integers");
    if (status == QB_OK) status = check_shape(list, source->shape);
    if (status == QB_OK) status = take_values(list, source, wide);
    qb__source_close(source);
    return status;
}

qb_status qb__angle_list_mat(qb__angle_list *list, const char *name) {
    qb__source *source = NULL;
    qb_status status = qb__mat_open(list->path, name, &source);
    const size_t *n = status == QB_OK ? source->shape : NULL;
    if (n && (n[0] != 1 || (n[1] != 1 && n[2] != 1)))
        status = qb__fail(QB_BAD_INPUT, "%s: %s is %zu x %zu x %zu numbers, which is not a list of angles", list->path,
                          name, n[2], n[1], n[0]);
    if (status == QB_OK) status = take_values(list, source, 0);
    qb__source_close(source);
    return status;
}
