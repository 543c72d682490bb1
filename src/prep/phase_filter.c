/* SPDX-License-Identifier: MIT */
#include "prep/phase_filter.h"

#include "base/memory.h"
#include "ops/fft.h"
#include "prep/phase_response.h"

struct qb__phase_filter {
    qb__phase_blocks blocks;
    qb__fft *fft;
    qb__phase_response response;
};

static qb__phase_blocks blocks_of(const qb__paganin *how, size_t rows, size_t columns) {
    enum { MOST = 12 << 20 /* floats */ };
    qb__phase_blocks b = {.rows = 0};
    qb__phase_margins(how, rows, &b.left, &b.margin);
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

qb_status qb__phase_filter_create(const qb__paganin *how, size_t rows, size_t columns, qb__phase_filter **out) {
    qb__phase_filter *p;
    *out = NULL;
    qb_status status = qb__alloc(1, sizeof *p, &p);
    if (status != QB_OK) return status;
    const qb__phase_blocks b = p->blocks = blocks_of(how, rows, columns);
    QB__TRY(qb__fft_create_plane(b.height, b.stride, &p->fft));
    status = qb__phase_response_create(how, b.height, b.stride, b.stride / 2 + 1, &p->response);
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
    qb__phase_response_clear(&p->response);
    qb__free(p);
}

const qb__phase_blocks *qb__phase_filter_blocks(const qb__phase_filter *p) { return &p->blocks; }

void qb__phase_filter_run(const qb__phase_filter *p, float *cells, float *scratch) {
    const size_t width = p->blocks.stride / 2 + 1;
    const qb__phase_response *m = &p->response;
    qb__fft_forward(p->fft, cells, scratch);
    for (size_t r = 0; r < p->blocks.height; r++) {
        float *line = scratch + 2 * r * width;
        const float row = m->row[r], scale = m->scale;
        for (size_t k = 0; k < width; k++) {
            const float factor = scale / (m->column[k] + row);
            line[2 * k] *= factor;
            line[2 * k + 1] *= factor;
        }
        for (size_t k = 0; m->mean_row && k < width; k++) {
            const float more = 1 + m->unsharp * (1 - m->mean_row[r] * m->mean_column[k]);
            line[2 * k] *= more;
            line[2 * k + 1] *= more;
        }
        for (size_t k = 0; m->spread_row && k < width; k++) {
            const float more = 1 / (1 - m->share * m->spread_row[r] * m->spread_column[k]);
            line[2 * k] *= more;
            line[2 * k + 1] *= more;
        }
    }
    qb__fft_backward(p->fft, scratch, cells);
    for (size_t i = 0; m->spread_row && i < p->blocks.height * p->blocks.stride; i++) cells[i] += m->offset;
}
