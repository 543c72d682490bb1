/* SPDX-License-Identifier: MIT */
#include "prep/row_shift.h"

#include <math.h>

#include "base/memory.h"
#include "base/status.h"

enum { PLACES = 24, VIEWS = 3, ROWS = 16, FEWEST_ROWS = 8, OTHERS = 1 /* positions that may contradict */ };

typedef struct interlace {
    qb_scan *scan;
    qb__prep prep; /* preparation of the scan; missing values are interpolated */
    size_t first;  /* row of its fields */
    size_t row, rows, columns;
    float *line[VIEWS]; /* [rows][columns] of a view, the one before and the one after */
    char *raw;
} interlace;

static qb_status read_view(interlace *l, size_t view, float *lines) {
    const size_t bytes = l->columns * qb_dtype_size(qb_scan_describe(l->scan)->dtype);
    qb__prep_counts counts = {0}; /* dropped: these rows are counted when they are reconstructed */
    const qb_status status = qb_scan_read(l->scan, view, view + 1, l->row, l->row + l->rows, l->raw);
    for (size_t r = 0; status == QB_OK && r < l->rows; r++)
        qb__prep_row(&l->prep, view, l->row + r - l->first, l->raw + r * bytes, lines + r * l->columns, &counts);
    return status;
}

static double difference(const float *a, const float *b, size_t columns) {
    double sum = 0;
    for (size_t c = 0; c < columns; c++) sum += ((double)a[c] - (double)b[c]) * ((double)a[c] - (double)b[c]);
    return sum;
}

/* For one view: how much less even rows differ from the next rows of the view before than from those of the view after,
 * and odd rows the other way round; and the sum of all differences. */
static void compare(const interlace *l, double *turns, double *all) {
    for (size_t r = 0; r + 1 < l->rows; r++) {
        const float *here = l->line[1] + r * l->columns;
        const double before = difference(here, l->line[0] + (r + 1) * l->columns, l->columns),
                     behind = difference(here, l->line[2] + (r + 1) * l->columns, l->columns);
        *turns += (l->row + r) % 2 ? before - behind : behind - before;
        *all += before + behind;
    }
}

static qb_status look(interlace *l, size_t views, int *from) {
    const double PART = 0.01;
    double sum = 0, size = 0;
    size_t later = 0;
    for (size_t p = 0; p < PLACES; p++) {
        const size_t view = 1 + p * (views - 3) / (PLACES - 1);
        double turns = 0, all = 0;
        for (size_t k = 0; k < VIEWS; k++) QB__OR_RETURN(read_view(l, view - 1 + k, l->line[k]));
        compare(l, &turns, &all);
        sum += turns, size += all, later += turns > 0;
    }
    const bool agree = later <= OTHERS || later + OTHERS >= PLACES;
    if (agree && fabs(sum) > PART * size) *from = sum > 0 ? 1 : -1;
    return QB_OK;
}

qb_status qb__row_interlace_find(qb_scan *scan, const qb__prepare *prepare, size_t row0, size_t rows, int *from) {
    const qb_scan_info *info = qb_scan_describe(scan);
    interlace l = {.scan = scan, .rows = qb__smaller(ROWS, rows), .columns = info->columns};
    qb_status status;
    *from = 0;
    if (rows < FEWEST_ROWS || info->views < 2 * PLACES) return QB_OK;
    l.row = row0 + (rows - l.rows) / 2;
    l.prep = *qb__prepare_steps(prepare);
    qb__prep_reads(&l.prep, info->dtype);
    l.prep.keep_lost = false;
    l.first = qb__prepare_first_row(prepare);
    for (size_t k = 0; k < VIEWS; k++) QB__TRY(qb__alloc(l.rows * l.columns, sizeof(float), &l.line[k]));
    QB__TRY(qb__alloc(l.rows, l.columns * qb_dtype_size(info->dtype), &l.raw));
    status = look(&l, info->views, from);
out:
    for (size_t k = 0; k < VIEWS; k++) qb__free(l.line[k]);
    qb__free(l.raw);
    return status;
}
