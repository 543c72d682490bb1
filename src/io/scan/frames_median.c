/* SPDX-License-Identifier: MIT */
/* The median of some frames of a file, pixel by pixel: a block of rows of all frames at a time. */
#include <math.h>

#include "base/array.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/select.h"
#include "base/share.h"
#include "base/status.h"
#include "io/scan/flat_series.h"
#include "quickbeam/io.h"

enum {
    TILE = 64 /* most pixels whose frames are sorted together */,
    VALUES = 1 << 16 /* most numbers of those, so that they stay in a core's cache */,
    BLOCK = 64 << 20 /* bytes of stored numbers read at once */,
    PACKED = 256 << 20 /* the same, for a file that cannot give a row without others */
};

typedef struct middle {
    const char *raw; /* [frames][pixels] */
    size_t frames, pixels;
    qb_dtype dtype;
    float top;      /* the type's maximum; INFINITY: none */
    size_t tile;    /* pixels at once */
    float *scratch; /* scratch memory of each thread, [frames][tile] and [frames] */
    float *median;
    size_t *saturated; /* saturated values of each tile */
} middle;

static qb_status take_tile(void *context, size_t tile, size_t worker) {
    const middle *m = context;
    const size_t at = tile * m->tile, n = qb__smaller(m->tile, m->pixels - at), size = qb_dtype_size(m->dtype);
    float *values = m->scratch + worker * m->frames * (m->tile + 1), *own = values + m->frames * m->tile;
    for (size_t f = 0; f < m->frames; f++)
        qb_convert_to_float(m->raw + (f * m->pixels + at) * size, m->dtype, n, values + f * m->tile);
    for (size_t i = 0; i < n; i++) {
        size_t count = 0;
        for (size_t f = 0; f < m->frames; f++)
            if (isfinite(values[f * m->tile + i])) own[count++] = values[f * m->tile + i];
        const float value = count ? (float)qb__float_median(own, count) : NAN;
        m->median[at + i] = value < m->top ? value : NAN;
        m->saturated[tile] += value >= m->top;
    }
    return QB_OK;
}

static size_t rows_at_once(const qb__source *source, size_t frames, bool lines) {
    const size_t most = source->chunk[1] > 1 ? PACKED : BLOCK, row = frames * qb__source_row_bytes(source);
    return lines ? source->shape[1] : qb__smaller(source->shape[1], qb__larger(1, most / row));
}

qb_status qb__frames_median(const qb__frames *taken, bool lines, const qb_env *env, float *median,
                            qb__field_found *found) {
    const qb__source *source = taken->source;
    const size_t rows = source->shape[1], columns = source->shape[2], many = taken->count * (lines ? rows : 1);
    const size_t high = rows_at_once(source, taken->count, lines),
                 threads = qb__larger(1, qb__smaller(source->threads, QB__SHARE_MOST));
    const size_t widest = lines ? columns : high * columns;
    char *raw = NULL;
    middle m = {.frames = many, .dtype = source->dtype, .top = qb__dtype_top(source->dtype)};
    qb_status status;
    m.tile = qb__larger(1, qb__smaller(TILE, VALUES / many));
    QB__TRY(qb__alloc(taken->count * high * columns, qb_dtype_size(source->dtype), &raw));
    QB__TRY(qb__alloc(threads * many, (m.tile + 1) * sizeof(float), &m.scratch));
    QB__TRY(qb__alloc(qb__ceil_div(widest, m.tile), sizeof *m.saturated, &m.saturated));
    m.raw = raw;
    for (size_t row = 0; row < rows; row += high) {
        const size_t end = qb__smaller(row + high, rows);
        const qb__region region = {0, taken->count, 1, row, end};
        QB__TRY(qb__check_cancel(env));
        QB__TRY(qb__frames_read(taken, &region, raw));
        m.pixels = lines ? columns : (end - row) * columns;
        m.median = median + row * columns;
        QB__TRY(qb__share(threads, qb__ceil_div(m.pixels, m.tile), take_tile, &m));
    }
    found->left_out = found->saturated = 0;
    for (size_t i = 0; i < qb__ceil_div(widest, m.tile); i++) found->saturated += m.saturated[i];
out:
    QB__FREE(raw, m.scratch, m.saturated);
    return status;
}
