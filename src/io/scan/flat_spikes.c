/* SPDX-License-Identifier: MIT */
/* Zingers in a mean of flats that could not leave them out, such as a single frame. Such a pixel is brighter than its
 * neighbours in the flat but not in the views; a pixel with a higher gain is brighter in both. */
#include <math.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/select.h"
#include "base/sort.h"
#include "base/status.h"
#include "base/warning.h"
#include "io/scan/scan.h"
#include "quickbeam/io.h"

enum { VIEWS = 5, ROWS = 32 /* rows that are compared with views */, NEAR = 2 };

typedef struct flat_look {
    qb_scan *scan;
    char *raw;
    float *flat, *line; /* [columns] of a row, minus the dark */
    float *scratch;
    unsigned char *high; /* [columns]: views in which the pixel stands out too */
    size_t found, row, column;
} flat_look;

/* The second largest of the two neighbours on either side, because two zingers may be neighbours. */
static float around(const float *line, size_t i) {
    float near[4] = {line[i - 2], line[i - 1], line[i + 1], line[i + 2]};
    qb__sort_floats(near, 4);
    return near[2];
}

/* Noise of a row: the median second difference, as a standard deviation. */
static double noise_of(const float *line, size_t columns, float *scratch) {
    size_t count = 0;
    for (size_t i = 1; i + 1 < columns; i++) {
        const float second = line[i - 1] - 2 * line[i] + line[i + 1];
        if (isfinite(second)) scratch[count++] = fabsf(second);
    }
    if (!count) return INFINITY;
    return (double)qb__float_at(scratch, count, count / 2) / (0.6745 * sqrt(6));
}

static void less_dark(const flat_look *l, size_t row, float *line) {
    const size_t columns = l->scan->info.columns;
    for (size_t i = 0; l->scan->dark && i < columns; i++) line[i] -= l->scan->dark[row * columns + i];
}

/* Pixels of the row that stand out; clears high[]. */
static size_t find(flat_look *l, size_t row) {
    const double FAR = 12, PART = 0.1;
    const size_t columns = l->scan->info.columns;
    size_t count = 0;
    memcpy(l->flat, l->scan->flat + row * columns, columns * sizeof *l->flat);
    less_dark(l, row, l->flat);
    const double noise = noise_of(l->flat, columns, l->scratch);
    for (size_t i = NEAR; i + NEAR < columns; i++) {
        const double near = (double)around(l->flat, i), over = (double)l->flat[i] - near;
        l->high[i] = over > FAR * noise && near > 0 && over > PART * near ? 1 : 0; /* false for NaN */
        count += l->high[i];
    }
    return count;
}

/* Counts the pixels of the row that do not stand out in most views. */
static qb_status compare(flat_look *l, size_t row) {
    const size_t columns = l->scan->info.columns, views = l->scan->info.views;
    for (size_t v = 0; v < VIEWS; v++) {
        const size_t view = v * (views - 1) / (VIEWS - 1);
        QB__OR_RETURN(qb_scan_read(l->scan, view, view + 1, row, row + 1, l->raw));
        qb_convert_to_float(l->raw, l->scan->info.dtype, columns, l->line);
        less_dark(l, row, l->line);
        for (size_t i = NEAR; i + NEAR < columns; i++) {
            if (!l->high[i]) continue;
            const double over = (double)(l->flat[i] / around(l->flat, i)) - 1;
            if (!((double)(l->line[i] / around(l->line, i)) - 1 < over / 2)) l->high[i]++;
        }
    }
    for (size_t i = NEAR; i + NEAR < columns; i++) {
        if (!l->high[i] || 2 * (l->high[i] - 1) > VIEWS) continue;
        if (l->found++ == 0) l->row = row, l->column = i;
    }
    return QB_OK;
}

static qb_status look(flat_look *l) {
    size_t compared = 0;
    for (size_t row = 0; row < l->scan->info.rows && compared < ROWS; row++) {
        if (!find(l, row)) continue;
        QB__OR_RETURN(compare(l, row));
        compared++;
    }
    return QB_OK;
}

qb_status qb__scan_look_at_flats(qb_scan *scan, bool keep) {
    const qb_scan_info *info = &scan->info;
    const size_t columns = info->columns;
    flat_look l = {.scan = scan};
    qb_status status = QB_OK;
    if (info->quantity != QB_COUNTS || !scan->flat || *scan->refused || !(info->flats == 1 || keep)) return QB_OK;
    if (info->views < VIEWS || columns < 8 || qb__scan_on_device(scan)) return QB_OK;
    QB__TRY(qb__alloc(columns, qb_dtype_size(info->dtype), &l.raw));
    QB__TRY(qb__alloc(columns, sizeof *l.flat, &l.flat));
    QB__TRY(qb__alloc(columns, sizeof *l.line, &l.line));
    QB__TRY(qb__alloc(columns, sizeof *l.scratch, &l.scratch));
    QB__TRY(qb__alloc(columns, 1, &l.high));
    QB__TRY(look(&l));
    if (l.found)
        qb__note_of(&scan->parts.notes, QB_PROBLEM_FIELDS,
                    "%zu pixels of the flats are bright and those of the views are not (zingers), the first in row "
                    "%zu, column %zu: they leave rings; give more flats, or --rings all" QB__CODE("flat-zingers"),
                    l.found, l.row, l.column);
out:
    QB__FREE(l.raw, l.flat, l.line, l.scratch, l.high);
    return status;
}
