/* SPDX-License-Identifier: MIT */
/* The stages of a cone-beam reconstruction: read, filter (prepares, weights, filters and packs),
 * back-project (a slab gathers all blocks of views), convert, write. */
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "recon/fdk/fdk.h"

enum { READ_VIEWS = 16 }; /* views a reading task */

/* What a chunk is. */
typedef struct piece {
    size_t z0, z1, view0, view1;
    const qb__fdk_window *need;
    bool first; /* block of its slab */
} piece;

static piece piece_of(const qb__fdk *fdk, size_t chunk) {
    size_t slab = chunk / fdk->blocks, block = chunk % fdk->blocks;
    const qb__fdk_window *need = &fdk->window[slab];
    piece p = {.z0 = need->z0, .z1 = need->z1, .view0 = block * fdk->views, .need = need,
               .first = block == 0};
    p.view1 = qb__smaller(p.view0 + fdk->views, fdk->info->views);
    return p;
}

static size_t raw_rows(const piece *p) { return p->need->raw.end - p->need->raw.first; }
static size_t raw_row(const qb__fdk *fdk) {
    return fdk->info->columns * qb_dtype_size(fdk->info->dtype);
}

/* ---- read ---- */

/* Views a task: pieces of packed storage that hold several views are unpacked once a block. */
static size_t read_views(const qb__fdk *fdk) {
    return fdk->info->chunk_rows > 1 ? fdk->views : READ_VIEWS;
}

static size_t read_tasks(void *job, size_t chunk) {
    piece p = piece_of(job, chunk);
    return qb__ceil_div(p.view1 - p.view0, read_views(job));
}

static qb_status read_run(void *job, size_t chunk, size_t task, int worker, const void *in,
                          void *out) {
    (void)worker, (void)in;
    qb__fdk *fdk = job;
    piece p = piece_of(fdk, chunk);
    size_t step = read_views(fdk), first = p.view0 + task * step, end = qb__smaller(first + step, p.view1);
    if (raw_rows(&p) == 0) return QB_OK;
    return qb_scan_read(fdk->scan, first, end, p.need->raw.first, p.need->raw.end,
                        (char *)out + (first - p.view0) * raw_rows(&p) * raw_row(fdk));
}

/* ---- filter ---- */

static size_t filter_tasks(void *job, size_t chunk) {
    piece p = piece_of(job, chunk);
    return p.view1 - p.view0;
}

static qb_status filter_run(void *job, size_t chunk, size_t task, int worker, const void *in,
                            void *out) {
    qb__fdk *fdk = job;
    piece p = piece_of(fdk, chunk);
    if (p.need->rows.r0 == p.need->rows.r1) return QB_OK;
    size_t bytes = fdk->variant->view_bytes(&fdk->problem, p.need->rows);
    qb__fdk_filter_view(fdk, p.need, p.view0 + task,
                        (const char *)in + task * raw_rows(&p) * raw_row(fdk), worker,
                        (char *)out + task * bytes);
    return QB_OK;
}

/* ---- back-project ---- */

typedef struct bricks {
    size_t size[3], count[3];
} bricks;

static bricks bricks_of(const qb__fdk *fdk, const piece *p) {
    size_t n[3] = {fdk->grid.n[0], fdk->grid.n[1], p->z1 - p->z0};
    bricks b;
    for (int i = 0; i < 3; i++) {
        b.size[i] = fdk->variant->brick[i] ? fdk->variant->brick[i] : n[i];
        b.count[i] = qb__ceil_div(n[i], b.size[i]);
    }
    return b;
}

static size_t brick_tasks(void *job, size_t chunk) {
    piece p = piece_of(job, chunk);
    bricks b = bricks_of(job, &p);
    return b.count[0] * b.count[1] * b.count[2];
}

