/* SPDX-License-Identifier: MIT */
/* Uploads and downloads of an iterative reconstruction on a device. */
#include <math.h>

#include "base/memory.h"
#include "base/status.h"
#include "recon/iterative/iterative_device.h"

typedef qb__iterative_on_device on_device;

/* ---- line integrals ---- */

size_t qb__iterative_piece_views(const on_device *d, const qb__cut *cut) {
    enum { MANY = 32 };
    const size_t most = d->spill.piece ? qb__smaller(MANY, d->spill.views) : MANY;
    return qb__smaller(most, qb__run_count(cut->all_views));
}

/* Copy the images in the staging memory to views v <= i < v + count of a vector. For a spilled vector they pass through
 * a block on the device. */
static qb_status put_views(on_device *d, size_t v, size_t count, void *block, void *vector) {
    const size_t each = qb__joseph_block_bytes(&d->problem, 1);
    if (!d->spill.piece) return qb__joseph_columns_at(d->plan, d->queue, d->staging, 0, v, v + count, vector);
    QB__OR_RETURN(qb__joseph_columns_at(d->plan, d->queue, d->staging, 0, 0, count, block));
    QB__OR_RETURN(qb__memory_download(d->queue, block, 0, (char *)vector + v * each, count * each));
    return qb__queue_finish(d->queue);
}

/* in_order: `numbers` holds this rank's views in the order of the vector. Otherwise it has the order of the scan. */
static qb_status load_views(on_device *d, const float *numbers, bool in_order, void *vector) {
    const qb__iterative *it = d->run.it;
    const size_t image = it->info->rows * it->info->columns, step = qb__iterative_piece_views(d, &it->cut);
    void *block = NULL;
    qb_status status = QB_OK;
    if (d->spill.piece) QB__TRY(qb__vector_make(&d->vectors, QB__EQUATIONS, 0, &block));
    for (size_t v = 0; v < d->views; v += step) {
        const size_t count = qb__smaller(step, d->views - v), bytes = image * sizeof(float);
        if (in_order) QB__TRY(qb__memory_upload(d->queue, d->staging, 0, numbers + v * image, count * bytes));
        for (size_t i = 0; !in_order && i < count; i++)
            QB__TRY(
                qb__memory_upload(d->queue, d->staging, i * bytes, qb__iterative_view_of(it, numbers, v + i), bytes));
        QB__TRY(put_views(d, v, count, block, vector));
    }
out:
    qb__vector_drop(&d->vectors, block);
    return status;
}

qb_status qb__iterative_device_send(on_device *d, const float *lines) { return load_views(d, lines, true, d->data); }

/* ---- volumes ---- */

/* Get device memory for a whole volume in the host's order. With spilled vectors it is a second vector of unknowns,
 * because two fit on the device while the solver does not compute. */
static qb_status take_staging(on_device *d, void **plain) {
    *plain = d->staging;
    return d->spill.piece ? qb__vector_make(&d->vectors, QB__UNKNOWNS, 0, plain) : QB_OK;
}

static void drop_staging(on_device *d, void *plain) {
    if (plain != d->staging) qb__vector_drop(&d->vectors, plain);
}

/* Fill the slices beyond the volume: with the nearest slice, or with NaN if `only_kept`. */
static qb_status load_beyond(on_device *d, const float *numbers, bool only_kept, qb__memory *plain) {
    const qb__iterative *it = d->run.it;
    const size_t slice = it->grid.n[0] * it->grid.n[1];
    float *none = NULL;
    qb_status status = QB_OK;
    if (only_kept) QB__TRY(qb__alloc(slice, sizeof *none, &none));
    for (size_t i = 0; only_kept && i < slice; i++) none[i] = NAN;
    for (size_t z = 0; z < it->grid.n[2]; z++)
        if (qb__iterative_is_beyond(it, z))
            QB__TRY(qb__memory_upload(d->queue, plain, z * slice * sizeof(float),
                                      only_kept ? none : qb__iterative_slice_of(it, numbers, z),
                                      slice * sizeof(float)));
out:
    status = qb__queue_finish_after(d->queue, status);
    qb__free(none);
    return status;
}

qb_status qb__iterative_device_load(void *self, qb__vector_kind kind, const float *numbers, bool only_kept,
                                    void *vector) {
    on_device *d = self;
    const qb__iterative *it = d->run.it;
    const size_t slice = it->grid.n[0] * it->grid.n[1];
    void *plain = NULL;
    qb_status status;
    if (kind == QB__EQUATIONS) return load_views(d, numbers, false, vector);
    if (qb__iterative_kept(it) == 0) return QB_OK;
    QB__TRY(take_staging(d, &plain));
    if (it->beyond[0] + it->beyond[1]) QB__TRY(load_beyond(d, numbers, only_kept, plain));
    QB__TRY(qb__memory_upload(d->queue, plain, it->beyond[0] * slice * sizeof(float), numbers,
                              qb__iterative_kept(it) * sizeof(float)));
    QB__TRY(qb__joseph_to_lines(d->plan, d->queue, plain, 0, 0, 0, it->grid.n[2], vector));
out:
    drop_staging(d, plain);
    return status;
}

qb_status qb__iterative_device_fetch(on_device *d, float scale, float *volume) {
    const qb__iterative *it = d->run.it;
    const size_t first = it->beyond[0] * it->grid.n[0] * it->grid.n[1] * sizeof(float);
    void *plain = NULL, *x = d->volume;
    qb_status status;
    if (d->spill.piece) {
        QB__TRY(qb__vector_make(&d->vectors, QB__UNKNOWNS, 0, &x));
        qb__vector_copy(&d->vectors, d->volume, x, 0);
        QB__TRY(qb__vectors_status(&d->vectors));
    }
    QB__TRY(take_staging(d, &plain));
    QB__TRY(qb__joseph_from_lines(d->plan, d->queue, x, 0, it->grid.n[2], scale, plain, 0));
    if (qb__iterative_kept(it))
        QB__TRY(qb__memory_download(d->queue, plain, first, volume, qb__iterative_kept(it) * sizeof(float)));
out:
    drop_staging(d, plain);
    if (x != d->volume) qb__vector_drop(&d->vectors, x);
    return status;
}
