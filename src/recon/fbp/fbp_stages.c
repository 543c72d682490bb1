/* SPDX-License-Identifier: MIT */
/* The stages of a parallel-beam reconstruction: read, filter (prepares, filters and packs), back-project,
 * convert where the output is not plain float32, write. A chunk is a run of slices. */
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "recon/fbp/fbp.h"
#include "recon/fbp/fbp_device.h"

enum {
    READ_VIEWS = 128, /* views a reading task: how often cancelling is looked at */
    FILTER_VIEWS = 4, /* views a filtering task */
};

size_t qb__fbp_chunk_slices(const qb__fbp *fbp, size_t chunk) {
    size_t size = fbp->partition.slices_per_chunk, first = chunk * size;
    return qb__smaller(size, fbp->grid.n[2] - first);
}

unsigned qb__fbp_lanes(const qb__fbp *fbp, size_t slices) {
    size_t step = fbp->variant->lanes_step;
    return (unsigned)(qb__ceil_div(slices, step) * step);
}

/* ---- read ---- */

static size_t row_bytes(const qb__fbp *fbp) {
    return fbp->info->columns * qb_dtype_size(fbp->info->dtype);
}

/* A chunk's raw numbers: adjacent rows come as [view][row][column] in one sweep over the file, rows
 * further apart as [row][view][column], one sweep each. Where several devices share a chunk, each has
 * a run of its slices, and these stand behind each other. */
static size_t part_slices(const qb__fbp *fbp, size_t slices, size_t part) {
    size_t per = qb__ceil_div(slices, fbp->parts), first = part * per;
    return first < slices ? qb__smaller(per, slices - first) : 0;
}

size_t qb__fbp_part_first(const qb__fbp *fbp, size_t slices, size_t part) {
    return qb__smaller(part * qb__ceil_div(slices, fbp->parts), slices);
}

static size_t raw_offset(const qb__fbp *fbp, size_t slices, size_t view, size_t s) {
    size_t part = s / qb__ceil_div(slices, fbp->parts);
    size_t first = qb__fbp_part_first(fbp, slices, part), views = fbp->info->views;
    size_t row = fbp->step > 1 ? s * views + view
                               : first * views + view * part_slices(fbp, slices, part) + s - first;
    return row * row_bytes(fbp);
}

/* Storage in pieces is read in one call, lest a piece be unpacked for each task that touches it. */
static size_t read_views(const qb__fbp *fbp) {
    return fbp->info->chunk_rows > 1 ? fbp->info->views : READ_VIEWS;
}

static size_t read_tasks(void *job, size_t chunk) {
    (void)chunk;
    const qb__fbp *fbp = job;
    return qb__ceil_div(fbp->info->views, read_views(fbp));
}

/* Storage in pieces of many rows is read once: as many rows as fit, of all views, kept until used. */
static qb_status fill_cache(qb__fbp *fbp, size_t row) {
    if (row >= fbp->cache_first && row < fbp->cache_end) return QB_OK;
    size_t last = fbp->first_row + (fbp->grid.n[2] - 1) * fbp->step + 1;
    fbp->cache_first = row;
    fbp->cache_end = qb__smaller(row + fbp->cache_rows, last);
    return qb_scan_read(fbp->scan, 0, fbp->info->views, row, fbp->cache_end, fbp->cache);
}

static void copy_from_cache(const qb__fbp *fbp, size_t view0, size_t view1, size_t slices,
                            size_t row0, char *out) {
    size_t bytes = row_bytes(fbp), rows = fbp->cache_end - fbp->cache_first;
    for (size_t view = view0; view < view1; view++) {
        for (size_t s = 0; s < slices; s++) {
            size_t row = row0 + s * fbp->step - fbp->cache_first;
            memcpy(out + raw_offset(fbp, slices, view, s),
                   fbp->cache + (view * rows + row) * bytes, bytes);
        }
    }
}

