/* SPDX-License-Identifier: MIT */
/* How well opposite rays agree for columns around the axis, and how well the sums of line integrals agree between
 * views. */
#include "center/center_curve.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "base/status.h"
#include "center/center.h"
#include "center/center_pairs.h"
#include "geometry/parallel.h"
#include "prep/phase.h"
#include "prep/prepare.h"

enum { SMOOTH = 36 /* the moving mean covers this fraction of the views: 1 / SMOOTH */ };

static const double DEGREES = 180 / M_PI;

static float at(const float *row, double column) {
    const size_t i = (size_t)column;
    const float share = (float)(column - (double)i);
    return row[i] + share * (row[i + 1] - row[i]);
}

typedef struct sums {
    double apart, all;
} sums;

static void compare(const float *line, const float *opposite, size_t columns, double axis, sums *s) {
    for (size_t c = 0; c < columns; c++) {
        const double mirrored = 2 * axis - (double)c;
        if (mirrored < 0 || mirrored >= (double)columns - 1) continue;
        const double a = line[c], b = at(opposite, mirrored);
        s->apart += (a - b) * (a - b), s->all += 0.5 * (a * a + b * b);
    }
}

static double mismatch(const qb__center_rows *rows, const qb__center_pairs *pairs, double axis) {
    sums s = {0};
    for (size_t r = 0; r < rows->rows; r++) {
        const float *row = rows->sinograms + r * rows->views * rows->columns;
        for (size_t p = 0; p < pairs->count; p++) {
            const qb__center_pair *pair = &pairs->pair[p];
            if (pair->weight < 0.3) continue; /* the opposite ray is nearer to another view */
            compare(row + pairs->view[pair->i] * rows->columns, row + pairs->view[pair->j] * rows->columns,
                    rows->columns, axis, &s);
        }
    }
    return s.all > 0 ? sqrt(s.apart / s.all) : NAN;
}

/* Keep at most MOST pairs, evenly spaced, to limit the time. */
static void thin(qb__center_pairs *pairs) {
    enum { MOST = 64 };
    const size_t count = pairs->count;
    if (count <= MOST) return;
    for (size_t i = 0; i < MOST; i++) pairs->pair[i] = pairs->pair[i * count / MOST];
    pairs->count = MOST;
}

static qb_status add_mismatch(const qb__center_rows *rows, double axis, qb_tool_curve *curve) {
    const double last = (double)rows->columns - 1, half = fmax(8, 0.02 * last);
    qb__center_pairs pairs;
    qb_status status = qb__center_pairs_find(rows->angles, rows->views, last / 2, &pairs);
    if (status != QB_OK) return status;
    thin(&pairs);
    for (int i = 0; pairs.count && i < QB_TOOL_CURVE; i++) {
        const double column = axis + half * (2.0 * i / (QB_TOOL_CURVE - 1) - 1), value = mismatch(rows, &pairs, column);
        if (!(column >= 0 && column <= last) || isnan(value)) continue;
        curve->column[curve->points] = column;
        curve->mismatch[curve->points++] = value;
    }
    qb__center_pairs_clear(&pairs);
    return QB_OK;
}

/* ---- sums of line integrals ---- */

/* The largest mean value at the ends of the lines, relative to the largest value of all. */
static double level_of_ends(const qb__center_rows *rows) {
    const size_t columns = rows->columns, end = columns / 64 + 1;
    double ends = 0, top = 0;
    for (size_t v = 0; v < rows->rows * rows->views; v++) {
        const float *line = rows->sinograms + v * columns;
        double left = 0, right = 0;
        for (size_t c = 0; c < end; c++) left += line[c], right += line[columns - 1 - c];
        ends = fmax(ends, fmax(left, right) / (double)end);
        for (size_t c = 0; c < columns; c++) top = fmax(top, line[c]);
    }
    return top > 0 ? ends / top : 1;
}

/* swing: standard deviation of a moving mean of the sums. scatter: that of the remainder. Near the first and last view
 * the mean is over fewer views. */
static void judge_sums(qb_tool_curve *curve) {
    const long n = (long)curve->views, half = n / (2 * SMOOTH);
    double slow = 0, fast = 0;
    for (long i = 0; i < n; i++) {
        double mean = 0;
        long count = 0;
        for (long j = i - half; j <= i + half; j++)
            if (j >= 0 && j < n) mean += curve->sum[j], count++;
        mean /= (double)count;
        slow += (mean - 1) * (mean - 1);
        fast += (curve->sum[i] - mean) * (curve->sum[i] - mean);
    }
    curve->swing = sqrt(slow / (double)n);
    curve->scatter = sqrt(fast / (double)n);
}

