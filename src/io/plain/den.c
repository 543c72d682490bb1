/* SPDX-License-Identifier: MIT */
/* DEN of F. Dennerlein and the KCT programs: 16-bit rows, columns and images, then the numbers, little-endian, columns
 * fastest. The type follows from the file's length: uint16, float32 or float64. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/formats.h"
#include "io/writer.h"

enum { HEADER = 6, LONGEST = 65535 };

static bool type_of(uint64_t bytes, uint64_t numbers, qb_dtype *dtype) {
    static const qb_dtype types[] = {QB_U16, QB_F32, QB_F64};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        *dtype = types[i];
        if (bytes == HEADER + numbers * qb_dtype_size(types[i])) return true;
    }
    return false;
}

qb_status qb__den_open(const char *path, const char *how, qb__source **source) {
    unsigned char head[HEADER] = {0};
    qb__plain plain = {.format = "DEN"};
    uint64_t bytes;
    (void)how;
    *source = NULL;
    qb_status status = qb__file_size(path, &bytes);
    if (status == QB_OK) status = qb__pread_values(path, 0, HEADER, 1, false, head);
    if (status != QB_OK) return status;
    const size_t rows = head[0] | (size_t)head[1] << 8, columns = head[2] | (size_t)head[3] << 8,
                 images = head[4] | (size_t)head[5] << 8;
    if (!rows)
        return qb__fail(QB_UNSUPPORTED,
                        "%s: it is of the extended DEN format (its header begins with 0): save it as legacy DEN", path);
    if (!columns || !images)
        return qb__fail(QB_BAD_INPUT, "%s: its header states %zu x %zu x %zu numbers, which is not possible", path,
                        images, rows, columns);
    if (!type_of(bytes, (uint64_t)images * rows * columns, &plain.dtype))
        return qb__fail(
            QB_BAD_INPUT,
            "%s: a header of 6 bytes and %zu x %zu x %zu numbers of 2, 4 or 8 bytes do not make its %llu bytes", path,
            images, rows, columns, (unsigned long long)bytes);
    plain.shape[0] = images, plain.shape[1] = rows, plain.shape[2] = columns;
    plain.offset = HEADER;
    plain.swap = __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__;
    status = qb__plain_open(path, &plain, source);
    if (status == QB_OK) status = qb__sidecar_apply(path, *source);
    return qb__source_give(status, *source, source);
}

static qb_status begin_den(qb_writer *writer) {
    const qb_stack *s = &writer->stack;
    const size_t order[3] = {s->shape[1], s->shape[2], s->shape[0]};
    unsigned char head[HEADER];
    if (s->dtype != QB_U16 && s->dtype != QB_F32 && s->dtype != QB_F64)
        return qb__fail(QB_BAD_ARGUMENT, "%s: DEN has no %s, only uint16, float32 and float64: use .h5, .npy or .tif",
                        writer->path, qb_dtype_name(s->dtype));
    for (int i = 0; i < 3; i++) {
        if (order[i] > LONGEST)
            return qb__fail(QB_BAD_ARGUMENT, "%s: %zu numbers along an axis; DEN holds %d at most: give .h5",
                            writer->path, order[i], LONGEST);
        head[2 * i] = (unsigned char)order[i], head[2 * i + 1] = (unsigned char)(order[i] >> 8);
    }
    writer->data_offset = HEADER;
    return writer->taken_up ? QB_OK : qb__pwrite_all(writer->fd, writer->path, head, sizeof head, 0);
}

const qb__writer_kind qb__den_writer = {
    .begin = begin_den, .finish = qb__write_sidecar, .resumes = true, .keeps_angles = true};
