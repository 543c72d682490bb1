/* SPDX-License-Identifier: MIT */
#include "center/center_roll.h"

#include "base/memory.h"
#include "base/status.h"

struct qb__roll_reader {
    qb_scan *scan;
    const qb_scan_info *info;
    const qb__prepare *prepare;
    qb__pool *pool;
    qb__rolled_rows rolled;
    qb__resampler *resampler;
    char **scratch;             /* [thread] */
    qb__prep_counts *counts;    /* [thread], ignored: the rows of the volume are counted when it is reconstructed */
    char *raw;                  /* a block of views */
    size_t block, first, bytes; /* views in a block; first view of the block; bytes of a view */
    size_t row;
    float *sinogram;
};

qb_status qb__roll_reader_create(qb_scan *scan, const qb__prepare *prepare, const qb__roll *roll, qb__pool *pool,
                                 qb__roll_reader **out) {
    enum { BLOCK_BYTES = 16 << 20 };
    const size_t threads = (size_t)qb__pool_threads(pool);
    qb__roll_reader *l = NULL;
    qb_status status;
    QB__TRY(qb__alloc(1, sizeof *l, &l));
    *l = (qb__roll_reader){.scan = scan, .info = qb_scan_describe(scan), .prepare = prepare, .pool = pool};
    QB__TRY(qb__resampler_create(&l->resampler));
    l->rolled = (qb__rolled_rows){.roll = roll, .resampler = l->resampler, .info = l->info, .pad = QB_PAD_EDGE};
    const size_t most = qb__rolled_rows_most(&l->rolled, 1);
    l->bytes = most * l->info->columns * qb_dtype_size(l->info->dtype);
    l->block = qb__smaller(BLOCK_BYTES / l->bytes + 1, l->info->views);
    QB__TRY(qb__alloc(l->block, l->bytes, &l->raw));
    QB__TRY(qb__alloc(threads, sizeof *l->counts, &l->counts));
    QB__TRY(qb__alloc(threads, sizeof *l->scratch, &l->scratch));
    for (size_t i = 0; i < threads; i++) QB__TRY(qb__alloc(qb__rolled_rows_scratch(&l->rolled, 1), 1, &l->scratch[i]));
out:
    if (status != QB_OK) {
        qb__roll_reader_destroy(l);
        l = NULL;
    }
    *out = l;
    return status;
}

void qb__roll_reader_destroy(qb__roll_reader *l) {
    if (!l) return;
    for (int i = 0; l->scratch && i < qb__pool_threads(l->pool); i++) qb__free(l->scratch[i]);
    QB__FREE(l->scratch, l->counts, l->raw);
    qb__resampler_destroy(l->resampler);
    qb__free(l);
}

static void make(void *context, size_t task, int worker) {
    const qb__roll_reader *l = context;
    size_t first, end, columns = l->info->columns;
    qb__rolled_rows_window(&l->rolled, l->row, l->row + 1, &first, &end);
    const char *raw = l->raw + task * (end - first) * columns * qb_dtype_size(l->info->dtype);
    qb__rolled_rows_view(&l->rolled, l->prepare, l->first + task, l->row, 1, 1, raw,
                         l->sinogram + (l->first + task) * columns, columns, l->scratch[worker], &l->counts[worker]);
}

qb_status qb__roll_reader_row(qb__roll_reader *l, size_t row, float *sinogram) {
    const size_t views = l->info->views;
    size_t first, end;
    qb__rolled_rows_window(&l->rolled, row, row + 1, &first, &end);
    l->row = row;
    l->sinogram = sinogram;
    for (l->first = 0; l->first < views; l->first += l->block) {
        const size_t stop = qb__smaller(l->first + l->block, views);
        qb_status status = qb_scan_read(l->scan, l->first, stop, first, end, l->raw);
        if (status != QB_OK) return status;
        qb__pool_for(l->pool, stop - l->first, make, l);
    }
    return QB_OK;
}
