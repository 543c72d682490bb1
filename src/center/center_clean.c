/* SPDX-License-Identifier: MIT */
/* Detector faults stand still while the object turns. If they stayed in the data, the finders would choose the axis
 * about which the faults mirror each other. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "center/center.h"

double qb__center_ramp(double value, double from, double to) {
    double t = (value - from) / (to - from);
    if (!(t > 0)) return 0;
    return t >= 1 ? 1 : t * t * (3 - 2 * t);
}

double qb__center_vertex(double before, double at, double after) {
    double curvature = before - 2 * at + after;
    if (curvature == 0) return 0;
    double at_vertex = (before - after) / (2 * curvature);
    return at_vertex < -1 ? -1 : at_vertex > 1 ? 1 : at_vertex;
}

void qb__center_box(const float *row, size_t width, size_t reach, float *out) {
    double sum = 0;
    ptrdiff_t n = (ptrdiff_t)width, r = (ptrdiff_t)reach;
    for (ptrdiff_t k = -r; k <= r; k++) sum += (double)row[k < 0 ? 0 : k < n ? k : n - 1];
    for (ptrdiff_t k = 0; k < n; k++) {
        out[k] = (float)(sum / (double)(2 * r + 1));
        ptrdiff_t in = k + r + 1, gone = k - r;
        sum += (double)row[in < n ? in : n - 1] - (double)row[gone < 0 ? 0 : gone];
    }
}

void qb__center_bin(const float *row, size_t columns, size_t bin, float *out) {
    for (size_t k = 0; k < columns / bin; k++) {
        float sum = 0;
        for (size_t i = 0; i < bin; i++) sum += row[k * bin + i];
        out[k] = sum / (float)bin;
    }
}

/* Median of values[at - reach .. at + reach], with the end values repeated. reach <= 8. */
static double running_median(const double *values, size_t count, size_t at, size_t reach) {
    double window[17];
    size_t n = 0;
    for (size_t i = 0; i <= 2 * reach; i++) {
        size_t k = at + i < reach ? 0 : at + i - reach;
        double value = values[k < count ? k : count - 1];
        size_t j = n++;
        for (; j > 0 && window[j - 1] > value; j--) window[j] = window[j - 1];
        window[j] = value;
    }
    return window[reach];
}

static void bridge(float *sinogram, size_t views, size_t columns, const bool *bad) {
    for (size_t k = 0; k < columns; k++) {
        if (!bad[k]) continue;
        size_t left = k, right = k;
        while (left > 0 && bad[left]) left--;
        while (right < columns - 1 && bad[right]) right++;
        if (bad[left]) left = right;
        if (bad[right]) right = left;
        double t = right > left ? (double)(k - left) / (double)(right - left) : 0;
        for (size_t v = 0; v < views; v++) {
            float *row = sinogram + v * columns;
            row[k] = (float)((1 - t) * (double)row[left] + t * (double)row[right]);
        }
    }
}

/* A column is bad if, over all views, it differs from the mean of its neighbours by far more than the columns around it
 * do. A bad column also raises the measure of its neighbours, so only peaks count. */
static void bridge_bad_columns(float *sinogram, size_t views, size_t columns, double *departure, bool *bad) {
    const double FAR = 4;
    memset(departure, 0, columns * sizeof *departure);
    for (size_t v = 0; v < views; v++) {
        const float *row = sinogram + v * columns;
        for (size_t k = 1; k + 1 < columns; k++) {
            double d = (double)row[k] - 0.5 * ((double)row[k - 1] + (double)row[k + 1]);
            departure[k] += d * d;
        }
    }
    departure[0] = departure[1];
    departure[columns - 1] = departure[columns - 2];
    bool any = false;
    for (size_t k = 0; k < columns; k++) {
        double usual = running_median(departure, columns, k, 8);
        bool peak = departure[k] >= departure[k ? k - 1 : 0] && departure[k] >= departure[k + 1 < columns ? k + 1 : k];
        bad[k] = peak && departure[k] > FAR * FAR * usual;
        any |= bad[k];
    }
    if (any) bridge(sinogram, views, columns, bad);
}

/* Narrow features of the mean over all views are detector faults. The mean of the object itself varies smoothly except
 * at its edges, and a running median keeps edges. */
static void remove_rings(float *sinogram, size_t views, size_t columns, double *mean) {
    memset(mean, 0, columns * sizeof *mean);
    for (size_t v = 0; v < views; v++) {
        for (size_t k = 0; k < columns; k++) mean[k] += (double)sinogram[v * columns + k];
    }
    for (size_t k = 0; k < columns; k++) mean[k] /= (double)views;
    double *excess = mean + columns;
    for (size_t k = 0; k < columns; k++) excess[k] = mean[k] - running_median(mean, columns, k, 4);
    for (size_t v = 0; v < views; v++) {
        for (size_t k = 0; k < columns; k++) sinogram[v * columns + k] -= (float)excess[k];
    }
}

struct clean_job {
    float *sinograms;
    size_t views, columns;
    double *scratch; /* [row][2 columns] */
    bool *bad;       /* [row][column] */
};

static void clean_row(void *context, size_t row, int worker) {
    (void)worker;
    struct clean_job *job = context;
    float *sinogram = job->sinograms + row * job->views * job->columns;
    double *scratch = job->scratch + row * 2 * job->columns;
    bridge_bad_columns(sinogram, job->views, job->columns, scratch, job->bad + row * job->columns);
    remove_rings(sinogram, job->views, job->columns, scratch);
}

qb_status qb__center_clean(float *sinograms, size_t rows, size_t views, size_t columns, qb__pool *pool) {
    struct clean_job job = {.sinograms = sinograms, .views = views, .columns = columns};
    qb_status status = qb__alloc(rows * columns, 2 * sizeof(double), &job.scratch);
    if (status == QB_OK) status = qb__alloc(rows * columns, sizeof(bool), &job.bad);
    if (status == QB_OK) qb__pool_for(pool, rows, clean_row, &job);
    QB__FREE(job.scratch, job.bad);
    return status;
}
