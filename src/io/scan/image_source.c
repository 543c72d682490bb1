/* SPDX-License-Identifier: MIT */
/* A source whose images are rotated, mirrored, cropped and binned when they are read. */
#include <math.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/share.h"
#include "base/status.h"
#include "io/scan/image.h"
#include "quickbeam/io.h"

typedef struct changed {
    qb__source base;
    qb__source *stored;
    qb__image image;
    qb__image_map map;
    float top; /* stored numbers from this one on are saturated */
} changed;

enum { BATCH = 16 << 20 }; /* bytes read at a time, or one storage chunk */

/* ---- a line of an image ---- */

/* Stored numbers of an image, from some row on, and the destination of a line of the window. */
typedef struct block {
    const changed *c;
    const char *raw; /* [image][row][stored column] */
    size_t images, rows, first_stored, stored_rows;
    size_t row0; /* first row of the result */
    char *out;   /* [image][rows][column] */
} block;

static const char *pixel_of(const block *b, const char *image, size_t row, size_t column) {
    const qb__image_map *m = &b->c->map;
    const ptrdiff_t r = (ptrdiff_t)row, c = (ptrdiff_t)column;
    const size_t y = (size_t)(m->row[0] + m->row[1] * r + m->row[2] * c) - b->first_stored,
                 x = (size_t)(m->column[0] + m->column[1] * r + m->column[2] * c);
    return image + (y * b->c->stored->shape[2] + x) * qb_dtype_size(b->c->stored->dtype);
}

/* Bytes from one stored pixel to that of the next column of the rotated image. */
static ptrdiff_t stride_of(const block *b) {
    const changed *c = b->c;
    return (c->map.row[2] * (ptrdiff_t)c->stored->shape[2] + c->map.column[2]) *
           (ptrdiff_t)qb_dtype_size(c->stored->dtype);
}

/* Numbers with `stride` bytes distance, copied one after the other. */
static void gather(const char *from, ptrdiff_t stride, size_t count, size_t size, char *to) {
    if (stride == (ptrdiff_t)size) {
        memcpy(to, from, count * size);
        return;
    }
    for (size_t i = 0; i < count; i++, from += stride, to += size) switch (size) {
        case 1: *to = *from; break;
        case 2: memcpy(to, from, 2); break;
        case 4: memcpy(to, from, 4); break;
        default: memcpy(to, from, 8); break;
        }
}

/* Sums are in the order of rows of the rotated image, then columns: the bits do not depend on how much is read at
 * once. */
static void add_line(const qb__image *image, const float *line, float top, double *sum) {
    const size_t bin = image->bin_u;
    for (size_t c = 0; c < image->columns; c++)
        for (size_t i = 0; i < bin; i++) {
            const float value = line[c * bin + i];
            sum[c] += value < top || !(top < INFINITY) ? (double)value : NAN;
        }
}

static void give_line(const qb__image *image, const double *sum, float *out) {
    const double share = image->sum ? 1 : 1 / (double)(image->bin_u * image->bin_v);
    for (size_t c = 0; c < image->columns; c++) out[c] = (float)(sum[c] * share);
}

typedef struct scratch {
    char *raw;
    float *line;
    double *sum;
} scratch;

static void scratch_release(scratch *s) { QB__FREE(s->raw, s->line, s->sum); }

static qb_status scratch_create(const changed *c, size_t lines, scratch *s) {
    const size_t wide = c->image.columns * c->image.bin_u;
    *s = (scratch){0};
    QB__OR_RETURN(qb__alloc(wide, qb_dtype_size(c->stored->dtype), &s->raw));
    QB__OR_RETURN(qb__alloc(wide, sizeof *s->line, &s->line));
    return qb__alloc(lines * c->image.columns, sizeof *s->sum, &s->sum);
}