static qb_status read_run(void *job, size_t chunk, size_t task, int worker, const void *in,
                          void *out) {
    (void)worker, (void)in;
    qb__fbp *fbp = job;
    size_t slices = qb__fbp_chunk_slices(fbp, chunk);
    size_t row0 = fbp->first_row + chunk * fbp->partition.slices_per_chunk * fbp->step;
    size_t view0 = task * read_views(fbp);
    size_t view1 = qb__smaller(view0 + read_views(fbp), fbp->info->views);
    char *raw = out;
    if (fbp->cache) {
        qb_status status = QB_OK;
        size_t last = row0 + (slices - 1) * fbp->step;
        /* The cache is a whole number of chunks, so the first row's presence is all rows' presence. */
        if (row0 < fbp->cache_first || last >= fbp->cache_end) status = fill_cache(fbp, row0);
        if (status == QB_OK) copy_from_cache(fbp, view0, view1, slices, row0, raw);
        return status;
    }
    size_t run = fbp->step == 1 ? qb__ceil_div(slices, fbp->parts) : 1; /* rows a sweep brings */
    for (size_t s = 0; s < slices; s += run) {
        size_t row = row0 + s * fbp->step, end = qb__smaller(s + run, slices) - s;
        qb_status status = qb_scan_read(fbp->scan, view0, view1, row, row + end,
                                        raw + raw_offset(fbp, slices, view0, s));
        if (status != QB_OK) return status;
    }
    return QB_OK;
}

/* ---- filter ---- */

/* A thread's scratch: the rows of one view, then what the filter wants; or a tile's scratch. */
size_t qb__fbp_row_stride(const qb__fbp *fbp) { return qb__ceil_div(fbp->width, 16) * 16; }

static size_t rows_bytes(const qb__fbp *fbp, size_t slices) {
    return slices * qb__fbp_row_stride(fbp) * sizeof(float);
}

/* Beside a device the threads make single slices only, to find the range of integers. */
size_t qb__fbp_scratch_slices(const qb__fbp *fbp) {
    return fbp->device ? 1 : fbp->partition.slices_per_chunk;
}

size_t qb__fbp_scratch(const qb__fbp *fbp, size_t slices_per_chunk) {
    size_t filter = rows_bytes(fbp, slices_per_chunk) + qb__filter_scratch(fbp->filter);
    size_t tile =
        fbp->variant->scratch_bytes(&fbp->problem, qb__fbp_lanes(fbp, slices_per_chunk));
    return filter > tile ? filter : tile;
}

static size_t filter_tasks(void *job, size_t chunk) {
    (void)chunk;
    const qb__fbp *fbp = job;
    return qb__ceil_div(fbp->info->views, FILTER_VIEWS);
}

/* What was measured times its columns' shares, and zeros on both sides of it. */
static void share_out(const qb__fbp *fbp, float *row) {
    const qb__half_fan *fan = &fbp->fan;
    memset(row, 0, fan->before * sizeof *row);
    row += fan->before;
    for (size_t c = 0; c < fan->columns; c++) row[c] *= fbp->share[c];
    memset(row + fan->columns, 0, fan->after * sizeof *row);
}

static void filter_view(qb__fbp *fbp, size_t view, size_t slices, size_t first_row, const char *raw,
                        int worker, void *packed) {
    unsigned lanes = qb__fbp_lanes(fbp, slices);
    size_t stride = qb__fbp_row_stride(fbp);
    float *rows = (float *)fbp->scratch[worker];
    for (size_t s = 0; s < slices; s++) {
        qb__prepare_row(fbp->prepare, view, first_row + s * fbp->step,
                        raw + raw_offset(fbp, slices, view, s),
                        rows + s * stride + fbp->fan.before, &fbp->counts[worker]);
        if (fbp->share) share_out(fbp, rows + s * stride);
    }
    qb__filter_rows(fbp->filter, rows, slices, stride, fbp->weights[view],
                    fbp->scratch[worker] + rows_bytes(fbp, slices));
    char *block = (char *)packed + view * fbp->variant->view_bytes(&fbp->problem, lanes);
    fbp->variant->pack(&fbp->problem, view, lanes, (unsigned)slices, rows, stride, block);
}

