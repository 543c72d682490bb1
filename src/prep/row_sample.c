/* SPDX-License-Identifier: MIT */
#include "prep/row_sample.h"

#include <math.h>

#include "base/memory.h"
#include "base/status.h"
#include "io/scan/scan.h"

enum { VIEWS = QB__SAMPLE_VIEWS, GROUPS = QB__SAMPLE_GROUPS };

typedef struct look {
    qb_scan *scan;
    size_t row[GROUPS], rows; /* sampled rows that are held here, and their number */
    size_t first;             /* number of the group of row[0] */
    size_t of;                /* sampled views of the whole scan */
    size_t view0, views;      /* the sampled views that are held here: number of the first, and how many */
    size_t bytes;             /* bytes of a row */
    /* sampled rows and views that are read at once, together with all rows and views in between */
    size_t tall, wide;
    char *raw;
} look;

/* Choose the rows. With fewer rows than groups each row is a group. */
static void choose_rows(look *l, const qb__row_sample *p) {
    const size_t rows = qb__ceil_div(p->row1 - p->row0, p->step), groups = qb__smaller(GROUPS, rows);
    for (size_t g = 0; g < groups; g++) {
        const size_t row = p->row0 + (2 * g + 1) * rows / (2 * groups) * p->step;
        if (row < p->held0) l->first = g + 1;
        if (row >= p->held0 && row < p->held1) l->row[l->rows++] = row;
    }
}

static size_t view_of(const look *l, size_t i) {
    return (2 * (l->view0 + i) + 1) * qb_scan_describe(l->scan)->views / (2 * l->of);
}

static void choose_views(look *l, const qb__row_sample *p) {
    l->of = qb__smaller(VIEWS, qb_scan_describe(l->scan)->views);
    while (l->view0 < l->of && view_of(l, 0) < p->view0) l->view0++;
    while (l->view0 + l->views < l->of && view_of(l, l->views) < p->view1) l->views++;
}

static size_t block_bytes(const look *l) {
    return (l->row[l->tall - 1] - l->row[0] + 1) * (view_of(l, l->wide - 1) - view_of(l, 0) + 1) * l->bytes;
}

/* Choose how many sampled rows and views are read at once: all of them if one storage chunk holds several. */
static void choose_block(look *l, size_t room) {
    const qb_scan_info *info = qb_scan_describe(l->scan);
    const qb__source *source = l->scan->parts.data.source;
    const size_t piece = source ? source->chunk[l->scan->sinogram ? 1 : 0] : 1;
    l->tall = l->wide = 1;
    if (l->rows > 1 && info->chunk_rows > l->row[1] - l->row[0]) l->tall = l->rows;
    if (l->views > 1 && piece > qb__scan_stored(l->scan, view_of(l, 1)) - qb__scan_stored(l->scan, view_of(l, 0)))
        l->wide = l->views;
    if (block_bytes(l) > room) l->wide = 1;
    if (block_bytes(l) > room) l->tall = 1;
}

static qb_status look_at_block(const look *l, size_t r0, size_t view0, qb__line_looker at, void *self) {
    const size_t row0 = l->row[r0], rows = l->row[r0 + l->tall - 1] + 1 - row0, first = view_of(l, view0);
    const qb_status status =
        qb_scan_read(l->scan, first, view_of(l, view0 + l->wide - 1) + 1, row0, row0 + rows, l->raw);
    for (size_t r = r0; status == QB_OK && r < r0 + l->tall; r++) {
        for (size_t v = view0; v < view0 + l->wide; v++) {
            const char *raw = l->raw + ((view_of(l, v) - first) * rows + l->row[r] - row0) * l->bytes;
            at(self, (l->first + r) * VIEWS + l->view0 + v, view_of(l, v), l->row[r], raw);
        }
    }
    return status;
}

qb_status qb__row_sample_read(qb_scan *scan, const qb__row_sample *where, qb__line_looker at, void *self) {
    const qb_scan_info *info = qb_scan_describe(scan);
    look l = {.scan = scan, .bytes = info->columns * qb_dtype_size(info->dtype)};
    choose_rows(&l, where);
    choose_views(&l, where);
    if (l.rows == 0 || l.views == 0) return QB_OK;
    choose_block(&l, where->room);
    qb_status status = qb__alloc(block_bytes(&l), 1, &l.raw);
    for (size_t row = 0; status == QB_OK && row < l.rows; row += l.tall)
        for (size_t view = 0; status == QB_OK && view < l.views; view += l.wide)
            status = look_at_block(&l, row, view, at, self);
    qb__free(l.raw);
    return status;
}

size_t qb__views_affordable(const qb_scan *scan, size_t rows) {
    const double SMALL = 256 << 20, PART = 0.03;
    const qb_scan_info *info = qb_scan_describe(scan);
    const qb__source *source = scan->parts.data.source;
    const double views = (double)info->views, height = (double)info->rows;
    const double all = views * height * (double)info->columns * (double)qb_dtype_size(info->dtype);
    const double tall = fmin(1, (double)(rows * qb__larger(1, info->chunk_rows)) / height);
    const double deep = source ? (double)qb__larger(1, source->chunk[scan->sinogram ? 1 : 0]) : 1;
    if (all <= SMALL || tall <= PART) return info->views;
    return (size_t)fmin(views, PART * views / (tall * deep));
}
