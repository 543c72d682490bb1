/* SPDX-License-Identifier: MIT */
#include "recon/convert/conversion.h"

#include "base/memory.h"
#include "base/status.h"

/* Match of the last `wide` columns of a with the first ones of b, over all sampled lines: 1 is perfect. */
static double fit_of(const float *a, const float *b, size_t lines, size_t columns, size_t other, size_t wide) {
    double sa = 0, sb = 0, saa = 0, sbb = 0, sab = 0;
    const double n = (double)(lines * wide);
    for (size_t l = 0; l < lines; l++)
        for (size_t k = 0; k < wide; k++) {
            const double x = (double)a[l * columns + columns - wide + k], y = (double)b[l * other + k];
            sa += x, sb += y, saa += x * x, sbb += y * y, sab += x * y;
        }
    const double va = saa - sa * sa / n, vb = sbb - sb * sb / n, both = va + vb, apart = saa + sbb - 2 * sab;
    return va > 0 && vb > 0 && both > 0 ? 1 - apart / both : -1;
}

/* Number of views and rows of each scan that are compared. */
enum { LOOK_VIEWS = 12, LOOK_ROWS = 12 };

static qb_status look(qb_scan *scan, const qb__prepare *prepare, float *lines) {
    const qb_scan_info *info = qb_scan_describe(scan);
    const size_t views = qb__smaller(LOOK_VIEWS, info->views), rows = qb__smaller(LOOK_ROWS, info->rows);
    qb__prep_counts counts = {0};
    char *raw;
    qb_status status = qb__alloc(info->columns, qb_dtype_size(info->dtype), &raw);
    for (size_t i = 0; i < views * rows && status == QB_OK; i++) {
        const size_t view = (2 * (i / rows) + 1) * info->views / (2 * views),
                     row = (2 * (i % rows) + 1) * info->rows / (2 * rows);
        status = qb_scan_read(scan, view, view + 1, row, row + 1, raw);
        if (status == QB_OK) qb__prepare_view(prepare, view, row, 1, raw, lines + i * info->columns, &counts);
    }
    qb__free(raw);
    return status;
}

qb_status qb__overlap_find(qb_scan *first, const qb__prepare *first_prepared, qb_scan *second,
                           const qb__prepare *second_prepared, double *overlap) {
    const qb_scan_info *info = qb_scan_describe(first);
    const size_t n = LOOK_VIEWS * LOOK_ROWS, columns = info->columns, other = qb_scan_describe(second)->columns,
                 lines = qb__smaller(LOOK_VIEWS, info->views) * qb__smaller(LOOK_ROWS, info->rows),
                 most = qb__smaller(columns, other), least = qb__larger(8, most / 50);
    const double SURE = 0.9;
    float *a = NULL, *b = NULL;
    double *fit = NULL;
    size_t best = least;
    qb_status status;
    QB__TRY(qb__alloc(n * columns, sizeof *a, &a));
    QB__TRY(qb__alloc(n * other, sizeof *b, &b));
    QB__TRY(qb__alloc(most + 2, sizeof *fit, &fit));
    QB__TRY(look(first, first_prepared, a));
    QB__TRY(look(second, second_prepared, b));
    for (size_t wide = least; wide <= most; wide++) {
        fit[wide] = fit_of(a, b, lines, columns, other, wide);
        if (fit[wide] > fit[best]) best = wide;
    }
    *overlap = (double)best;
    if (!(fit[best] > SURE)) {
        status = qb__fail(QB_BAD_INPUT,
                          "--stitch: no overlap was found (the best, %zu columns, fits to %.2f of 1): give --overlap "
                          "COLUMNS, or exchange both scans",
                          best, fit[best]);
        goto out;
    }
    if (best > least && best < most) {
        const double left = fit[best - 1], right = fit[best + 1], bent = left - 2 * fit[best] + right;
        if (bent < 0) *overlap += 0.5 * (left - right) / bent;
    }
out:
    QB__FREE(a, b, fit);
    return status;
}