static void make_line(const block *b, size_t at, const scratch *s) {
    const changed *c = b->c;
    const qb__image *image = &c->image;
    const size_t size = qb_dtype_size(c->stored->dtype), which = at / b->rows, row = b->row0 + at % b->rows;
    const char *raw = b->raw + which * b->stored_rows * c->stored->shape[2] * size;
    char *out = b->out + at * qb__source_row_bytes(&c->base);
    const size_t top = image->first_row + row * image->bin_v;
    if (image->bin_u * image->bin_v == 1) {
        gather(pixel_of(b, raw, top, image->first_column), stride_of(b), image->columns, size, out);
        return;
    }
    memset(s->sum, 0, image->columns * sizeof *s->sum);
    for (size_t i = 0; i < image->bin_v; i++) {
        const size_t wide = image->columns * image->bin_u;
        gather(pixel_of(b, raw, top + i, image->first_column), stride_of(b), wide, size, s->raw);
        qb_convert_to_float(s->raw, c->stored->dtype, wide, s->line);
        add_line(image, s->line, c->top, s->sum);
    }
    give_line(image, s->sum, (float *)(void *)out);
}

enum { LINES = 32 }; /* lines per task of a thread */

static qb_status make_lines(void *context, size_t piece, size_t worker) {
    const block *b = context;
    const size_t all = b->images * b->rows;
    scratch s;
    (void)worker;
    const qb_status status = scratch_create(b->c, 1, &s);
    for (size_t i = piece * LINES; status == QB_OK && i < qb__smaller((piece + 1) * LINES, all); i++)
        make_line(b, i, &s);
    scratch_release(&s);
    return status;
}

/* ---- images of projections ---- */

/* The stored rows for rows of the result. */
static void stored_rows(const changed *c, size_t row0, size_t row1, size_t *first, size_t *end) {
    const qb__image *m = &c->image;
    const ptrdiff_t rows[] = {(ptrdiff_t)(m->first_row + row0 * m->bin_v),
                              (ptrdiff_t)(m->first_row + row1 * m->bin_v) - 1},
                    columns[] = {(ptrdiff_t)m->first_column, (ptrdiff_t)(m->first_column + m->columns * m->bin_u) - 1};
    size_t low = SIZE_MAX, high = 0;
    for (int i = 0; i < 4; i++) {
        const size_t y = (size_t)(c->map.row[0] + c->map.row[1] * rows[i / 2] + c->map.row[2] * columns[i % 2]);
        low = qb__smaller(low, y), high = qb__larger(high, y);
    }
    *first = low, *end = high + 1;
}

static qb_status read_changed(qb__source *source, const qb__region *region, void *out) {
    const changed *c = (const changed *)source;
    qb__source *stored = c->stored;
    const size_t rows = region->row1 - region->row0;
    size_t first, end;
    char *raw = NULL;
    stored_rows(c, region->row0, region->row1, &first, &end);
    const size_t image = (end - first) * qb__source_row_bytes(stored);
    size_t most = qb__larger(qb__larger(1, BATCH / image), stored->chunk[0]);
    if (stored->chunk[0] > 1) most -= most % stored->chunk[0];
    most = qb__smaller(most, region->count);
    qb_status status = qb__alloc(most, image, &raw);
    for (size_t done = 0; status == QB_OK && done < region->count; done += most) {
        const size_t n = qb__smaller(most, region->count - done);
        const qb__region part = {region->first + done * region->step, n, region->step, first, end};
        block b = {.c = c, .raw = raw, .images = n, .rows = rows, .first_stored = first, .stored_rows = end - first};
        b.row0 = region->row0;
        b.out = (char *)out + done * rows * qb__source_row_bytes(source);
        status = stored->read(stored, &part, raw);
        if (status == QB_OK) status = qb__share(source->threads, qb__ceil_div(n * rows, LINES), make_lines, &b);
    }
    qb__free(raw);
    return status;
}

/* ---- sinograms: an image is a detector row, its rows are views ---- */

