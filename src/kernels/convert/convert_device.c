/* SPDX-License-Identifier: MIT */
#include "kernels/convert/convert_device.h"

#include "base/memory.h"
#include "base/status.h"

enum {
    ITEMS = 128, /* work items of a group of the kernel */
    MOST = 64    /* groups along the pixels, and along the slices */
};

struct qb__convert {
    qb__convert_what what; /* hidden: only whether there are such pixels */
    qb__program *program;
    qb__kernel *kernel;
    qb__memory *hidden, *numbers;
    qb__memory *counts; /* counts of each group */
};

static const char *const entry[] = {[QB_U8] = "to_uint8", [QB_U16] = "to_uint16", [QB_F16] = "to_float16"};

static const size_t counts_bytes = MOST * MOST * sizeof(uint64_t);

/* One byte if nothing is hidden, because a kernel's argument must be some memory. */
static size_t hidden_bytes(size_t pixels, bool hidden) { return hidden ? pixels : 1; }

size_t qb__convert_bytes(qb_dtype dtype, size_t pixels, size_t slices, bool hidden) {
    return pixels * slices * qb_dtype_size(dtype) + hidden_bytes(pixels, hidden) + counts_bytes;
}

/* Waits also after a failure, because the memory may be released then. */
static qb_status begin(qb__convert *convert, qb__queue *queue) {
    const qb__convert_what *what = &convert->what;
    qb_status status = qb__memory_fill(queue, convert->counts, 0, 0, counts_bytes);
    if (status == QB_OK && what->hidden)
        status = qb__memory_upload(queue, convert->hidden, 0, what->hidden, what->pixels);
    const qb_status done = qb__queue_finish(queue);
    return status == QB_OK ? done : status;
}

qb_status qb__convert_create(qb__device *device, qb__queue *queue, const qb__convert_what *what, qb__convert **out) {
    const size_t hidden = hidden_bytes(what->pixels, what->hidden != NULL);
    qb__convert *convert = NULL;
    qb_status status;
    *out = NULL;
    QB__TRY(qb__alloc(1, sizeof *convert, &convert));
    convert->what = *what;
    QB__TRY(qb__program_build(device, "convert_values.cl", NULL, &convert->program));
    QB__TRY(qb__kernel_get(convert->program, entry[what->to.dtype], &convert->kernel));
    QB__TRY(qb__memory_create(device, what->pixels * what->slices * qb_dtype_size(what->to.dtype), &convert->numbers));
    QB__TRY(qb__memory_create(device, hidden, &convert->hidden));
    QB__TRY(qb__memory_create(device, counts_bytes, &convert->counts));
    QB__TRY(begin(convert, queue));
out:
    if (status != QB_OK) {
        qb__convert_destroy(convert);
        return status;
    }
    *out = convert;
    return QB_OK;
}

void qb__convert_destroy(qb__convert *convert) {
    if (!convert) return;
    QB__MEMORY_DESTROY(convert->numbers, convert->hidden, convert->counts);
    qb__program_release(convert->program);
    qb__free(convert);
}

qb_status qb__convert_run(qb__convert *convert, qb__queue *queue, const qb__memory *from, size_t slices) {
    const qb__convert_what *what = &convert->what;
    const qb__conversion *to = &what->to;
    const uint64_t pixels = what->pixels, all = slices;
    const uint32_t masked = what->hidden != NULL;
    const qb__arg args[] = {QB__MEMORY(from), QB__VALUES(pixels, all, masked), QB__MEMORY(convert->hidden),
                            QB__VALUES(what->instead, what->shift, to->base, to->scale, to->top, to->least, to->most),
                            QB__MEMORIES(convert->numbers, convert->counts)};
    const size_t groups[3] = {qb__smaller(qb__ceil_div(what->pixels, ITEMS), MOST), qb__smaller(slices, MOST), 1};
    const size_t items[3] = {ITEMS, 1, 1};
    if (slices == 0) return QB_OK;
    return qb__kernel_launch(convert->kernel, queue, groups, items, args, sizeof args / sizeof *args);
}

qb_status qb__convert_fetch(qb__convert *convert, qb__queue *queue, size_t first, size_t count, void *host) {
    const size_t slice = convert->what.pixels * qb_dtype_size(convert->what.to.dtype);
    return count ? qb__memory_download(queue, convert->numbers, first * slice, host, count * slice) : QB_OK;
}

qb_status qb__convert_outside(qb__convert *convert, qb__queue *queue, uint64_t *outside) {
    uint64_t counts[MOST * MOST];
    *outside = 0;
    qb_status status = qb__memory_download(queue, convert->counts, 0, counts, counts_bytes);
    if (status == QB_OK) status = qb__queue_finish(queue);
    for (size_t i = 0; status == QB_OK && i < MOST * MOST; i++) *outside += counts[i];
    return status;
}