static qb_status filter_run(void *job, size_t chunk, size_t task, int worker, const void *in,
                            void *out) {
    qb__fbp *fbp = job;
    size_t slices = qb__fbp_chunk_slices(fbp, chunk);
    size_t row0 = fbp->first_row + chunk * fbp->partition.slices_per_chunk * fbp->step;
    size_t end = qb__smaller((task + 1) * FILTER_VIEWS, fbp->info->views);
    for (size_t view = task * FILTER_VIEWS; view < end; view++)
        filter_view(fbp, view, slices, row0, in, worker, out);
    return QB_OK;
}

/* ---- back-project ---- */

static size_t tiles_x(const qb__fbp *fbp) { return qb__ceil_div(fbp->grid.n[0], fbp->variant->tile); }

static size_t tile_tasks(void *job, size_t chunk) {
    (void)chunk;
    const qb__fbp *fbp = job;
    return tiles_x(fbp) * qb__ceil_div(fbp->grid.n[1], fbp->variant->tile);
}

static void tile_run(const qb__fbp *fbp, size_t slices, size_t task, int worker, const void *packed,
                     float *slab) {
    size_t tile = fbp->variant->tile, nx = fbp->grid.n[0], ny = fbp->grid.n[1];
    size_t x0 = task % tiles_x(fbp) * tile, y0 = task / tiles_x(fbp) * tile;
    fbp->variant->run(&fbp->problem, packed, qb__fbp_lanes(fbp, slices), (unsigned)slices, x0,
                      qb__smaller(x0 + tile, nx), y0, qb__smaller(y0 + tile, ny), slab, nx * ny, nx,
                      fbp->scratch[worker]);
}

static qb_status backproject_run(void *job, size_t chunk, size_t task, int worker, const void *in,
                                 void *out) {
    const qb__fbp *fbp = job;
    tile_run(fbp, qb__fbp_chunk_slices(fbp, chunk), task, worker, in, out);
    return QB_OK;
}

/* ---- convert, write ---- */

static size_t convert_tasks(void *job, size_t chunk) { return qb__fbp_chunk_slices(job, chunk); }

static qb_status convert_run(void *job, size_t chunk, size_t task, int worker, const void *in,
                             void *out) {
    (void)worker;
    qb__fbp *fbp = job;
    size_t pixels = fbp->grid.n[0] * fbp->grid.n[1];
    float *image = (float *)in + task * pixels; /* nobody reads the slab after this */
    qb__volume_convert(&fbp->volume, chunk * fbp->partition.slices_per_chunk + task, image,
                       (char *)out + task * pixels * qb_dtype_size(qb__volume_dtype(&fbp->volume)));
    return QB_OK;
}

static qb_status write_run(void *job, size_t chunk, size_t task, int worker, const void *in,
                           void *out) {
    (void)task, (void)worker, (void)out;
    qb__fbp *fbp = job;
    size_t first = chunk * fbp->partition.slices_per_chunk;
    size_t end = first + qb__fbp_chunk_slices(fbp, chunk);
    qb__volume_keep(&fbp->volume, first, end, in);
    return qb_writer_write(fbp->volume.writer, first, end, in);
}

/* ---- all together ---- */

