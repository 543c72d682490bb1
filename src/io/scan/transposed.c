/* SPDX-License-Identifier: MIT */
/* --transpose: a source whose axes have another order than [view][row][column]. */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/scan/open_parts.h"

typedef struct transposed {
    qb__source base;
    qb__source *stored;
    int at[3]; /* the stored axes of views, rows and columns */
} transposed;

/* Indices first, first + step, ... (count) of an axis. */
typedef struct span {
    size_t first, count, step;
} span;

/* Copy numbers of one stored image, rows from `row0` on with all columns, to their positions. */
static void scatter(const transposed *t, const span wanted[3], const size_t stride[3], const char *image, size_t row0,
                    char *out) {
    const size_t size = qb_dtype_size(t->base.dtype), columns = t->stored->shape[2];
    const int row = t->at[0] == 1 ? 0 : t->at[1] == 1 ? 1 : 2, column = t->at[0] == 2 ? 0 : t->at[1] == 2 ? 1 : 2;
    const span *rows = &wanted[row], *across = &wanted[column];
    for (size_t i = 0; i < rows->count; i++) {
        const char *line = image + (rows->first + i * rows->step - row0) * columns * size;
        char *to = out + i * stride[row] * size;
        for (size_t j = 0; j < across->count; j++)
            memcpy(to + j * stride[column] * size, line + (across->first + j * across->step) * size, size);
    }
}

static qb_status read_transposed(qb__source *source, const qb__region *r, void *out) {
    const transposed *t = (const transposed *)source;
    const size_t size = qb_dtype_size(source->dtype);
    const span wanted[3] = {{r->first, r->count, r->step}, {r->row0, r->row1 - r->row0, 1}, {0, source->shape[2], 1}};
    const size_t stride[3] = {wanted[1].count * wanted[2].count, wanted[2].count, 1};
    const int image = t->at[0] == 0 ? 0 : t->at[1] == 0 ? 1 : 2, row = t->at[0] == 1 ? 0 : t->at[1] == 1 ? 1 : 2;
    const span *images = &wanted[image], *rows = &wanted[row];
    char *buffer;
    if (!images->count || !rows->count || !source->shape[2]) return QB_OK;
    qb__region part = {0, 1, 1, rows->first, rows->first + (rows->count - 1) * rows->step + 1};
    qb_status status = qb__alloc((part.row1 - part.row0) * t->stored->shape[2], size, &buffer);
    for (size_t i = 0; i < images->count && status == QB_OK; i++) {
        part.first = images->first + i * images->step;
        status = t->stored->read(t->stored, &part, buffer);
        if (status == QB_OK) scatter(t, wanted, stride, buffer, part.row0, (char *)out + i * stride[image] * size);
    }
    qb__free(buffer);
    return status;
}

static void release_transposed(qb__source *source) { qb__source_close(((transposed *)source)->stored); }

/* "columns,rows,views": the stored axes, the slowest first. */
static qb_status parse(const char *text, int at[3]) {
    static const char *const names[] = {"views", "rows", "columns"};
    const char *word = text;
    at[0] = at[1] = at[2] = -1;
    for (int axis = 0; axis < 3; axis++) {
        const size_t n = strcspn(word, ",");
        for (int k = 0; k < 3; k++)
            if (n > 0 && n <= strlen(names[k]) && strncmp(word, names[k], n) == 0) at[k] = axis;
        word += n + (word[n] == ',');
    }
    if (!*word && at[0] >= 0 && at[1] >= 0 && at[2] >= 0) return QB_OK;
    return qb__fail(QB_BAD_ARGUMENT,
                    "--transpose %.60s: name the axes of the file, the slowest first, such as columns,rows,views",
                    text);
}

qb_status qb__source_transpose(qb__source **source, const char *text) {
    qb__source *stored = *source;
    transposed *t;
    int at[3];
    qb_status status = parse(text, at);
    if (status == QB_OK && stored->holes)
        status = qb__fail(QB_UNSUPPORTED, "%s: --transpose needs all images, and some are missing", stored->path);
    if (status == QB_OK) status = qb__source_create(sizeof *t, stored->format, stored->path, &t);
    if (status != QB_OK) return status;
    char *const path = t->base.path;
    const double sides[3] = {stored->voxel[2], stored->voxel[1], stored->voxel[0]}; /* along the stored axes */
    t->base = *stored;
    t->base.path = path;
    t->base.read = read_transposed;
    t->base.release = release_transposed;
    t->stored = stored;
    for (int k = 0; k < 3; k++) {
        t->at[k] = at[k];
        t->base.shape[k] = stored->shape[at[k]];
        t->base.chunk[k] = stored->chunk[at[k]];
        t->base.voxel[2 - k] = sides[at[k]];
    }
    t->base.cache += stored->shape[1] * qb__source_row_bytes(stored);
    *source = &t->base;
    return QB_OK;
}
