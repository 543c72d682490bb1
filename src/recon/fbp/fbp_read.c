/* SPDX-License-Identifier: MIT */
/* The stage that reads a chunk's raw numbers, and their layout. */
#include <string.h>

#include "base/memory.h"
#include "base/share.h"
#include "base/status.h"
#include "io/scan/scan.h"
#include "recon/fbp/fbp.h"

/* Views of a reading task, after which cancelling is checked; more if they are small, because threads are started for
 * each task. */
enum { READ_VIEWS = 128, READ_BYTES = 128 << 20 };

size_t qb__fbp_chunk_slices(const qb__fbp *fbp, size_t chunk) {
    size_t size = fbp->reader.cut.slices, first = chunk * size;
    return qb__smaller(size, qb__run_count(fbp->reader.cut.all_slices) - first);
}

size_t qb__fbp_chunk_row(const qb__fbp *fbp, size_t chunk) {
    return fbp->first_row + (fbp->reader.cut.all_slices.first + chunk * fbp->reader.cut.slices) * fbp->step;
}

size_t qb__fbp_raw_row(const qb__fbp *fbp) { return fbp->info->columns * qb_dtype_size(fbp->info->dtype); }

size_t qb__fbp_row_stride(const qb__fbp *fbp) { return qb__round_up(fbp->width, 16); }

size_t qb__fbp_part_first(size_t slices, size_t parts, size_t part) {
    return qb__smaller(part * qb__ceil_div(slices, parts), slices);
}

/* Adjacent rows come as [view][row][column] in one pass over the file, rows farther apart as [row][view][column], one
 * pass each. If several devices share a chunk, each has a run of its slices, one after the other. */
size_t qb__fbp_raw_offset(const qb__fbp *fbp, size_t slices, size_t parts, size_t view, size_t s) {
    size_t part = s / qb__ceil_div(slices, parts), views = fbp->info->views;
    size_t first = qb__fbp_part_first(slices, parts, part);
    size_t count = qb__fbp_part_first(slices, parts, part + 1) - first;
    size_t row = fbp->step > 1 ? s * views + view : first * views + view * count + s - first;
    return row * qb__fbp_raw_row(fbp);
}

size_t qb__fbp_raw_rows(const qb__fbp *fbp, size_t slices) {
    if (!fbp->roll.maps && fbp->step == 1) slices += 2 * fbp->near;
    return fbp->roll.maps ? qb__rolled_rows_most(&fbp->rolled, (slices - 1) * fbp->step + 1) : slices;
}

void qb__fbp_rows(const void *plan, size_t first, size_t count, size_t *row0, size_t *row1) {
    const qb__fbp *fbp = plan;
    qb__fbp_window(fbp, fbp->first_row + first * fbp->step, count, row0, row1);
}

void qb__fbp_window(const qb__fbp *fbp, size_t first_row, size_t slices, size_t *first, size_t *end) {
    *first = first_row;
    *end = first_row + (slices - 1) * fbp->step + 1;
    if (fbp->roll.maps) qb__rolled_rows_window(&fbp->rolled, *first, *end, first, end);
}

/* ---- rows read ahead ---- */

/* If storage chunks have many rows, read as many rows at once as memory allows, for whole chunks of the job. */
size_t qb__fbp_read_ahead(qb__fbp *fbp, const qb__cut *cut, size_t left) {
    fbp->reader.cache_rows = 0;
    if (qb__run_count(cut->all_slices) == 0) return 0;
    const qb_scan_info *info = fbp->info;
    size_t rows = (qb__run_count(cut->all_slices) - 1) * fbp->step + 1, bytes = info->views * qb__fbp_raw_row(fbp);
    size_t per_chunk = cut->slices * fbp->step, fit = left / bytes;
    size_t wanted = fit < rows ? fit / per_chunk * per_chunk : rows;
    bool helps = !fbp->roll.maps && info->chunk_rows > 1 && cut->slabs > 1 && wanted > per_chunk;
    fbp->reader.cache_rows = helps ? wanted : 0;
    return fbp->reader.cache_rows * bytes;
}

qb_status qb__fbp_open(void *plan, const qb__cut *cut) {
    qb__fbp *fbp = plan;
    qb__fbp_reader *reader = &fbp->reader;
    qb__free(reader->cache);
    reader->cache = NULL;
    reader->cut = *cut;
    reader->parts = 1;
    reader->cache_first = reader->cache_end = 0;
    if (!reader->cache_rows) return QB_OK;
    return qb__alloc(reader->cache_rows * fbp->info->views, qb__fbp_raw_row(fbp), &reader->cache);
}

void qb__fbp_close(void *plan, bool named) {
    (void)named;
    qb__fbp_reader *reader = &((qb__fbp *)plan)->reader;
    qb__free(reader->cache);
    reader->cache = NULL;
}

void qb__fbp_read_less(qb__fbp *fbp, struct qb_tool_filtered *filtered) { fbp->reader.filtered = filtered; }

/* Read as many rows as fit, of all views, and keep them until they are used, so that storage chunks of many rows are
 * read once. */
static qb_status fill_cache(qb__fbp *fbp, size_t row) {
    qb__fbp_reader *reader = &fbp->reader;
    size_t last =
        fbp->first_row + (reader->cut.all_slices.first + qb__run_count(reader->cut.all_slices) - 1) * fbp->step + 1;
    reader->cache_first = row;
    reader->cache_end = qb__smaller(row + reader->cache_rows, last);
    return qb_scan_read(fbp->scan, 0, fbp->info->views, row, reader->cache_end, reader->cache);
}

