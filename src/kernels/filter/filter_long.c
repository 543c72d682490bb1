/* SPDX-License-Identifier: MIT */
#include "base/memory.h"
#include "base/status.h"
#include "device/cufft.h"
#include "kernels/filter/filter_device_parts.h"

/* Filters rows in device memory, a batch at a time: prepare, pad, transform, scale, transform, crop. The batch is
 * small, so that it may stay in the second-level cache. */
enum { GROUP = 128, ROWS_MAX = 32768, BATCH_BYTES = 24 << 20, PASS_KINDS = 5, FIT_BYTES = 6 * sizeof(float) };
enum { PAD, PASS, SCALE, CROP, FIT };
static const char *const names[PASS_KINDS] = {"long_pad", "long_pass", "long_scale", "long_crop", "long_ellipse"};

struct qb__filter_long {
    size_t rows; /* rows of a batch */
    qb__program *program;
    qb__kernel *kernel[PASS_KINDS];
    qb__memory *lines;        /* [rows][columns] */
    qb__memory *fits;         /* [rows][2] */
    qb__memory *here, *there; /* [rows][half] complex */
    qb__cufft *cufft;         /* NULL: our own passes */
};

static void drop_memory(qb__filter_long *passes) {
    qb__memory **const all[] = {&passes->lines, &passes->fits, &passes->here, &passes->there};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        qb__memory_destroy(*all[i]);
        *all[i] = NULL;
    }
}

static size_t batch_rows(const qb__filter_spectrum *spectrum) {
    size_t rows = BATCH_BYTES / (spectrum->half * 2 * sizeof(float)) + 1;
    return rows < ROWS_MAX ? rows : ROWS_MAX;
}

/* Bytes for one row of the batch: its line and its transforms. */
static size_t row_bytes(const qb__filter_spectrum *spectrum, size_t transforms) {
    return (spectrum->columns + transforms * spectrum->half * 2) * sizeof(float) + FIT_BYTES;
}

size_t qb__filter_long_forecast(const qb__filter_spectrum *spectrum) {
    return batch_rows(spectrum) * row_bytes(spectrum, 2);
}

/* Halves the batch until the device has memory for it. */
static qb_status take_memory(qb__filter_long *passes, qb__device_filter *filter, bool cufft) {
    size_t complex_bytes = filter->spectrum.half * 2 * sizeof(float);
    size_t line_bytes = filter->spectrum.columns * sizeof(float);
    qb_status status;
    passes->rows = batch_rows(&filter->spectrum);
    for (;; passes->rows = (passes->rows + 1) / 2) {
        status = qb__memory_create(filter->device, passes->rows * line_bytes, &passes->lines);
        if (status == QB_OK) status = qb__memory_create(filter->device, passes->rows * FIT_BYTES, &passes->fits);
        if (status == QB_OK) status = qb__memory_create(filter->device, passes->rows * complex_bytes, &passes->here);
        if (status == QB_OK && !cufft)
            status = qb__memory_create(filter->device, passes->rows * complex_bytes, &passes->there);
        if (status == QB_OK && cufft)
            status = qb__cufft_create(filter->device, filter->spectrum.half, passes->rows, &passes->cufft);
        if (status != QB_NO_MEMORY || passes->rows == 1) break;
        drop_memory(passes);
    }
    filter->bytes += passes->rows * row_bytes(&filter->spectrum, cufft ? 1 : 2);
    if (passes->cufft) filter->bytes += qb__cufft_bytes(passes->cufft);
    return status;
}

qb_status qb__filter_long_create(qb__device_filter *filter, bool cufft, qb__filter_long **out) {
    qb__filter_long *passes = NULL;
    qb_status status;
    *out = NULL;
    if (cufft) QB__TRY(qb__cufft_missing(filter->device));
    QB__TRY(qb__alloc(1, sizeof *passes, &passes));
    QB__TRY(qb__program_build(filter->device, "filter_long.cl", NULL, &passes->program));
    for (int i = 0; i < PASS_KINDS; i++) QB__TRY(qb__kernel_get(passes->program, names[i], &passes->kernel[i]));
    QB__TRY(take_memory(passes, filter, cufft));
out:
    if (status != QB_OK) {
        qb__filter_long_destroy(passes);
        return status;
    }
    *out = passes;
    return QB_OK;
}

void qb__filter_long_destroy(qb__filter_long *passes) {
    if (!passes) return;
    qb__cufft_destroy(passes->cufft);
    drop_memory(passes);
    qb__program_release(passes->program);
    qb__free(passes);
}

static qb_status launch(const qb__filter_long *passes, int kind, qb__queue *queue, size_t items, size_t rows,
                        const qb__arg *args, size_t count) {
    const size_t groups[3] = {(items + GROUP - 1) / GROUP, rows, 1}, group[3] = {GROUP, 1, 1};
    return qb__kernel_launch(passes->kernel[kind], queue, groups, group, args, count);
}

