/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "base/half.h"
#include "kernels/bp_parallel/bp_parallel_tensor_sizes.h"

/* Directions across which 8x8 pixels are divided into halves, in degrees: every view direction is close enough to one
 * of them for a strip to span at most 6 pixels if a pixel is as wide as a column. At the dividing line, no two pixels
 * may have the same distance. */
static const double cuts[QB__TENSOR_SHAPES] = {0, 90, 37.1, 52.9, 127.1, 142.9};

void qb__tensor_shapes(uint8_t shapes[QB__TENSOR_SHAPES][QB__TENSOR_STRIP]) {
    for (int s = 0; s < QB__TENSOR_SHAPES; s++) {
        const double angle = cuts[s] * (3.14159265358979323846 / 180);
        const double c = cos(angle), d = sin(angle);
        int n = 0;
        for (int p = 0; p < 64; p++) { /* takes the pixels with fewer than 32 pixels before them */
            const double h = c * (p & 7) + d * (p >> 3);
            int before = 0;
            for (int q = 0; q < 64; q++) before += c * (q & 7) + d * (q >> 3) < h - 1e-6;
            if (before < QB__TENSOR_STRIP && n < QB__TENSOR_STRIP) shapes[s][n++] = (uint8_t)p;
        }
    }
}

typedef struct extent {
    double least, most; /* h of its pixels, relative to the pixels' origin */
} extent;

static extent strip_of(const uint8_t *shape, double ax, double ay) {
    extent s = {INFINITY, -INFINITY};
    for (int i = 0; i < QB__TENSOR_STRIP; i++) {
        const double h = ax * (shape[i] & 7) + ay * (shape[i] >> 3);
        s.least = h < s.least ? h : s.least; /* fmin() and fmax() would be calls */
        s.most = h > s.most ? h : s.most;
    }
    return s;
}

/* The first shape whose strips lie within `bins` columns at any position; -1 if there is none. */
static int shape_for(uint8_t shapes[QB__TENSOR_SHAPES][QB__TENSOR_STRIP], double ax, double ay, int bins) {
    for (int s = 0; s < QB__TENSOR_SHAPES; s++) {
        const extent t = strip_of(shapes[s], ax, ay);
        if (t.most - t.least <= bins - 2.001) return s;
    }
    return -1;
}

/* Find the columns that a group needs. Strip 0 reads `bins` columns upwards from the one before its smallest h, strip 1
 * downwards from the one after its largest h. */
static void window_of(const extent *strip, double ax, double ay, int bins, double *low, int *rows) {
    const double wx = ax * (QB__TENSOR_GROUP_X - 8), wy = ay * (QB__TENSOR_GROUP_Y - 8);
    const double turned = 7 * (ax + ay) - strip->least; /* largest h of strip 1 */
    const double from = fmin(strip->least, turned - (bins - 1));
    const double to = fmax(strip->least + (bins - 1), turned);
    *low = fmin(0, wx) + fmin(0, wy) + from;
    *rows = (int)ceil(fabs(wx) + fabs(wy) + to - from + 0.02) + 2;
}

int qb__tensor_bins(const qb__bp_parallel_problem *problem, int *rows) {
    uint8_t shapes[QB__TENSOR_SHAPES][QB__TENSOR_STRIP];
    qb__tensor_shapes(shapes);
    for (int bins = 8; bins <= 32; bins *= 2) {
        size_t v = 0;
        *rows = 2 * bins + 2; /* rows needed by a view off the detector */
        for (; v < problem->views; v++) {
            const double ax = problem->ax[v], ay = problem->ay[v];
            const int shape = shape_for(shapes, ax, ay, bins);
            if (shape < 0) break;
            const extent s = strip_of(shapes[shape], ax, ay);
            double low;
            int n;
            window_of(&s, ax, ay, bins, &low, &n);
            if (n > *rows) *rows = n;
        }
        if (v == problem->views) return bins;
    }
    return 0;
}

size_t qb__tensor_views_max(size_t views, unsigned step) { return views + QB__TENSOR_SHAPES * (size_t)(step - 1); }

static void put(qb__tensor_view *view, const extent *strip, double ax, double ay, double h0, int bins, int shape,
                size_t row) {
    double low;
    int rows;
    window_of(strip, ax, ay, bins, &low, &rows);
    *view = (qb__tensor_view){ax, ay, h0, (float)strip->least, (float)low, rows, shape, (uint32_t)row, 0};
}

void qb__tensor_views_make(const qb__bp_parallel_problem *problem, int bins, unsigned step, qb__tensor_view *list,
                           size_t *count) {
    uint8_t shapes[QB__TENSOR_SHAPES][QB__TENSOR_STRIP];
    qb__tensor_shapes(shapes);
    const extent point = {0, 0};
    size_t n = 0;
    for (int s = 0; s < QB__TENSOR_SHAPES; s++) {
        for (size_t v = 0; v < problem->views; v++) {
            const double ax = problem->ax[v], ay = problem->ay[v];
            if (shape_for(shapes, ax, ay, bins) != s) continue;
            const extent t = strip_of(shapes[s], ax, ay);
            put(&list[n++], &t, ax, ay, problem->h0[v], bins, s, v);
        }
        while (n % step) put(&list[n++], &point, 0, 0, -1e9, bins, s, 0);
    }
    *count = n;
}

/* Compute the distances of the four pixels of each lane. */
static void distances_of(const qb__tensor_view *view, const uint8_t *shape, int block, bool split, uint32_t *table) {
    for (int lane = 0; lane < 32; lane++, table += split ? 4 : 2) {
        float q[4];
        for (int slot = 0; slot < 4; slot++) {
            const int pixel = shape[8 * slot + (lane >> 2)];
            const double h = view->ax * (pixel & 7) + view->ay * (pixel >> 3) - view->first;
            q[slot] = (float)(h - 2 * (lane & 3) - 8 * block);
        }
        if (split)
            memcpy(table, q, sizeof q);
        else
            qb__float_to_half(q, 4, table);
    }
}

size_t qb__tensor_table_words(size_t count, int bins, bool split) {
    return count * (size_t)bins / 8 * (split ? 128 : 64);
}

void qb__tensor_table_make(const qb__tensor_view *views, size_t count, int bins, bool split, uint32_t *table) {
    uint8_t shapes[QB__TENSOR_SHAPES][QB__TENSOR_STRIP];
    qb__tensor_shapes(shapes);
    for (size_t v = 0; v < count; v++)
        for (int block = 0; block < bins / 8; block++, table += qb__tensor_table_words(1, 8, split))
            distances_of(&views[v], shapes[views[v].shape], block, split, table);
}
