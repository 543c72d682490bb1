/* SPDX-License-Identifier: MIT */
/* The mean of some frames of a file, read one after the other. */
#include <math.h>

#include "base/array.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/share.h"
#include "base/status.h"
#include "io/scan/flat_series.h"
#include "io/scan/frame_look.h"
#include "quickbeam/io.h"

typedef struct adding {
    const char *raw;
    qb_dtype dtype;
    qb__field_mean *mean;
    float *least; /* [piece] smallest of the values and 0; NULL: not needed */
} adding;

enum { PIECE = 1 << 16 }; /* values that a thread adds at a time */

static qb_status add_piece(void *context, size_t piece, size_t worker) {
    (void)worker;
    enum { RUN = 4096 }; /* values that stay in a core's own memory from converting to adding */
    const adding *a = context;
    const size_t end = qb__smaller(a->mean->pixels, (piece + 1) * PIECE);
    float values[RUN];
    for (size_t at = piece * PIECE; at < end; at += RUN) {
        const size_t n = qb__smaller(RUN, end - at);
        qb_convert_to_float(a->raw + at * qb_dtype_size(a->dtype), a->dtype, n, values);
        qb__field_mean_add(a->mean, at, n, values);
        for (size_t i = 0; a->least && i < n; i++) a->least[piece] = fminf(a->least[piece], values[i]);
    }
    return QB_OK;
}

qb_status qb__frames_mean(const qb__frames *taken, bool lines, qb_field_average how, const qb_env *env, float *mean,
                          qb__field_found *found, float *lowest) {
    const qb__source *source = taken->source;
    const size_t image = source->shape[1] * source->shape[2], parts = lines ? source->shape[1] : 1,
                 pixels = image / parts;
    char *raw = NULL;
    float *least = NULL;
    qb__field_mean m = {0};
    qb_status status;
    QB__TRY(qb__alloc(image, qb_dtype_size(source->dtype), &raw));
    QB__TRY(
        qb__field_mean_begin(&m, pixels, taken->count * parts, source->dtype, how != QB_AVERAGE_MEAN, source->threads));
    if (qb__counts_may_wrap(source->dtype)) QB__TRY(qb__alloc(qb__ceil_div(pixels, PIECE), sizeof *least, &least));
    for (size_t f = 0; f < taken->count; f++) {
        const qb__region region = {f, 1, 1, 0, source->shape[1]};
        QB__TRY(qb__check_cancel(env));
        QB__TRY(qb__frames_read(taken, &region, raw));
        for (size_t part = 0; part < parts; part++) {
            adding a = {raw + part * pixels * qb_dtype_size(source->dtype), source->dtype, &m, least};
            QB__TRY(qb__share(source->threads, qb__ceil_div(pixels, PIECE), add_piece, &a));
        }
    }
    QB__TRY(qb__field_mean_take(&m, mean, found));
    if (how == QB_AVERAGE_MEDIAN) QB__TRY(qb__frames_median(taken, lines, env, mean, found));
    for (size_t i = 0; least && i < qb__ceil_div(pixels, PIECE); i++) *lowest = fminf(*lowest, least[i]);
out:
    qb__free(least);
    qb__field_mean_end(&m);
    qb__free(raw);
    return status;
}