static void clear_brick(const qb__fdk *fdk, qb__bp_cone_brick k, float *out) {
    for (size_t z = k.z0; z < k.z1; z++) {
        for (size_t y = k.y0; y < k.y1; y++)
            memset(out + (z * fdk->grid.n[1] + y) * fdk->grid.n[0] + k.x0, 0,
                   (k.x1 - k.x0) * sizeof *out);
    }
}

static qb_status backproject_run(void *job, size_t chunk, size_t task, int worker, const void *in,
                                 void *out) {
    const qb__fdk *fdk = job;
    piece p = piece_of(fdk, chunk);
    bricks b = bricks_of(fdk, &p);
    size_t x = task % b.count[0] * b.size[0], rest = task / b.count[0];
    size_t y = rest % b.count[1] * b.size[1], z = p.z0 + rest / b.count[1] * b.size[2];
    const size_t *n = fdk->grid.n;
    qb__bp_cone_brick brick = {x, qb__smaller(x + b.size[0], n[0]), y, qb__smaller(y + b.size[1], n[1]),
                               z, qb__smaller(z + b.size[2], p.z1)};
    float *origin = (float *)out - p.z0 * n[0] * n[1];
    if (p.need->rows.r0 == p.need->rows.r1) {
        if (p.first) clear_brick(fdk, brick, origin);
        return QB_OK;
    }
    fdk->variant->run(&fdk->problem, p.view0, p.view1, in, p.need->rows, brick, origin, n[0] * n[1],
                      n[0], !p.first, fdk->scratch[worker]);
    return QB_OK;
}

/* ---- convert, write: a chunk is a slab from here on ---- */

static size_t convert_tasks(void *job, size_t slab) {
    const qb__fdk *fdk = job;
    return fdk->window[slab].z1 - fdk->window[slab].z0;
}

static qb_status convert_run(void *job, size_t slab, size_t task, int worker, const void *in,
                             void *out) {
    (void)worker;
    qb__fdk *fdk = job;
    size_t pixels = fdk->grid.n[0] * fdk->grid.n[1];
    qb__volume_convert(&fdk->volume, fdk->window[slab].z0 + task, (float *)in + task * pixels,
                       (char *)out + task * pixels * qb_dtype_size(qb__volume_dtype(&fdk->volume)));
    return QB_OK;
}

static qb_status write_run(void *job, size_t slab, size_t task, int worker, const void *in,
                           void *out) {
    (void)task, (void)worker, (void)out;
    qb__fdk *fdk = job;
    size_t first = fdk->window[slab].z0, end = fdk->window[slab].z1;
    qb__volume_keep(&fdk->volume, first, end, in);
    return qb_writer_write(fdk->volume.writer, first, end, in);
}

int qb__fdk_stages(const qb__fdk *fdk, qb__stage *stages) {
    size_t voxels = fdk->slices * fdk->grid.n[0] * fdk->grid.n[1];
    unsigned slab_slots = fdk->slabs > 1 ? fdk->slots : 1;
    int n = 0;
    stages[n++] = (qb__stage){.name = "read", .blocking = true, .slots = fdk->slots,
                              .slot_bytes = fdk->views * fdk->raw_rows * raw_row(fdk),
                              .tasks = read_tasks, .run = read_run};
    stages[n++] = (qb__stage){.name = "filter", .slots = fdk->slots, .tasks = filter_tasks,
                              .slot_bytes = fdk->views * fdk->view_bytes,
                              .run = filter_run};
    stages[n++] = (qb__stage){.name = "back-project", .slots = slab_slots, .gather = fdk->blocks,
                              .slot_bytes = voxels * sizeof(float), .tasks = brick_tasks,
                              .run = backproject_run};
    if (qb__volume_converts(&fdk->volume))
        stages[n++] = (qb__stage){.name = "convert", .slots = slab_slots, .tasks = convert_tasks,
                                  .slot_bytes = voxels * qb_dtype_size(qb__volume_dtype(&fdk->volume)),
                                  .run = convert_run};
    stages[n++] = (qb__stage){.name = "write", .blocking = true, .run = write_run};
    return n;
}