int qb__fbp_stages(const qb__fbp *fbp, size_t slices, unsigned slots, qb__stage *stages) {
    unsigned lanes = qb__fbp_lanes(fbp, slices);
    size_t voxels = slices * fbp->grid.n[0] * fbp->grid.n[1];
    int n = 0;
    stages[n] = (qb__stage){.name = "read", .blocking = true, .slots = slots,
                            .slot_bytes = slices * fbp->info->views * row_bytes(fbp),
                            .tasks = read_tasks, .run = read_run};
    if (fbp->device) {
        stages[n].create = qb__fbp_device_ring;
        stages[n++].destroy = qb__fbp_device_free_ring;
        n += qb__fbp_device_stages(fbp, slices, slots, stages + n);
    } else {
        n++;
        stages[n++] = (qb__stage){.name = "filter", .slots = slots, .tasks = filter_tasks,
                                  .slot_bytes = fbp->info->views *
                                                fbp->variant->view_bytes(&fbp->problem, lanes),
                                  .run = filter_run};
        stages[n++] = (qb__stage){.name = "back-project", .slots = slots, .tasks = tile_tasks,
                                  .slot_bytes = voxels * sizeof(float), .run = backproject_run};
    }
    if (qb__volume_converts(&fbp->volume))
        stages[n++] = (qb__stage){.name = "convert", .slots = slots, .tasks = convert_tasks,
                                  .slot_bytes = voxels * qb_dtype_size(qb__volume_dtype(&fbp->volume)),
                                  .run = convert_run};
    stages[n++] = (qb__stage){.name = "write", .blocking = true, .run = write_run};
    return n;
}

/* A last, smaller chunk with buffers of its own touches only so much of them. */
static size_t ring_bytes(const qb__fbp *fbp, size_t slices_per_chunk, unsigned slots) {
    qb__stage stages[QB__STAGES_MAX];
    size_t slices = fbp->sweep ? 1 : fbp->grid.n[2], chunks = qb__ceil_div(slices, slices_per_chunk);
    if (chunks > slots)
        return qb__pipeline_bytes(stages, qb__fbp_stages(fbp, slices_per_chunk, slots, stages));
    size_t last = slices - (chunks - 1) * slices_per_chunk;
    size_t bytes = qb__pipeline_bytes(stages, qb__fbp_stages(fbp, last, 1, stages));
    unsigned full = (unsigned)chunks - 1;
    return bytes + qb__pipeline_bytes(stages, qb__fbp_stages(fbp, slices_per_chunk, full, stages));
}

size_t qb__fbp_bytes(const void *context, size_t slices_per_chunk, unsigned slots) {
    const qb__fbp *fbp = context;
    return fbp->fixed_bytes + ring_bytes(fbp, slices_per_chunk, slots) +
           (size_t)fbp->threads * qb__fbp_scratch(fbp, slices_per_chunk);
}

struct slice_job {
    qb__fbp *fbp;
    const char *raw;
    size_t row;
    char *packed;
    float *image;
};

static void slice_filter(void *context, size_t view, int worker) {
    struct slice_job *job = context;
    filter_view(job->fbp, view, 1, job->row, job->raw, worker, job->packed);
}

static void slice_tile(void *context, size_t task, int worker) {
    struct slice_job *job = context;
    tile_run(job->fbp, 1, task, worker, job->packed, job->image);
}

qb_status qb__fbp_slice(qb__fbp *fbp, size_t row, qb__pool *pool, float *image) {
    struct slice_job job = {.fbp = fbp, .row = row, .image = image};
    void *raw = NULL;
    qb_status status;
    QB__TRY(qb__alloc(fbp->info->views, row_bytes(fbp), &raw));
    QB__TRY(qb__alloc(fbp->info->views,
                      fbp->variant->view_bytes(&fbp->problem, qb__fbp_lanes(fbp, 1)), &job.packed));
    QB__TRY(qb_scan_read(fbp->scan, 0, fbp->info->views, row, row + 1, raw));
    job.raw = raw;
    qb__pool_for(pool, fbp->info->views, slice_filter, &job);
    qb__pool_for(pool, tile_tasks(fbp, 0), slice_tile, &job);
out:
    qb__free(raw);
    qb__free(job.packed);
    return status;
}
