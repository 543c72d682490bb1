/* SPDX-License-Identifier: MIT */
#include "prep/phase_filter.h"

#include <math.h>

#include "base/memory.h"
#include "ops/fft.h"

static const double pi = 3.14159265358979323846;

struct qb__phase_filter {
    qb__phase_blocks blocks;
    qb__fft *fft;
    float *column, *row; /* [stride / 2 + 1], [height]: the transfer function is scale / (column + row) */
    float scale;
    float share, offset, *spread_column,
        *spread_row;                        /* scatter's Gaussian, as many; share 0: NULL. offset: added to numbers */
    float unsharp, *mean_column, *mean_row; /* a Gaussian mean's, as many; unsharp 0: NULL */
};

/* exp(-2 pi m / L) < 5e-5 for the kernel's exponential tail; the little that rings on beyond it is below that from 32 pixels on. */
static size_t margin_of(double length) { return (size_t)fmax(32, ceil(10 * length / (2 * pi))); }

static qb__phase_blocks blocks_of(const qb__paganin *how, size_t rows, size_t columns) {
    enum { MOST = 12 << 20 /* floats */ };
    const size_t wide = (size_t)ceil(5 * how->sigma[0] + 6 * how->spread[0]),
                 high = (size_t)ceil(5 * how->sigma[1] + 6 * how->spread[1]);
    qb__phase_blocks b = {.left = margin_of(how->columns) + wide, .margin = rows > 1 ? margin_of(how->rows) + high : 0};
    b.stride = qb__fft_length(columns + 2 * b.left);
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

size_t qb__phase_scratch(const qb__phase_blocks *b) {
    return qb__round_up(b->height * b->stride, 16) + qb__round_up(b->height * (b->stride + 2), 16);
}

/* (L f)^2 of frequency k of n, or what it is of the pixels' own Laplacian. */
static double square(const qb__paganin *how, double length, size_t k, size_t n) {
    const double f = (double)(k <= n / 2 ? k : n - k) / (double)n;
    const double s = how->generalised ? sin(pi * f) / pi : f;
    return length * length * s * s;
}

/* Of frequencies 0 to count - 1 of n, a Gaussian mean of sigma pixels. */
static qb_status make_gaussian(double sigma, size_t count, size_t n, float **gaussian) {
    const qb_status status = qb__alloc(count, sizeof **gaussian, gaussian);
    for (size_t k = 0; status == QB_OK && k < count; k++) {
        const double f = (double)(k <= n / 2 ? k : n - k) / (double)n * sigma;
        (*gaussian)[k] = (float)exp(-2 * pi * pi * f * f);
    }
    return status;
}

static qb_status make_means(const qb__paganin *how, qb__phase_filter *p) {
    const size_t stride = p->blocks.stride, width = stride / 2 + 1, height = p->blocks.height;
    qb_status status = QB_OK;
    if (how->unsharp > 0) {
        p->unsharp = (float)how->unsharp;
        QB__TRY(make_gaussian(how->sigma[0], width, stride, &p->mean_column));
        QB__TRY(make_gaussian(how->sigma[1], height, height, &p->mean_row));
    }
    if (how->scatter > 0) {
        p->share = (float)how->scatter;
        p->offset = (float)(1 - 1 / (1 - how->scatter));
        QB__TRY(make_gaussian(how->spread[0], width, stride, &p->spread_column));
        QB__TRY(make_gaussian(how->spread[1], height, height, &p->spread_row));
    }
out:
    return status;
}

qb_status qb__phase_filter_create(const qb__paganin *how, size_t rows, size_t columns, qb__phase_filter **out) {
    qb__phase_filter *p;
    *out = NULL;
    qb_status status = qb__alloc(1, sizeof *p, &p);
    if (status != QB_OK) return status;
    const qb__phase_blocks b = p->blocks = blocks_of(how, rows, columns);
    p->scale = (float)(1 / ((double)b.height * (double)b.stride));
    QB__TRY(qb__fft_create_plane(b.height, b.stride, &p->fft));
    QB__TRY(qb__alloc(b.stride / 2 + 1, sizeof *p->column, &p->column));
    QB__TRY(qb__alloc(b.height, sizeof *p->row, &p->row));
    for (size_t k = 0; k <= b.stride / 2; k++) p->column[k] = (float)square(how, how->columns, k, b.stride);
    for (size_t k = 0; k < b.height; k++) p->row[k] = (float)(1 + square(how, how->rows, k, b.height));
    status = make_means(how, p);
out:
    if (status != QB_OK) {
        qb__phase_filter_destroy(p);
        return status;
    }
    *out = p;
    return QB_OK;
}

void qb__phase_filter_destroy(qb__phase_filter *p) {
    if (!p) return;
    qb__fft_destroy(p->fft);
    qb__free(p->column);
    qb__free(p->row);
    qb__free(p->mean_column);
    qb__free(p->mean_row);
    qb__free(p->spread_column);
    qb__free(p->spread_row);
    qb__free(p);
}

const qb__phase_blocks *qb__phase_filter_blocks(const qb__phase_filter *p) { return &p->blocks; }

void qb__phase_filter_run(const qb__phase_filter *p, float *cells, float *scratch) {
    const size_t width = p->blocks.stride / 2 + 1;
    qb__fft_forward(p->fft, cells, scratch);
    for (size_t r = 0; r < p->blocks.height; r++) {
        float *line = scratch + 2 * r * width;
        const float row = p->row[r], scale = p->scale;
        for (size_t k = 0; k < width; k++) {
            const float factor = scale / (p->column[k] + row);
            line[2 * k] *= factor;
            line[2 * k + 1] *= factor;
        }
        for (size_t k = 0; p->mean_row && k < width; k++) {
            const float more = 1 + p->unsharp * (1 - p->mean_row[r] * p->mean_column[k]);
            line[2 * k] *= more;
            line[2 * k + 1] *= more;
        }
        for (size_t k = 0; p->spread_row && k < width; k++) {
            const float more = 1 / (1 - p->share * p->spread_row[r] * p->spread_column[k]);
            line[2 * k] *= more;
            line[2 * k + 1] *= more;
        }
    }
    qb__fft_backward(p->fft, scratch, cells);
    for (size_t i = 0; p->spread_row && i < p->blocks.height * p->blocks.stride; i++) cells[i] += p->offset;
}