/* Transforms `here` in place; with our own passes `here` and `there` exchange. */
static qb_status transform(qb__filter_long *passes, qb__device_filter *filter, qb__queue *queue, size_t rows) {
    if (passes->cufft) return qb__cufft_forward(passes->cufft, queue, passes->here);
    const qb__filter_plan *plan = &filter->plan;
    uint32_t half = (uint32_t)filter->spectrum.half, done = 1;
    for (int i = 0; i <= plan->passes; i++) {
        int32_t radix = i < plan->passes ? plan->radix[i] : plan->last;
        if (radix == 1) continue;
        const qb__arg args[] = {QB__MEMORIES(passes->here, passes->there, filter->roots),
                                QB__VALUES(half, done, radix)};
        QB__OR_RETURN(launch(passes, PASS, queue, half / (uint32_t)radix, rows, args, 6));
        qb__memory *other = passes->here;
        passes->here = passes->there;
        passes->there = other;
        done *= (uint32_t)radix;
    }
    return QB_OK;
}

static qb_status pad(qb__filter_long *passes, qb__device_filter *filter, qb__queue *queue, size_t rows) {
    uint32_t half = (uint32_t)filter->spectrum.half;
    int32_t columns = (int32_t)filter->spectrum.columns, left = (int32_t)filter->spectrum.left;
    int32_t mode = (int32_t)filter->spectrum.pad;
    const qb__arg fit[] = {QB__MEMORIES(passes->lines, passes->fits), QB__VALUE(columns)};
    const qb__arg args[] = {QB__MEMORIES(passes->lines, passes->fits, passes->here),
                            QB__VALUES(half, columns, left, mode)};
    qb_status status = QB_OK;
    if (mode == QB_PAD_ELLIPSE) status = launch(passes, FIT, queue, GROUP, rows, fit, 3);
    return status == QB_OK ? launch(passes, PAD, queue, half, rows, args, 7) : status;
}

static qb_status scale(qb__filter_long *passes, qb__device_filter *filter, qb__queue *queue, size_t rows) {
    uint32_t half = (uint32_t)filter->spectrum.half;
    const qb__arg args[] = {QB__MEMORIES(passes->here, filter->coefficients), QB__VALUE(half)};
    return launch(passes, SCALE, queue, half / 2 + 1, rows, args, 3);
}

static qb_status crop(qb__filter_long *passes, qb__device_filter *filter, qb__queue *queue, qb__memory *out,
                      const qb__row_block *block) {
    uint32_t half = (uint32_t)filter->spectrum.half;
    int32_t columns = (int32_t)filter->spectrum.columns, left = (int32_t)filter->spectrum.left;
    const qb__arg args[] = {QB__MEMORIES(passes->here, out, filter->weights),
                            QB__VALUES(half, columns, left, block->slices, block->view0, block->out_first,
                                       block->out_view, block->out_slice)};
    return launch(passes, CROP, queue, (size_t)columns, block->rows, args, 11);
}

/* cuFFT transforms whole batches: set the unused rows of the batch to zero, because their memory is undefined. */
static qb_status clear_rest(const qb__filter_long *passes, const qb__device_filter *filter, qb__queue *queue,
                            size_t rows) {
    const size_t row_bytes = filter->spectrum.half * 2 * sizeof(float);
    if (!passes->cufft || rows == passes->rows) return QB_OK;
    return qb__memory_fill(queue, passes->here, rows * row_bytes, 0, (passes->rows - rows) * row_bytes);
}

static qb_status batch(qb__filter_long *passes, qb__device_filter *filter, qb__queue *queue, const qb__memory *raw,
                       qb__memory *out, const qb__row_block *block) {
    uint64_t columns = filter->spectrum.columns;
    qb__row_block lines = *block; /* layout [view - view0][slice][column] */
    lines.out_slice = columns;
    lines.out_view = columns * block->slices;
    lines.out_first = 0;
    QB__OR_RETURN(qb__filter_prepare(filter, queue, raw, passes->lines, &lines, false));
    QB__OR_RETURN(pad(passes, filter, queue, block->rows));
    QB__OR_RETURN(clear_rest(passes, filter, queue, block->rows));
    QB__OR_RETURN(transform(passes, filter, queue, block->rows));
    QB__OR_RETURN(scale(passes, filter, queue, block->rows));
    QB__OR_RETURN(transform(passes, filter, queue, block->rows));
    return crop(passes, filter, queue, out, block);
}

/* A batch is as many whole views as fit, or else a range of slices of one view. */
qb_status qb__filter_long_run(qb__filter_long *passes, qb__device_filter *filter, qb__queue *queue,
                              const qb__memory *raw, qb__memory *out, const qb__row_block *block) {
    uint32_t views = block->rows / block->slices, slices = block->slices;
    uint32_t some = slices < passes->rows ? slices : (uint32_t)passes->rows;
    uint32_t several = some < slices ? 1 : (uint32_t)(passes->rows / slices);
    for (uint32_t v = 0; v < views; v += several) {
        uint32_t v_count = views - v < several ? views - v : several;
        for (uint32_t s = 0; s < slices; s += some) {
            uint32_t s_count = slices - s < some ? slices - s : some;
            qb__row_block part = *block;
            part.rows = v_count * s_count;
            part.slices = s_count;
            part.view0 += v;
            part.row0 += s * block->row_step;
            part.raw_first += v * block->raw_view + s * block->raw_slice;
            part.out_first += v * block->out_view + s * block->out_slice;
            QB__OR_RETURN(batch(passes, filter, queue, raw, out, &part));
        }
    }
    return QB_OK;
}
