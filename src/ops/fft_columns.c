/* SPDX-License-Identifier: MIT */
#include "ops/fft.h"

#include "base/memory.h"
#include "cpu/features.h"
#include "ops/fft_passes.h"

struct qb__fft_columns {
    size_t columns;
    const qb__fft_kernel *kernel;
    qb__fft_lanes lanes;
    float *turns, *factors; /* factors[column / L][row][lane] */
};

static size_t width_of(const qb__fft_columns *f) { return qb__round_up(f->columns, (size_t)f->kernel->lanes); }

static void fill_factors(qb__fft_columns *f, double (*factor)(const void *self, size_t row, size_t column),
                         const void *self) {
    const size_t lanes = (size_t)f->kernel->lanes;
    float *to = f->factors;
    for (size_t first = 0; first < f->columns; first += lanes)
        for (size_t r = 0; r < f->lanes.rows; r++)
            for (size_t l = 0; l < lanes; l++) {
                const size_t column = first + f->kernel->order[l];
                *to++ = column < f->columns ? (float)factor(self, r, column) : 0;
            }
}

qb_status qb__fft_columns_create(size_t rows, size_t columns,
                                 double (*factor)(const void *self, size_t row, size_t column), const void *self,
                                 qb__fft_columns **out) {
    int radix[QB__FFT_PASSES_MOST];
    qb__fft_columns *f;
    *out = NULL;
    qb_status status = qb__alloc(1, sizeof *f, &f);
    if (status != QB_OK) return status;
    f->columns = columns;
    f->kernel = qb__fft_kernel_choose(qb__cpu_features(), 256);
    f->lanes.rows = rows;
    f->lanes.passes = qb__fft_factor(rows, false, radix);
    if (f->lanes.passes < 0) status = qb__fail(QB_UNSUPPORTED, "a Fourier transform of %zu rows", rows);
    if (status != QB_OK) goto out;
    QB__TRY(qb__alloc(rows, 4 * sizeof *f->turns, &f->turns));
    QB__TRY(qb__alloc(rows * width_of(f), sizeof *f->factors, &f->factors));
    qb__fft_fill_passes(&f->lanes, radix, f->turns);
    fill_factors(f, factor, self);
out:
    if (status != QB_OK)
        qb__fft_columns_destroy(f);
    else
        *out = f;
    return status;
}

void qb__fft_columns_destroy(qb__fft_columns *f) {
    if (!f) return;
    QB__FREE(f->turns, f->factors, f);
}

size_t qb__fft_columns_bytes(const qb__fft_columns *f) { return f->lanes.rows * (width_of(f) + 4) * sizeof(float); }

size_t qb__fft_columns_scratch(const qb__fft_columns *f) { return 4 * f->lanes.rows * (size_t)f->kernel->lanes; }

void qb__fft_columns_run(const qb__fft_columns *f, float *cells, size_t stride, const qb__fft_rows *which,
                         float *scratch) {
    f->kernel->filter_columns(&f->lanes, cells, f->columns, stride, which, f->factors, scratch);
}
