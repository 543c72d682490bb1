/* SPDX-License-Identifier: MIT */
/* A source whose images are mirrored: for a detector whose columns or rows count in the other direction. */
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/plain/source.h"

typedef struct mirrored {
    qb__source base;
    qb__source *stored;
    bool columns, rows;
} mirrored;

static void swap_values(char *a, char *b, size_t bytes) {
    char kept[8];
    memcpy(kept, a, bytes);
    memcpy(a, b, bytes);
    memcpy(b, kept, bytes);
}

static void swap_rows(char *a, char *b, size_t bytes) {
    enum { PIECE = 512 };
    char kept[PIECE];
    for (size_t at = 0; at < bytes; at += PIECE) {
        const size_t n = qb__smaller(PIECE, bytes - at);
        memcpy(kept, a + at, n);
        memcpy(a + at, b + at, n);
        memcpy(b + at, kept, n);
    }
}

static void mirror(const mirrored *m, char *image, size_t rows) {
    const size_t columns = m->base.shape[2], size = qb_dtype_size(m->base.dtype), row = columns * size;
    for (size_t r = 0; m->columns && r < rows; r++)
        for (size_t c = 0; c < columns / 2; c++)
            swap_values(image + r * row + c * size, image + r * row + (columns - 1 - c) * size, size);
    for (size_t r = 0; m->rows && r < rows / 2; r++) swap_rows(image + r * row, image + (rows - 1 - r) * row, row);
}

static qb_status read_mirrored(qb__source *source, const qb__region *region, void *out) {
    const mirrored *m = (const mirrored *)source;
    const size_t rows = region->row1 - region->row0;
    qb__region stored = *region;
    if (m->rows) stored.row0 = source->shape[1] - region->row1, stored.row1 = source->shape[1] - region->row0;
    const qb_status status = m->stored->read(m->stored, &stored, out);
    for (size_t i = 0; status == QB_OK && i < region->count; i++)
        mirror(m, (char *)out + i * rows * qb__source_row_bytes(source), rows);
    return status;
}

static void release_mirrored(qb__source *source) { qb__source_close(((mirrored *)source)->stored); }

qb_status qb__source_mirror(qb__source **source, bool columns, bool rows) {
    qb__source *stored = *source;
    mirrored *m;
    if (!columns && !rows) return QB_OK;
    const qb_status status = qb__source_create(sizeof *m, stored->format, stored->path, &m);
    if (status != QB_OK) {
        qb__source_close(stored);
        *source = NULL;
        return status;
    }
    char *const path = m->base.path;
    m->base = *stored;
    m->base.path = path;
    m->base.read = read_mirrored;
    m->base.release = release_mirrored;
    m->stored = stored;
    m->columns = columns, m->rows = rows;
    stored->holes = NULL; /* moved to the new source */
    *source = &m->base;
    return QB_OK;
}
