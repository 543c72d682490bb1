/* SPDX-License-Identifier: MIT */
/* What a slab needs of the detector, what a chunk is, and the stage that reads it. */
#include "base/memory.h"
#include "recon/fdk/fdk.h"

enum { READ_VIEWS = 16 }; /* views a reading task */

static qb__fdk_window window_of(const qb__fdk *fdk, size_t z0, size_t z1) {
    qb__fdk_window w = {.z0 = z0, .z1 = z1, .rows = qb__bp_cone_rows(&fdk->problem, z0, z1)};
    if (fdk->resampled)
        qb__upright_rows(&fdk->upright, w.rows.r0, w.rows.r1, QB__RESAMPLE_MARGIN, &w.raw.first,
                         &w.raw.end);
    else
        w.raw = (qb__rows){w.rows.r0, w.rows.r1};
    return w;
}

void qb__fdk_slabs(void *plan, const qb__cut *cut, const size_t *edge) {
    qb__fdk *fdk = plan;
    fdk->window_rows = fdk->raw_rows = 1;
    for (size_t slab = 0; slab < cut->slabs; slab++) {
        qb__fdk_window w = window_of(fdk, edge[slab], edge[slab + 1]);
        size_t rows = w.rows.r1 - w.rows.r0, raw = w.raw.end - w.raw.first;
        fdk->window[slab] = w;
        if (rows == 0) continue;
        if (rows > fdk->window_rows) fdk->window_rows = rows;
        if (raw > fdk->raw_rows) fdk->raw_rows = raw;
    }
}

qb_status qb__fdk_open(void *plan, const qb__cut *cut) {
    qb__fdk *fdk = plan;
    fdk->cut = *cut;
    return QB_OK;
}

qb__fdk_piece qb__fdk_piece_of(const qb__fdk *fdk, size_t chunk) {
    size_t slab = chunk / fdk->cut.blocks, block = chunk % fdk->cut.blocks;
    const qb__fdk_window *need = &fdk->window[slab];
    qb__fdk_piece p = {.z0 = need->z0, .z1 = need->z1, .view0 = block * fdk->cut.views,
                       .need = need, .first = block == 0};
    p.view1 = qb__smaller(p.view0 + fdk->cut.views, fdk->info->views);
    return p;
}

size_t qb__fdk_raw_rows(const qb__fdk_piece *p) { return p->need->raw.end - p->need->raw.first; }
size_t qb__fdk_raw_row(const qb__fdk *fdk) {
    return fdk->info->columns * qb_dtype_size(fdk->info->dtype);
}

/* Views a task: pieces of packed storage that hold several views are unpacked once a block. */
static size_t read_views(const qb__fdk *fdk) {
    return fdk->info->chunk_rows > 1 ? fdk->cut.views : READ_VIEWS;
}

static size_t read_tasks(void *self, size_t chunk) {
    qb__fdk_piece p = qb__fdk_piece_of(self, chunk);
    return qb__ceil_div(p.view1 - p.view0, read_views(self));
}

static qb_status read_run(void *self, size_t chunk, size_t task, int worker, const void *in,
                          void *out) {
    (void)worker, (void)in;
    const qb__fdk *fdk = self;
    qb__fdk_piece p = qb__fdk_piece_of(fdk, chunk);
    size_t step = read_views(fdk), first = p.view0 + task * step, end = qb__smaller(first + step, p.view1);
    if (qb__fdk_raw_rows(&p) == 0) return QB_OK;
    return qb_scan_read(fdk->scan, first, end, p.need->raw.first, p.need->raw.end,
                        (char *)out +
                            (first - p.view0) * qb__fdk_raw_rows(&p) * qb__fdk_raw_row(fdk));
}

int qb__fdk_stages(void *plan, const qb__cut *cut, qb__stage *stages) {
    const qb__fdk *fdk = plan;
    stages[0] = (qb__stage){.name = "read",
                            .self = plan,
                            .blocking = true,
                            .slots = cut->slots,
                            .slot_bytes = cut->views * fdk->raw_rows * qb__fdk_raw_row(fdk),
                            .tasks = read_tasks,
                            .run = read_run};
    return 1;
}
