/* SPDX-License-Identifier: MIT */
#include "center/center_still.h"

#include <math.h>

#include "base/memory.h"
#include "base/status.h"

typedef struct mean_job {
    const qb__center_rows *rows;
    const qb__center_pairs *pairs;
    const double *weight; /* [pairs->views] */
    double sum;
    double *line; /* [worker][columns] */
    float *still;
} mean_job;

static void mean_of_row(void *context, size_t row, int worker) {
    const mean_job *job = context;
    const size_t columns = job->rows->columns;
    double *line = job->line + (size_t)worker * columns;
    for (size_t k = 0; k < columns; k++) line[k] = 0;
    for (size_t v = 0; v < job->pairs->views; v++) {
        const float *view = job->rows->sinograms + (row * job->rows->views + job->pairs->view[v]) * columns;
        for (size_t k = 0; k < columns; k++) line[k] += job->weight[v] * (double)view[k];
    }
    for (size_t k = 0; k < columns; k++) job->still[row * columns + k] = (float)(line[k] / job->sum);
}

qb_status qb__center_still(const qb__center_rows *rows, const qb__center_pairs *pairs, float **still) {
    mean_job job = {.rows = rows, .pairs = pairs};
    double *weight = NULL;
    qb_status status;
    *still = NULL;
    QB__TRY(qb__alloc(pairs->views, sizeof *weight, &weight));
    QB__TRY(qb__alloc((size_t)qb__pool_threads(rows->pool) * rows->columns, sizeof *job.line, &job.line));
    QB__TRY(qb__alloc(rows->rows * rows->columns, sizeof **still, still));
    for (size_t p = 0; p < pairs->count; p++) {
        weight[pairs->pair[p].i] += pairs->pair[p].weight;
        weight[pairs->pair[p].j] += pairs->pair[p].weight;
        job.sum += 2 * pairs->pair[p].weight;
    }
    job.weight = weight;
    job.still = *still;
    qb__pool_for(rows->pool, rows->rows, mean_of_row, &job);
out:
    QB__FREE(weight, job.line);
    return status;
}

/* Mean over the rows, interpolated between two columns. */
static double at(const qb__center_rows *rows, const float *still, double column) {
    const size_t k = (size_t)column;
    const double part = column - (double)k;
    double sum = 0;
    for (size_t r = 0; r < rows->rows; r++) {
        const float *line = still + r * rows->columns + k;
        sum += (1 - part) * (double)line[0] + part * (double)line[part > 0];
    }
    return sum / (double)rows->rows;
}

/* Let f be the mean and g its mirror image. An axis that is wrong by d columns changes f - g by 2 d f'. So the
 * least-squares estimate of d has the standard deviation sqrt(mean square of f - g / (4 sum f'^2)). f - g is averaged
 * over blocks of WIDE columns: then white noise counts little, but stripes of that width count in full. */
double qb__center_uneven(const qb__center_rows *rows, const float *still, double column) {
    enum { WIDE = 8 };
    const double last = (double)rows->columns - 1;
    const double first = ceil(fmax(2, 2 * column - last + 2)), end = fmin(last - 2, 2 * column - 2);
    double block = 0, differs = 0, slopes = 0, n = 0;
    for (double k = first; k <= end; k++) {
        const double slope = 0.5 * (at(rows, still, k + 1) - at(rows, still, k - 1));
        block += (at(rows, still, k) - at(rows, still, 2 * column - k)) / WIDE;
        slopes += slope * slope;
        if ((size_t)(k - first) % WIDE < WIDE - 1) continue;
        differs += block * block * WIDE, block = 0, n++;
    }
    return n > 0 && slopes > 0 ? sqrt(differs / n / (4 * slopes)) : 0;
}

double qb__center_scatter(const double *each, size_t rows) {
    double n = 0, x = 0, y = 0, xx = 0, xy = 0, yy = 0;
    for (size_t r = 0; r < rows; r++) {
        if (isnan(each[r])) continue;
        const double at = (double)r;
        n++, x += at, y += each[r], xx += at * at, xy += at * each[r], yy += each[r] * each[r];
    }
    if (n < 4) return NAN;
    const double sxx = xx - x * x / n, sxy = xy - x * y / n, syy = yy - y * y / n;
    return sqrt(fmax(syy - (sxx > 0 ? sxy * sxy / sxx : 0), 0) / (n - 2) / n);
}
