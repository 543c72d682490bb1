/* SPDX-License-Identifier: MIT */
/* Upper limit of prepared values. */
#include <math.h>

#include "base/memory.h"
#include "base/select.h"
#include "base/sort.h"
#include "base/status.h"
#include "io/scan/scan.h"
#include "prep/dense.h"
#include "prep/row_sample.h"
#include "prep/prep.h"

/* Largest factor by which --hardening changes values up to `most`. */
static double surrogate(const qb_prep_options *options, double most) {
    qb__hardening_curve *curve = NULL;
    double bent = 1;
    if (options && qb__curve_create(options->hardening, &curve) != QB_OK) return INFINITY;
    if (curve && curve->table) {
        for (int i = 0; i <= QB__CURVE_STEPS; i++) bent = fmax(bent, fabs((double)curve->ratio[i]));
        bent = fmax(bent, fabs((double)curve->slope));
    } else if (curve) {
        bent += most * (fabs((double)curve->a) + most * fabs((double)curve->b));
    }
    qb__curve_destroy(curve);
    return bent;
}

double qb__prep_bound(qb_quantity quantity, const qb_prep_options *options) {
    const double LOGARITHM = 89, LOOSEST = 1000, bent = surrogate(options, LOGARITHM);
    return quantity != QB_LINE_INTEGRAL && bent <= LOOSEST ? LOGARITHM * bent : INFINITY;
}

/* ---- given line integrals ---- */

typedef struct tops {
    size_t columns, count;
    qb_dtype dtype;
    float *line;
    double value[QB__SAMPLE_LINES]; /* for each line a value that only few of its values exceed */
    double largest;                 /* the largest value of all lines */
} tops;

static void look(void *self, size_t number, size_t view, size_t row, const char *raw) {
    tops *t = self;
    size_t count = 0;
    (void)number, (void)view, (void)row;
    qb_convert_to_float(raw, t->dtype, t->columns, t->line);
    for (size_t i = 0; i < t->columns; i++)
        if (isfinite(t->line[i])) t->line[count++] = fabsf(t->line[i]);
    if (count == 0) return;
    for (size_t i = 0; i < count; i++) t->largest = fmax(t->largest, (double)t->line[i]);
    t->value[t->count++] = (double)qb__float_at(t->line, count, count - 1 - count / 200 - (count > 16));
}

/* Faulty pixels and lines are ignored if other lines have values. */
static double usual(tops *t) {
    if (t->count == 0) return 0;
    qb__sort(t->value, t->count);
    const double high = t->value[t->count - 1 - t->count / 20];
    return high > 0 ? high : t->largest;
}

qb_status qb__prep_bound_of(qb_scan *scan, const qb_prep_options *options, double *bound) {
    enum { ROOM = 4 << 20 };
    const double LOOSEST = 10;
    const qb_scan_info *info = qb_scan_describe(scan);
    const qb__row_sample where = {
        .row1 = info->rows, .step = 1, .held1 = info->rows, .view1 = info->views, .room = ROOM};
    tops *t;
    *bound = qb__prep_bound(info->quantity, options);
    if (info->quantity != QB_LINE_INTEGRAL) return QB_OK;
    QB__OR_RETURN(qb__alloc(1, sizeof *t, &t));
    *t = (tops){.columns = info->columns, .dtype = info->dtype};
    qb_status status = qb__alloc(info->columns, sizeof *t->line, &t->line);
    if (status == QB_OK) status = qb__row_sample_read(scan, &where, look, t);
    const double most = QB__PREP_MARGIN * usual(t), bent = surrogate(options, most);
    if (status == QB_OK && most > 0 && bent <= LOOSEST) *bound = most * bent;
    QB__FREE(t->line, t);
    return status;
}
