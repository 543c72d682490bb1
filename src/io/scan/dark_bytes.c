/* SPDX-License-Identifier: MIT */
/* Detects darks whose byte order differs from that of the views. Darks are noise in either order, so they are compared
 * with the views: as stored they spread over many thousands of counts, or views are below them; with swapped bytes they
 * are few counts, and low. */
#include <math.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/sort.h"
#include "base/status.h"
#include "io/scan/scan.h"
#include "quickbeam/io.h"

enum { FRAMES = 4, ROWS = 4, ACROSS = 128, MOST = FRAMES * ROWS * ACROSS };

/* Some numbers of a series, as stored and with swapped bytes. */
typedef struct sample {
    size_t count;
    float stored[MOST], exchanged[MOST];
} sample;

static qb_status take(const qb__frame_series *series, char *raw, sample *out) {
    const size_t frames = qb__smaller(FRAMES, series->count), rows = qb__smaller(ROWS, series->rows),
                 across = qb__smaller(ACROSS, series->columns), size = qb_dtype_size(series->dtype);
    out->count = 0;
    for (size_t i = 0; i < frames * rows; i++) {
        const size_t at = (2 * (i / rows) + 1) * series->count / (2 * frames),
                     row = (2 * (i % rows) + 1) * series->rows / (2 * rows);
        QB__OR_RETURN(series->read(series->self, at, at + 1, row, raw));
        for (size_t c = 0; c < across; c++, out->count++) {
            char *number = raw + (2 * c + 1) * series->columns / (2 * across) * size;
            qb_convert_to_float(number, series->dtype, 1, &out->stored[out->count]);
            qb__swap_bytes(number, 1, size);
            qb_convert_to_float(number, series->dtype, 1, &out->exchanged[out->count]);
        }
    }
    qb__sort_floats(out->stored, out->count);
    qb__sort_floats(out->exchanged, out->count);
    return QB_OK;
}

static double at(const float *sorted, size_t count, double share) {
    return (double)sorted[(size_t)(share * (double)(count - 1))];
}

/* Spread of the numbers, without the smallest and largest tenth, so that a few bright pixels do not count. */
static double spread(const float *sorted, size_t count) { return at(sorted, count, 0.9) - at(sorted, count, 0.1); }

/* True if the low bytes vary less than the high bytes. */
static bool is_narrower(const sample *s) {
    const double TIMES = 16;
    const double stored = spread(s->stored, s->count), exchanged = spread(s->exchanged, s->count);
    return stored > 0 && stored >= TIMES * exchanged;
}

static bool are_exchanged(const sample *darks, const sample *views) {
    const double stored = at(darks->stored, darks->count, 0.5), exchanged = at(darks->exchanged, darks->count, 0.5);
    if (!(fabs(exchanged) < fabs(stored)) || is_narrower(views)) return false; /* all numbers may be multiples of 256 */
    if (is_narrower(darks)) return true;
    const double dimmest = at(views->stored, views->count, 0.05);
    return spread(darks->stored, darks->count) == 0 && exchanged >= 0 && dimmest < 0.9 * stored && exchanged <= dimmest;
}

qb_status qb__darks_exchanged(const qb__frame_series *darks, const qb__frame_series *views, bool *exchanged) {
    const size_t bytes =
        qb__larger(darks->columns * qb_dtype_size(darks->dtype), views->columns * qb_dtype_size(views->dtype));
    char *raw = NULL;
    sample *both = NULL;
    qb_status status;
    *exchanged = false;
    if (qb_dtype_is_float(darks->dtype) || darks->count == 0 || views->count == 0) return QB_OK;
    QB__TRY(qb__alloc(bytes, 1, &raw));
    QB__TRY(qb__alloc(2, sizeof *both, &both));
    QB__TRY(take(darks, raw, &both[0]));
    QB__TRY(take(views, raw, &both[1]));
    *exchanged = are_exchanged(&both[0], &both[1]);
out:
    QB__FREE(raw, both);
    return status;
}
