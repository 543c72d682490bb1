/* SPDX-License-Identifier: MIT */
/* How a cone-beam reconstruction is cut so that it fits into memory. */
#include "base/memory.h"
#include "base/status.h"
#include "cpu/features.h"
#include "recon/fdk.h"

static qb__fdk_window window_of(const qb__fdk *fdk, size_t slab) {
    size_t z0 = slab * fdk->slices, nz = fdk->problem.nz;
    size_t z1 = z0 + fdk->slices < nz ? z0 + fdk->slices : nz;
    qb__fdk_window w = {.rows = qb__bp_cone_rows(&fdk->problem, z0, z1)};
    if (fdk->resampled)
        qb__upright_rows(&fdk->upright, w.rows.r0, w.rows.r1, QB__RESAMPLE_MARGIN, &w.raw.first,
                         &w.raw.end);
    else
        w.raw = (qb__rows){w.rows.r0, w.rows.r1};
    return w;
}

/* The most rows and the largest packed views that a slab needs. A variant's layout may depend on where
 * the rows lie, not only on how many they are. */
static void find_windows(qb__fdk *fdk) {
    fdk->window_rows = fdk->raw_rows = 1;
    fdk->view_bytes = 64;
    for (size_t slab = 0; slab < fdk->slabs; slab++) {
        qb__fdk_window w = window_of(fdk, slab);
        size_t rows = w.rows.r1 - w.rows.r0, raw = w.raw.end - w.raw.first;
        if (rows == 0) continue;
        size_t bytes = fdk->variant->view_bytes(&fdk->problem, w.rows);
        if (rows > fdk->window_rows) fdk->window_rows = rows;
        if (raw > fdk->raw_rows) fdk->raw_rows = raw;
        if (bytes > fdk->view_bytes) fdk->view_bytes = bytes;
    }
}

static qb_status keep_windows(qb__fdk *fdk) {
    qb_status status = qb__alloc(fdk->slabs, sizeof *fdk->window, &fdk->window);
    for (size_t slab = 0; status == QB_OK && slab < fdk->slabs; slab++)
        fdk->window[slab] = window_of(fdk, slab);
    return status;
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

/* Bytes for a thickness of slabs and a number of views a block; the windows must be known. */
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

/* Thick slabs first: each slab filters its rows anew. Then as many views a block as fit, up to what
 * keeps all threads busy. */
qb_status qb__fdk_decide_chunks(qb__fdk *fdk, const qb_env *env) {
    size_t cap = qb__memory_cap(env), nz = fdk->problem.nz, smallest = 0;
    fdk->threads = env && env->threads > 0 ? env->threads : qb__cpu_count();
    fdk->fixed_bytes = fixed_bytes(fdk);
    for (size_t slabs = 1; slabs <= nz; slabs = slabs < 8 ? slabs + 1 : slabs + slabs / 4) {
        fdk->slices = (nz + slabs - 1) / slabs;
        fdk->slabs = (nz + fdk->slices - 1) / fdk->slices;
        find_windows(fdk);
        for (size_t views = 64; views >= 8; views /= 2) {
            for (unsigned slots = 2; slots >= 1; slots--) {
                size_t block = views < fdk->problem.views ? views : fdk->problem.views;
                smallest = bytes_for(fdk, block, slots);
                if (smallest <= cap) return keep_windows(fdk);
            }
        }
    }
    return qb__fail(QB_BAD_ARGUMENT, "--max-ram of %.1f MiB is too small: even thin slabs need %.1f MiB",
                    (double)cap / 1048576.0, (double)smallest / 1048576.0);
}
