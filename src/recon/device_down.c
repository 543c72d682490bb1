/* SPDX-License-Identifier: MIT */
#include "recon/device_arrays.h"

#include "base/memory.h"
#include "base/status.h"

qb__down qb__down_of(const qb_output_options *output, const qb__mask *mask, bool alike) {
    const bool plain = alike || !mask->used;
    const bool converts = output->dtype != QB_F32 && plain && !output->preview && !qb__output_filters(output);
    return (qb__down){.converts = converts,
                      .pixels = mask->grid.n[0] * mask->grid.n[1],
                      .dtype = converts ? output->dtype : QB_F32,
                      .mask = mask};
}

size_t qb__down_host(const qb__down *down, size_t slices) { return slices * down->pixels * qb_dtype_size(down->dtype); }

size_t qb__down_device(const qb__down *down, size_t slices) {
    return down->converts ? qb__convert_bytes(down->dtype, down->pixels, slices, down->mask->used) : 0;
}

size_t qb__down_open_bytes(const qb__down *down) {
    return down->converts && down->mask->used ? down->pixels * (sizeof(float) + 1) : 0;
}

/* The pixels of a slice that the mask hides. */
static qb_status hidden_of(const qb__down *down, unsigned char **hidden) {
    const qb__mask *mask = down->mask;
    float *slice = NULL;
    qb_status status;
    *hidden = NULL;
    QB__TRY(qb__alloc(down->pixels, sizeof *slice, &slice));
    QB__TRY(qb__alloc(down->pixels, 1, hidden));
    qb__fov_mask(&mask->fov, &mask->grid, 0, mask->along, 1, slice);
    for (size_t i = 0; i < down->pixels; i++) (*hidden)[i] = slice[i] != 0;
out:
    qb__free(slice);
    return status;
}

qb_status qb__down_open(const qb__down *down, qb__device *device, qb__queue *queue, const qb__volume_out *volume,
                        size_t slices, qb__convert **convert) {
    unsigned char *hidden = NULL;
    qb_status status = QB_OK;
    *convert = NULL;
    if (!down->converts) return QB_OK;
    if (down->mask->used) QB__TRY(hidden_of(down, &hidden));
    const qb__convert_what what = {.to = qb__conversion_of(down->dtype, volume->low, volume->high),
                                   .pixels = down->pixels,
                                   .slices = slices,
                                   .hidden = hidden,
                                   .instead = down->mask->value,
                                   .shift = volume->hu > 0 ? 1000.0f : 0.0f};
    status = qb__convert_create(device, queue, &what, convert);
out:
    qb__free(hidden);
    return status;
}

qb_status qb__down_run(const qb__down *down, qb__convert *convert, qb__queue *queue, const qb__memory *from,
                       size_t slices, size_t first, size_t count, void *host) {
    if (!convert) return qb__memory_download(queue, from, qb__down_host(down, first), host, qb__down_host(down, count));
    const qb_status status = first == 0 ? qb__convert_run(convert, queue, from, slices) : QB_OK;
    return status == QB_OK ? qb__convert_fetch(convert, queue, first, count, host) : status;
}

qb_status qb__down_count(qb__convert *convert, qb__queue *queue, qb__volume_out *volume) {
    uint64_t outside = 0;
    if (!convert) return QB_OK;
    qb_status status = qb__convert_outside(convert, queue, &outside);
    atomic_fetch_add(&volume->outside, outside);
    return status;
}
