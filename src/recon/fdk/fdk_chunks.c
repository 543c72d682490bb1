/* SPDX-License-Identifier: MIT */
/* How a cone-beam reconstruction is cut so that it fits into memory. */
#include <math.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/status.h"
#include "cpu/features.h"
#include "recon/fdk/fdk.h"

static qb__fdk_window window_of(const qb__fdk *fdk, size_t z0, size_t z1) {
    qb__fdk_window w = {.z0 = z0, .z1 = z1, .rows = qb__bp_cone_rows(&fdk->problem, z0, z1)};
    if (fdk->resampled)
        qb__upright_rows(&fdk->upright, w.rows.r0, w.rows.r1, QB__RESAMPLE_MARGIN, &w.raw.first,
                         &w.raw.end);
    else
        w.raw = (qb__rows){w.rows.r0, w.rows.r1};
    return w;
}

/* What all slabs take together, each filtering its own rows, in rows of a view and slices. */
typedef struct effort {
    double rows, raw_rows, slices;
} effort;

/* A slab's slices in the kernel's time for whole layers: seven tenths of a layer's are spent on it
 * however few of its slices are wanted. */
static double slices_worth(const qb__layers *layers, size_t slices) {
    size_t whole = (slices + layers->thickness - 1) / layers->thickness * layers->thickness;
    return 0.7 * (double)whole + 0.3 * (double)slices;
}

/* Rows that are read for some: storage may come in pieces that are unpacked whole. */
static double rows_read(const qb_scan_info *info, const qb__rows *raw) {
    size_t piece = info->chunk_rows > 0 ? info->chunk_rows : 1;
    size_t first = raw->first / piece * piece, end = (raw->end + piece - 1) / piece * piece;
    return (double)(end < info->rows ? end : info->rows) - (double)first;
}

/* Cut; find the most rows and the largest packed views that a slab needs. A variant's layout may
 * depend on where the rows lie, not only on how many they are. */
static effort cut_slabs(qb__fdk *fdk, const qb__layers *layers, size_t thickness, size_t *cut) {
    effort sum = {0};
    fdk->slabs = qb__cut_slabs(layers, fdk->problem.nz, thickness, cut);
    fdk->slices = fdk->window_rows = fdk->raw_rows = 1;
    fdk->view_bytes = 64;
    for (size_t slab = 0; slab < fdk->slabs; slab++) {
        qb__fdk_window w = window_of(fdk, cut[slab], cut[slab + 1]);
        size_t rows = w.rows.r1 - w.rows.r0, raw = w.raw.end - w.raw.first;
        fdk->window[slab] = w;
        if (w.z1 - w.z0 > fdk->slices) fdk->slices = w.z1 - w.z0;
        if (rows == 0) continue;
        size_t bytes = fdk->variant->view_bytes(&fdk->problem, w.rows);
        if (rows > fdk->window_rows) fdk->window_rows = rows;
        if (raw > fdk->raw_rows) fdk->raw_rows = raw;
        if (bytes > fdk->view_bytes) fdk->view_bytes = bytes;
        sum.rows += (double)rows;
        sum.raw_rows += rows_read(fdk->info, &w.raw);
        sum.slices += slices_worth(layers, w.z1 - w.z0);
    }
    return sum;
}

static size_t fixed_bytes(const qb__fdk *fdk) {
    enum { THREAD_BYTES = 48 << 10, LIBRARY_BYTES = 1 << 20 };
    const qb_scan_info *info = fdk->info;
    size_t field = info->rows * info->columns * sizeof(float);
    size_t bytes = qb__resident_bytes() + LIBRARY_BYTES + (size_t)(fdk->threads + 2) * THREAD_BYTES;
    if (info->quantity == QB_COUNTS && info->flats) bytes += 2 * field;
    bytes += info->cache_bytes;
    if (fdk->same_weights) bytes += fdk->geometry->rows * fdk->geometry->columns * sizeof(float);
    if (fdk->output.preview) bytes += fdk->grid.n[0] * fdk->grid.n[1] * sizeof(float);
    return bytes;
}

/* Bytes for a number of views a block and of buffers a ring; the slabs are cut. */
static size_t bytes_for(qb__fdk *fdk, size_t views, unsigned slots) {
    qb__stage stages[QB__STAGES_MAX];
    fdk->views = views;
    fdk->blocks = (fdk->problem.views + views - 1) / views;
    fdk->slots = slots;
    int n = qb__fdk_stages(fdk, stages);
    fdk->memory = fdk->fixed_bytes + qb__pipeline_bytes(stages, n) +
                  (size_t)fdk->threads * qb__fdk_scratch(fdk);
    return fdk->memory;
}

