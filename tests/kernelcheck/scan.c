/* SPDX-License-Identifier: MIT */
#include "case_bp_parallel.h"

#include <math.h>
#include <stdlib.h>

static void *need(void *memory) {
    if (memory) return memory;
    fprintf(stderr, "kernelcheck: out of memory\n");
    exit(2);
}

scan scan_new(size_t views, size_t columns, size_t nx, size_t ny, unsigned slices) {
    scan s = {.slices = slices};
    s.ax = need(calloc(views, sizeof *s.ax));
    s.ay = need(calloc(views, sizeof *s.ay));
    s.h0 = need(calloc(views, sizeof *s.h0));
    s.rows = need(malloc(slices * views * columns * sizeof *s.rows));
    s.largest = need(calloc(slices, sizeof *s.largest));
    s.problem = (qb__bp_parallel_problem){.views = views,
                                          .columns = columns,
                                          .nx = nx,
                                          .ny = ny,
                                          .ax = s.ax,
                                          .ay = s.ay,
                                          .h0 = s.h0,
                                          .largest = s.largest};
    return s;
}

void scan_fill(scan *s, rng *r) {
    size_t n = s->problem.views * s->problem.columns;
    for (unsigned z = 0; z < s->slices; z++) {
        double amplitude = exp(rng_uniform(r, -12.0, 12.0));
        float *row = s->rows + z * n;
        s->largest[z] = 0;
        for (size_t i = 0; i < n; i++) {
            row[i] = (float)(amplitude * rng_normal(r));
            s->largest[z] = fmaxf(s->largest[z], fabsf(row[i]));
        }
    }
}

void scan_free(scan *s) {
    free(s->ax);
    free(s->ay);
    free(s->h0);
    free(s->rows);
    free(s->largest);
}

const float *scan_row(const scan *s, unsigned slice, size_t view) {
    return s->rows + (slice * s->problem.views + view) * s->problem.columns;
}

double scan_reference(const scan *s, qb__interp interp, unsigned slice, size_t x, size_t y) {
    return qb__bp_parallel_reference(&s->problem, interp, scan_row(s, slice, 0), s->problem.columns,
                                     x, y);
}

double accuracy_bound(qb__accuracy accuracy) {
    return accuracy == QB__ACCURACY_HIGH ? 5e-5 : accuracy == QB__ACCURACY_NORMAL ? 1e-3 : 6e-3;
}
