/* SPDX-License-Identifier: MIT */
#include "prep/phase_response.h"

#include "base/memory.h"
#include "ops/fft.h"

struct qb__phase_filter {
    qb__phase_blocks blocks;
    qb__fft *rows;
    qb__fft_columns *columns;
    float offset; /* added to the filtered numbers */
};

static qb__phase_blocks blocks_of(const qb__paganin *how, size_t rows, size_t columns) {
    enum { MOST = 12 << 20 /* floats */ };
    qb__phase_blocks b = {.rows = 0};
    qb__phase_margins(how, rows, &b.left, &b.margin);
    b.stride = qb__fft_length(columns + 2 * b.left);
    b.apart = qb__round_up(b.stride + 2, 16);
    if (rows == 1) {
        b.rows = b.height = 1;
        return b;
    }
    size_t times = 8;
    while (times > 2 && (times + 2) * b.margin * b.stride > MOST) times /= 2;
    const size_t usual = times * b.margin;
    b.height = qb__fft_length((rows <= usual + usual / 2 ? rows : usual) + 2 * b.margin);
    b.rows = b.height - 2 * b.margin;
    return b;
}

/* The factors of the frequencies. */
static double factor(const void *self, size_t row, size_t column) {
    const qb__phase_response *r = self;
    double f = (double)r->scale / ((double)r->column[column] + (double)r->row[row]);
    if (r->mean_row) f *= 1 + (double)r->unsharp * (1 - (double)r->mean_row[row] * (double)r->mean_column[column]);
    if (r->spread_row) f /= 1 - (double)r->share * (double)r->spread_row[row] * (double)r->spread_column[column];
    return f;
}

qb_status qb__phase_filter_create(const qb__paganin *how, size_t rows, size_t columns, qb__phase_filter **out) {
    qb__phase_response response = {.scale = 0};
    qb__phase_filter *p;
    *out = NULL;
    qb_status status = qb__alloc(1, sizeof *p, &p);
    if (status != QB_OK) return status;
    const qb__phase_blocks b = p->blocks = blocks_of(how, rows, columns);
    QB__TRY(qb__phase_response_create(how, b.height, b.stride, b.stride / 2 + 1, &response));
    p->offset = response.offset;
    QB__TRY(qb__fft_create(QB__FFT_REAL, b.stride, &p->rows));
    status = qb__fft_columns_create(b.height, b.stride / 2 + 1, factor, &response, &p->columns);
out:
    qb__phase_response_clear(&response);
    if (status != QB_OK) {
        qb__phase_filter_destroy(p);
        return status;
    }
    *out = p;
    return QB_OK;
}

void qb__phase_filter_destroy(qb__phase_filter *p) {
    if (!p) return;
    qb__fft_destroy(p->rows);
    qb__fft_columns_destroy(p->columns);
    qb__free(p);
}

const qb__phase_blocks *qb__phase_filter_blocks(const qb__phase_filter *p) { return &p->blocks; }

size_t qb__phase_filter_bytes(const qb__phase_filter *p) { return qb__fft_columns_bytes(p->columns); }

size_t qb__phase_filter_scratch(const qb__phase_filter *p) { return qb__fft_columns_scratch(p->columns); }

void qb__phase_filter_row(const qb__phase_filter *p, float *line, float *spectrum) {
    qb__fft_forward(p->rows, line, spectrum);
}

void qb__phase_filter_run(const qb__phase_filter *p, float *spectra, const qb__fft_rows *which, float *scratch) {
    qb__fft_columns_run(p->columns, spectra, p->blocks.apart, which, scratch);
}

void qb__phase_filter_back(const qb__phase_filter *p, float *spectrum, float *line) {
    qb__fft_backward(p->rows, spectrum, line);
    for (size_t c = 0; p->offset != 0 && c < p->blocks.stride; c++) line[c] += p->offset;
}
