/* SPDX-License-Identifier: MIT */
#include "io/vendor/frame_files.h"

#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/plain/source.h"

/* The packed data, with the position of the next number. */
typedef struct packed {
    const unsigned char *table, *data;
    uint64_t table_bytes, bytes, at;
} packed;

static bool take(packed *p, size_t size, int32_t *value) {
    if (size > p->bytes - p->at) return false;
    const unsigned char *b = p->data + p->at;
    p->at += size;
    if (size == 1)
        *value = (int8_t)b[0];
    else if (size == 2)
        *value = (int16_t)(b[0] | b[1] << 8);
    else
        *value = (int32_t)(b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24);
    return true;
}

/* Pixel number k of the image, after those before it. Sums wrap, as in the programs that write them. */
static bool unpack(packed *p, size_t columns, size_t k, int32_t *image) {
    if (k <= columns) return take(p, 4, &image[k]);
    const size_t number = k - columns - 1;
    if (number / 4 >= p->table_bytes) return false;
    const unsigned code = p->table[number / 4] >> (2 * (number % 4)) & 3;
    int32_t difference;
    if (code > 2 || !take(p, (size_t)1 << code, &difference)) return false;
    image[k] = (int32_t)((uint32_t)difference + (uint32_t)image[k - 1] + (uint32_t)image[k - columns] -
                         (uint32_t)image[k - columns - 1]);
    return true;
}

qb_status qb__differences_read(const char *path, const qb__frame_head *head, size_t row0, size_t row1, int32_t *out) {
    const size_t columns = head->columns;
    unsigned char *table = NULL, *data = NULL;
    int32_t *image = NULL;
    qb_status status;
    QB__TRY(qb__alloc(head->table_bytes + 1, 1, &table));
    QB__TRY(qb__alloc(head->bytes, 1, &data));
    QB__TRY(qb__alloc(row1, columns * sizeof *image, &image));
    QB__TRY(qb__pread_values(path, head->table, head->table_bytes, 1, false, table));
    QB__TRY(qb__pread_values(path, head->at, head->bytes, 1, false, data));
    packed p = {table, data, head->table_bytes, head->bytes, 0};
    for (size_t k = 0; k < row1 * columns; k++)
        if (!unpack(&p, columns, k, image))
            QB__TRY(qb__fail(QB_BAD_INPUT, "%s: its packed data end, or are broken, in row %zu", path, k / columns));
    memcpy(out, image + row0 * columns, (row1 - row0) * columns * sizeof *out);
out:
    QB__FREE(table, data, image);
    return status;
}
