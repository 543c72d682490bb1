/* SPDX-License-Identifier: MIT */
/* Detects flats among the views: views of open beam between others that show an object, because an object does not
 * vanish suddenly. */
#include <math.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/select.h"
#include "base/sort.h"
#include "base/status.h"
#include "io/scan/scan.h"
#include "quickbeam/io.h"

enum { ROWS = 4, EACH = 64, USUAL = 16, LEAST_COLUMNS = 16 };
static const double attenuated = 0.9; /* share of the brightest part of a view, below which an object attenuates */

typedef struct open_look {
    qb_scan *scan;
    char *raw;
    float *line, *low;
} open_look;

static float transmission(const qb_scan *scan, float value, size_t at) {
    if (scan->info.quantity == QB_LINE_INTEGRAL) return expf(-value);
    if (scan->info.quantity == QB_TRANSMISSION) return value;
    const float dark = scan->dark ? scan->dark[at] : 0, beam = scan->flat[at] - dark;
    return beam > 0 ? (value - dark) / beam : NAN;
}

/* The share of a view's numbers that an object attenuates. */
static qb_status covered(open_look *l, size_t view, double *share) {
    const qb_scan_info *info = &l->scan->info;
    const size_t rows = qb__smaller(ROWS, info->rows), each = qb__smaller(EACH, info->columns);
    float values[ROWS * EACH];
    size_t good = 0, dim = 0;
    for (size_t r = 0; r < rows; r++) {
        const size_t row = (2 * r + 1) * info->rows / (2 * rows);
        QB__OR_RETURN(qb_scan_read(l->scan, view, view + 1, row, row + 1, l->raw));
        qb_convert_to_float(l->raw, info->dtype, info->columns, l->line);
        for (size_t i = 0; i < each; i++) {
            const size_t at = (2 * i + 1) * info->columns / (2 * each);
            const float t = transmission(l->scan, l->line[at], row * info->columns + at);
            if (isfinite(t)) values[good++] = t;
        }
    }
    *share = NAN;
    if (!good) return QB_OK;
    const float bright = qb__float_at(values, good, good - 1 - good / 20);
    for (size_t i = 0; i < good; i++) dim += values[i] < (float)attenuated * bright;
    *share = (double)dim / (double)good;
    return QB_OK;
}

static qb_status usual_share(open_look *l, size_t views, double *usual) {
    double shares[USUAL];
    size_t known = 0;
    for (size_t i = 0; i < USUAL; i++) {
        QB__OR_RETURN(covered(l, i * (views - 1) / (USUAL - 1), &shares[known]));
        known += isfinite(shares[known]);
    }
    *usual = known ? qb__median(shares, known) : 0;
    return QB_OK;
}

/* Difference of the darkest part of open beam from that of other views. */
static float level_of(const qb_scan *scan, const qb__frame *frame, float zero) {
    return scan->info.quantity == QB_LINE_INTEGRAL ? expf(-frame->bright) : frame->low - zero;
}

/* Views that are brighter than most in their darkest part; returns their number. */
static size_t find_bright(open_look *l, const qb__frame *frames, size_t count, float zero, bool *open) {
    const float BRIGHTER = 1.15f;
    size_t known = 0, found = 0;
    for (size_t i = 0; i < count; i++)
        if (frames[i].looked && isfinite(frames[i].low)) l->low[known++] = level_of(l->scan, &frames[i], zero);
    if (known < USUAL) return 0;
    const float usual = qb__float_at(l->low, known, known / 2);
    for (size_t i = 0; i < count; i++) {
        open[i] = frames[i].looked && usual > 0 && level_of(l->scan, &frames[i], zero) > BRIGHTER * usual;
        found += open[i];
    }
    return found;
}

/* True if the nearest unmarked views on either side show the object. */
static qb_status stands_out(open_look *l, size_t view, const bool *open, size_t count, double least, bool *so) {
    *so = true;
    for (int side = 0; side < 2 && *so; side++) {
        size_t other = view;
        double share;
        while (other < count && open[other]) other = side ? other + 1 : other - 1;
        if (other >= count) continue;
        QB__OR_RETURN(covered(l, other, &share));
        *so = share > least;
    }
    return QB_OK;
}

static qb_status look(open_look *l, const qb__frame *frames, size_t count, float zero, bool *open) {
    const double FEW = 0.25, LEAST = 0.1, NONE = 0.02;
    double usual, share;
    const size_t found = find_bright(l, frames, count, zero, open);
    if (!found || (double)found > FEW * (double)count) return memset(open, 0, count * sizeof *open), QB_OK;
    qb_status status = usual_share(l, count, &usual);
    for (size_t i = 0; i < count && status == QB_OK; i++) {
        if (!open[i]) continue;
        status = covered(l, i, &share);
        open[i] = usual > LEAST && share < NONE;
    }
    for (size_t i = 0; i < count && status == QB_OK; i++) {
        bool so = false;
        if (!open[i]) continue;
        status = stands_out(l, i, open, count, usual / 2, &so);
        if (!so) return memset(open, 0, count * sizeof *open), status;
    }
    return status;
}

qb_status qb__scan_find_open(qb_scan *scan, const qb__frame *frames, size_t count, float zero, bool *open) {
    const qb_scan_info *info = &scan->info;
    open_look l = {.scan = scan};
    qb_status status = QB_OK;
    memset(open, 0, count * sizeof *open);
    if (*scan->refused || qb__scan_on_device(scan) || count < USUAL || info->columns < LEAST_COLUMNS) return QB_OK;
    if (info->quantity == QB_COUNTS && !scan->flat) return QB_OK;
    QB__TRY(qb__alloc(info->columns, qb_dtype_size(info->dtype), &l.raw));
    QB__TRY(qb__alloc(info->columns, sizeof *l.line, &l.line));
    QB__TRY(qb__alloc(count, sizeof *l.low, &l.low));
    QB__TRY(look(&l, frames, count, zero, open));
out:
    QB__FREE(l.raw, l.line, l.low);
    return status;
}