static qb_status add_sums(const qb__center_rows *rows, bool whole, qb_tool_curve *curve) {
    const size_t views = rows->views, columns = rows->columns;
    double mean = 0;
    curve->angle = calloc(views, sizeof *curve->angle);
    curve->sum = calloc(views, sizeof *curve->sum);
    if (!curve->angle || !curve->sum) return qb__fail(QB_NO_MEMORY, "no memory for the sums of %zu views", views);
    curve->views = views;
    for (size_t v = 0; v < views; v++) {
        curve->angle[v] = rows->angles[v] * DEGREES;
        for (size_t r = 0; r < rows->rows; r++)
            for (size_t c = 0; c < columns; c++) curve->sum[v] += rows->sinograms[(r * views + v) * columns + c];
        mean += curve->sum[v] / (double)views;
    }
    for (size_t v = 0; v < views; v++) curve->sum[v] = mean > 0 ? curve->sum[v] / mean : NAN;
    judge_sums(curve);
    if (!whole || !(mean > 0)) curve->swing = NAN;
    return QB_OK;
}

/* ---- loading rows ---- */

/* Loads the middle rows, prepared as the job prepares them: three rows, or one row of a cone beam, because only there
 * rays stay in the plane of the row. */
static qb_status load(qb_scan *scan, const qb_prep_options *prep, bool cone, const qb_env *env, qb__pool *pool,
                      size_t *count, float **sinograms) {
    const qb_scan_info *info = qb_scan_describe(scan);
    const size_t middle = info->rows / 2, more = !cone && middle > 0 && middle + 1 < info->rows;
    const qb__prepared rows = {.row0 = middle - more, .row1 = middle + 1 + more, .step = 1};
    qb__prepare *prepare = NULL;
    qb__prep_counts counts = {0};
    qb_status status;
    *count = rows.row1 - rows.row0;
    QB__TRY(qb__alloc(*count * info->views, info->columns * sizeof(float), sinograms));
    QB__TRY(qb__prepare_create(scan, prep, &rows, env, &prepare));
    status = qb__prepare_rows(prepare, scan, rows.row0, rows.row1, pool, *sinograms, &counts);
out:
    qb__prepare_destroy(prepare);
    return status;
}

static qb_status look(const qb__center_rows *rows, double sod, double sdd, double pixel, double axis,
                      qb_tool_curve *curve) {
    qb__center_fan *fan = NULL;
    qb__center_rows parallel = *rows;
    const bool whole = level_of_ends(rows) < 0.05;
    bool full = false;
    qb_status status;
    if (sod > 0) {
        QB__TRY(qb__turns_fully(rows->views, rows->angles, &full, NULL));
        QB__TRY(qb__center_fan_create(rows, sod, sdd, pixel, full, &fan));
        parallel = qb__center_fan_rows(fan, axis);
    }
    QB__TRY(add_mismatch(&parallel, axis, curve));
    status = add_sums(&parallel, whole, curve);
out:
    qb__center_fan_destroy(fan);
    return status;
}

qb_status qb_tool_curve_of(qb_scan *scan, const qb_prep_options *prep, double sod, double sdd, double axis,
                           const qb_env *env, qb_tool_curve *curve) {
    const qb_scan_info *info = qb_scan_describe(scan);
    size_t count = 0;
    qb__phase *phase = NULL;
    qb__pool *pool = NULL;
    float *sinograms = NULL;
    qb_status status;
    *curve = (qb_tool_curve){.swing = NAN};
    QB__TRY(qb__pool_create(env ? env->threads : 0, &pool));
    QB__TRY(qb__phase_create(scan, NULL, prep, env, &phase));
    QB__TRY(load(qb__phase_scan(phase, scan), prep, sod > 0, env, pool, &count, &sinograms));
    const qb__center_rows rows = {.sinograms = sinograms,
                                  .rows = count,
                                  .views = info->views,
                                  .columns = info->columns,
                                  .angles = info->angles,
                                  .high = (double)info->columns - 1,
                                  .pool = pool,
                                  .env = env};
    status = look(&rows, sod, sdd, info->pixel_size, axis, curve);
out:
    if (status != QB_OK) qb_tool_curve_clear(curve);
    qb__phase_destroy(phase);
    qb__free(sinograms);
    qb__pool_destroy(pool);
    return status;
}

void qb_tool_curve_clear(qb_tool_curve *curve) {
    free(curve->angle);
    free(curve->sum);
    curve->angle = curve->sum = NULL;
    curve->views = 0;
    curve->points = 0;
}