/* Copies rows from the cache to a chunk; a task does 16 views, from view0 + 16 i on. */
typedef struct from_cache {
    const qb__fbp *fbp;
    size_t view0, view1, slices, row0;
    char *out;
} from_cache;

enum { VIEWS_TOGETHER = 16 };

static qb_status copy_views(void *context, size_t piece, size_t worker) {
    const from_cache *c = context;
    const qb__fbp *fbp = c->fbp;
    const qb__fbp_reader *reader = &fbp->reader;
    const size_t bytes = qb__fbp_raw_row(fbp), rows = reader->cache_end - reader->cache_first;
    const size_t first = c->view0 + piece * VIEWS_TOGETHER, end = qb__smaller(first + VIEWS_TOGETHER, c->view1);
    (void)worker;
    for (size_t view = first; view < end; view++) {
        for (size_t s = 0; s < c->slices; s++) {
            const size_t row = c->row0 + s * fbp->step - reader->cache_first;
            memcpy(c->out + qb__fbp_raw_offset(fbp, c->slices, reader->parts, view, s),
                   reader->cache + (view * rows + row) * bytes, bytes);
        }
    }
    return QB_OK;
}

static qb_status copy_from_cache(const qb__fbp *fbp, size_t view0, size_t view1, size_t slices, size_t row0,
                                 char *out) {
    from_cache c = {fbp, view0, view1, slices, row0, out};
    const size_t threads = qb__smaller(fbp->scan->parts.data.source->threads, QB__SHARE_MOST);
    return qb__share(threads, qb__ceil_div(view1 - view0, VIEWS_TOGETHER), copy_views, &c);
}

/* ---- the stage ---- */

/* Storage chunks are read in one call, so that no chunk is unpacked for several tasks. */
static size_t read_views(const qb__fbp *fbp) {
    const size_t view = fbp->reader.cut.slices * qb__fbp_raw_row(fbp);
    return fbp->info->chunk_rows > 1 ? fbp->info->views : qb__larger(READ_VIEWS, READ_BYTES / view);
}

void qb__fbp_read_for(qb__fbp *fbp, bool left, size_t margin, size_t parts) {
    fbp->reader.left = left;
    fbp->reader.margin = margin;
    fbp->reader.parts = parts;
}

void qb__fbp_read_window(const qb__fbp *fbp, size_t chunk, size_t *first, size_t *end) {
    const size_t row0 = qb__fbp_chunk_row(fbp, chunk), margin = fbp->reader.margin;
    *first = row0 - qb__smaller(margin, row0);
    *end = qb__smaller(row0 + qb__fbp_chunk_slices(fbp, chunk) + margin, fbp->info->rows);
}

static size_t read_tasks(void *self, size_t chunk) {
    (void)chunk;
    const qb__fbp *fbp = self;
    return fbp->reader.left ? 1 : qb__ceil_div(fbp->info->views, read_views(fbp));
}

static qb_status read_run(void *self, size_t chunk, size_t task, int worker, const void *in, void *out) {
    (void)worker, (void)in;
    qb__fbp *fbp = self;
    const qb__fbp_reader *reader = &fbp->reader;
    size_t slices = qb__fbp_chunk_slices(fbp, chunk), row0 = qb__fbp_chunk_row(fbp, chunk);
    size_t view0 = task * read_views(fbp), parts = reader->parts;
    size_t view1 = qb__smaller(view0 + read_views(fbp), fbp->info->views);
    char *raw = out;
    bool ready;
    qb__filtered_rows(reader->filtered, chunk, &ready);
    if (reader->left || ready) return QB_OK;
    if (fbp->roll.maps) {
        size_t first, end;
        qb__fbp_window(fbp, row0, slices, &first, &end);
        return qb_scan_read(fbp->scan, view0, view1, first, end, raw + view0 * (end - first) * qb__fbp_raw_row(fbp));
    }
    if (reader->margin) {
        size_t first, end;
        qb__fbp_read_window(fbp, chunk, &first, &end);
        return qb__scan_read_past(fbp->scan, view0, view1, first, end,
                                  raw + view0 * (end - first) * qb__fbp_raw_row(fbp));
    }
    if (reader->cache) {
        qb_status status = QB_OK;
        size_t last = row0 + (slices - 1) * fbp->step;
        /* The cache holds whole chunks of the job, so if the first row is in it, all rows are. */
        if (row0 < reader->cache_first || last >= reader->cache_end) status = fill_cache(fbp, row0);
        return status == QB_OK ? copy_from_cache(fbp, view0, view1, slices, row0, raw) : status;
    }
    size_t run = fbp->step == 1 ? qb__ceil_div(slices, parts) : 1; /* rows of one pass over the file */
    for (size_t s = 0; s < slices; s += run) {
        size_t row = row0 + s * fbp->step, end = qb__smaller(s + run, slices) - s;
        QB__OR_RETURN(qb_scan_read(fbp->scan, view0, view1, row, row + end,
                                   raw + qb__fbp_raw_offset(fbp, slices, parts, view0, s)));
    }
    return QB_OK;
}

int qb__fbp_stages(void *plan, const qb__cut *cut, qb__stage *stages) {
    const qb__fbp *fbp = plan;
    const size_t slice = fbp->info->views * qb__fbp_raw_row(fbp);
    stages[0] =
        (qb__stage){.name = "read",
                    .self = plan,
                    .blocking = true,
                    .slots = cut->slots,
                    .slot_bytes = qb__fbp_raw_rows(fbp, cut->slices) * slice,
                    .last_bytes = qb__fbp_raw_rows(fbp, qb__cut_last(cut, qb__run_count(cut->all_slices))) * slice,
                    .tasks = read_tasks,
                    .run = read_run};
    return 1;
}