static qb_status read_row(const changed *c, size_t row, const qb__region *region, char *raw, const scratch *s,
                          char *out) {
    const qb__image *m = &c->image;
    const size_t views = region->row1 - region->row0, size = qb_dtype_size(c->stored->dtype),
                 bytes = qb__source_row_bytes(c->stored), wide = m->columns * m->bin_u;
    const ptrdiff_t first = c->map.column[0] + c->map.column[2] * (ptrdiff_t)m->first_column,
                    stride = c->map.column[2] * (ptrdiff_t)size;
    memset(s->sum, 0, views * m->columns * sizeof *s->sum);
    for (size_t i = 0; i < m->bin_v; i++) {
        const ptrdiff_t at = (ptrdiff_t)(m->first_row + row * m->bin_v + i);
        const qb__region one = {(size_t)(c->map.row[0] + c->map.row[1] * at), 1, 1, region->row0, region->row1};
        QB__OR_RETURN(c->stored->read(c->stored, &one, raw));
        for (size_t v = 0; v < views; v++) {
            const char *from = raw + v * bytes + (size_t)first * size;
            if (m->bin_u * m->bin_v == 1) {
                gather(from, stride, m->columns, size, out + v * m->columns * size);
                continue;
            }
            gather(from, stride, wide, size, s->raw);
            qb_convert_to_float(s->raw, c->stored->dtype, wide, s->line);
            add_line(m, s->line, c->top, s->sum + v * m->columns);
        }
    }
    for (size_t v = 0; m->bin_u * m->bin_v > 1 && v < views; v++)
        give_line(m, s->sum + v * m->columns, (float *)(void *)out + v * m->columns);
    return QB_OK;
}

static qb_status read_sinograms(qb__source *source, const qb__region *region, void *out) {
    const changed *c = (const changed *)source;
    const size_t views = region->row1 - region->row0;
    char *raw = NULL;
    scratch s = {0};
    qb_status status;
    QB__TRY(qb__alloc(views, qb__source_row_bytes(c->stored), &raw));
    QB__TRY(scratch_create(c, views, &s));
    for (size_t i = 0; status == QB_OK && i < region->count; i++)
        status = read_row(c, region->first + i * region->step, region, raw, &s,
                          (char *)out + i * views * qb__source_row_bytes(source));
out:
    scratch_release(&s);
    qb__free(raw);
    return status;
}

/* ---- the source ---- */

static double computes_changed(qb__source *source) {
    qb__source *stored = ((changed *)source)->stored;
    return stored->computes(stored);
}

static void release_changed(qb__source *source) { qb__source_close(((changed *)source)->stored); }

static void set_shape(changed *c, bool sinogram, bool lines) {
    const qb__image *m = &c->image;
    qb__source *base = &c->base;
    const int rows = sinogram ? 0 : 1;
    base->shape[2] = m->columns;
    if (!lines) base->shape[rows] = m->rows;
    base->chunk[2] = qb__smaller(base->chunk[2], m->columns);
    base->chunk[rows] = m->turn % 2 ? m->rows : qb__larger(1, qb__ceil_div(base->chunk[rows], m->bin_v));
    base->chunk[rows] = qb__smaller(base->chunk[rows], base->shape[rows]);
    const size_t image = c->stored->shape[1] * qb__source_row_bytes(c->stored);
    base->cache = c->stored->cache + qb__larger(qb__larger(BATCH, image), image * c->stored->chunk[0]);
}

qb_status qb__source_image(qb__source **source, const qb__image *image, bool sinogram, bool lines) {
    qb__source *stored = *source;
    changed *c;
    const qb_status status = qb__source_create(sizeof *c, stored->format, stored->path, &c);
    if (status != QB_OK) {
        qb__source_close(stored);
        *source = NULL;
        return status;
    }
    char *const path = c->base.path;
    c->base = *stored;
    c->base.path = path;
    c->base.read = sinogram ? read_sinograms : read_changed;
    c->base.release = release_changed;
    if (stored->computes) c->base.computes = computes_changed;
    c->stored = stored;
    c->image = *image;
    if (lines) { /* each line is an image */
        c->image.stored_rows = c->image.whole_rows = c->image.rows = stored->shape[1];
        c->image.flip_v = false, c->image.first_row = 0, c->image.bin_v = 1;
    }
    c->map = qb__image_map_of(&c->image);
    c->top = image->sum ? qb__dtype_top(stored->dtype) : INFINITY;
    if (image->bin_u * image->bin_v > 1) c->base.dtype = QB_F32;
    set_shape(c, sinogram, lines);
    stored->holes = NULL; /* moved to the new source */
    *source = &c->base;
    return QB_OK;
}