/* About how long it takes, with guesses that need be right to a factor of two: a core filters a
 * value in 5 ns, resamples one in 15, moves a voxel in and out of the sums in 1; files pass at 1.5
 * and 1 GB/s. With two buffers a ring, stages overlap, but for the last slab's writing and the
 * first block's way there; with one they take turns. */
static double seconds_for(const qb__fdk *fdk, const effort *sum) {
    const qb__bp_cone_problem *p = &fdk->problem;
    double views = (double)p->views, slice = (double)p->nx * (double)p->ny;
    double updates = sum->slices * slice * views;
    double filter = sum->rows * views * (double)fdk->width * (fdk->resampled ? 20e-9 : 5e-9);
    double project =
        updates / (fdk->variant->speed * 1e9) + (double)fdk->blocks * (double)p->nz * slice * 1e-9;
    double line = (double)fdk->info->columns * (double)qb_dtype_size(fdk->info->dtype);
    double read = sum->raw_rows * views * line / (fdk->info->chunk_rows > 1 ? 0.2e9 : 1.5e9);
    double write =
        (double)p->nz * slice * (double)qb_dtype_size(qb__volume_dtype(&fdk->volume)) / 1e9;
    double compute = (filter + project) / fdk->threads;
    if (fdk->slots < 2) return read + compute + write;
    double slowest = fmax(compute, fmax(read, write)), slabs = (double)fdk->slabs;
    return slowest + write / slabs + (read + filter / fdk->threads) / (slabs * (double)fdk->blocks);
}

typedef struct choice {
    size_t thickness, views;
    unsigned slots;
    double seconds;
} choice;

/* All numbers of views a block and buffers a ring for one way of cutting. */
static void try_blocks(qb__fdk *fdk, const effort *sum, size_t thickness, size_t cap, choice *best,
                       size_t *smallest) {
    size_t most = 64;
    while (most < 2 * (size_t)fdk->threads) most *= 2;
    for (size_t views = most; views >= 8; views /= 2) {
        for (unsigned slots = 2; slots >= 1; slots--) {
            size_t block = views < fdk->problem.views ? views : fdk->problem.views;
            size_t bytes = bytes_for(fdk, block, slots);
            if (bytes < *smallest) *smallest = bytes;
            double seconds = seconds_for(fdk, sum);
            if (bytes > cap || !(seconds < best->seconds)) continue;
            *best = (choice){thickness, block, slots, seconds};
        }
    }
}

/* Whatever is forecast to be fastest among what fits. */
qb_status qb__fdk_decide_chunks(qb__fdk *fdk, const qb_env *env) {
    size_t cap = qb__memory_cap(env), nz = fdk->problem.nz, smallest = SIZE_MAX, *cut = NULL;
    qb__layers layers = {.thickness = 1};
    choice best = {.seconds = INFINITY};
    if (fdk->variant->layers) layers = fdk->variant->layers(&fdk->problem);
    fdk->threads = env && env->threads > 0 ? env->threads : qb__cpu_count();
    fdk->fixed_bytes = fixed_bytes(fdk);
    qb_status status;
    QB__TRY(qb__alloc(nz + 2, sizeof *cut, &cut));
    QB__TRY(qb__alloc(nz + 1, sizeof *fdk->window, &fdk->window));
    /* Once all overlaps and cutting on has not helped four times, it will not. */
    int idle = 0;
    for (size_t t = nz; t > 0 && idle < 4; t = qb__thinner_slab(&layers, nz, t)) {
        effort sum = cut_slabs(fdk, &layers, t, cut);
        try_blocks(fdk, &sum, t, cap, &best, &smallest);
        idle = best.slots < 2 || best.thickness == t ? 0 : idle + 1;
    }
    if (best.thickness == 0) {
        status = qb__fail(QB_BAD_ARGUMENT,
                          "--max-ram of %.1f MiB is too small: even thin slabs need %.1f MiB",
                          (double)cap / 1048576.0, (double)smallest / 1048576.0);
        goto out;
    }
    cut_slabs(fdk, &layers, best.thickness, cut);
    bytes_for(fdk, best.views, best.slots);
    fdk->forecast = best.seconds;
out:
    qb__free(cut);
    return status;
}
