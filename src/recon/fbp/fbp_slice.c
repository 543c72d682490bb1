/* SPDX-License-Identifier: MIT */
/* Computes single slices on the CPU, for any engine, to find the range of integers. */

#include "base/log.h"
#include "base/memory.h"
#include "base/select.h"
#include "base/status.h"
#include "center/center.h"
#include "recon/fbp/fbp_cpu.h"

typedef struct slice {
    const qb__fbp *fbp;
    const qb__running *run;
    size_t row;
    char *raw, *packed;
    char **scratch;          /* [thread] */
    qb__prep_counts *counts; /* [thread] discarded, because rows are counted when the volume is computed */
    float *image;
} slice;

static void filter(void *context, size_t view, int worker) {
    const slice *s = context;
    const qb__fbp_worker has = {s->run->prepare, s->scratch[worker], &s->counts[worker]};
    qb__fbp_filter_view(s->fbp, &has, view, 1, s->row, s->raw, s->packed);
}

static void backproject(void *context, size_t tile, int worker) {
    const slice *s = context;
    qb__fbp_tile(s->fbp, 1, tile, s->packed, s->image, s->scratch[worker]);
}

static size_t slice_bytes(const qb__fbp *fbp) {
    return fbp->info->views * qb__fbp_raw_rows(fbp, 1) * qb__fbp_raw_row(fbp) + qb__fbp_packed_bytes(fbp, 1) +
           (size_t)fbp->threads * qb__fbp_scratch(fbp, 1);
}

static qb_status allocate(slice *s) {
    const qb__fbp *fbp = s->fbp;
    const size_t threads = (size_t)fbp->threads;
    QB__OR_RETURN(qb__alloc(fbp->info->views * qb__fbp_raw_rows(fbp, 1), qb__fbp_raw_row(fbp), &s->raw));
    QB__OR_RETURN(qb__alloc(qb__fbp_packed_bytes(fbp, 1), 1, &s->packed));
    QB__OR_RETURN(qb__alloc(threads, sizeof *s->counts, &s->counts));
    QB__OR_RETURN(qb__alloc(threads, sizeof *s->scratch, &s->scratch));
    for (size_t i = 0; i < threads; i++) QB__OR_RETURN(qb__alloc(qb__fbp_scratch(fbp, 1), 1, &s->scratch[i]));
    return QB_OK;
}

/* Make one slice from one detector row into image[ny][nx], with the axis set by qb__fbp_aim. */
static qb_status make_slice(const qb__fbp *fbp, const qb__running *run, size_t row, float *image) {
    slice s = {.fbp = fbp, .run = run, .row = row, .image = image};
    size_t first, end;
    qb__fbp_window(fbp, row, 1, &first, &end);
    qb_status status = allocate(&s);
    if (status == QB_OK) status = qb_scan_read(fbp->scan, 0, fbp->info->views, first, end, s.raw);
    if (status == QB_OK) {
        qb__pool_for(run->pool, fbp->info->views, filter, &s);
        qb__pool_for(run->pool, qb__fbp_tiles(fbp), backproject, &s);
    }
    for (int i = 0; s.scratch && i < fbp->threads; i++) qb__free(s.scratch[i]);
    QB__FREE(s.scratch, s.counts, s.raw, s.packed);
    return status;
}

static size_t pixels(const qb__fbp *fbp) { return fbp->grid.n[0] * fbp->grid.n[1]; }

/* The middle slice decides the range; 1 in 10,000 pixels at either end may be clipped. */
qb_status qb__fbp_range(void *plan, const qb__running *run, double *low, double *high) {
    const qb__fbp *fbp = plan;
    const size_t count = pixels(fbp), row = fbp->first_row + fbp->grid.n[2] / 2 * fbp->step;
    float *image;
    qb_status status = qb__alloc(count, sizeof *image, &image);
    if (status == QB_OK) status = make_slice(fbp, run, row, image);
    if (status == QB_OK) {
        double shift = fbp->options->hu > 0 ? -1000.0 : 0.0;
        const size_t end = count - 1 - count / 10000;
        *high = qb__float_at(image, count, end) + shift;
        *low = qb__float_at(image, end + 1, count / 10000) + shift;
        if (*high <= *low) *high = *low + 1;
        qb__info(run->env, "integer range %g..%g, from slice %zu; give --range LO,HI to fix it", *low, *high, row);
    }
    qb__free(image);
    return status;
}

size_t qb__fbp_range_bytes(const void *plan) {
    const qb__fbp *fbp = plan;
    return slice_bytes(fbp) + pixels(fbp) * sizeof(float);
}
