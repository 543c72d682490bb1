/* SPDX-License-Identifier: MIT */
/* Detector rows at the ends of the volume, for rays that stay at one height. The projector interpolates between the
 * middles of slices, and beyond the last middle a slice fades out. A row there measured the full slice but sees a part
 * of it in the model, so least squares would make the slice too bright. Its line integrals are multiplied by that
 * part. */
#include <math.h>

#include "geometry/flat_rays.h"
#include "ops/project.h"
#include "recon/iterative/iterative.h"

typedef struct scaling {
    const qb__iterative *it;
    float *lines;
} scaling;

/* Sum of the interpolation weights of the slices for a row at this height, 0 to 1. It is 1 at the middle of a slice,
 * except for rounding. */
static double part_of(double height, size_t slices) {
    const double ROUNDING = 1e-6, beyond = fmax(-height, height - (double)(slices - 1));
    return beyond > ROUNDING ? fmax(0, 1 - beyond) : 1;
}

static void scale_view(void *context, size_t task, int worker) {
    (void)worker;
    const scaling *s = context;
    const qb__iterative *it = s->it;
    const size_t rows = it->info->rows, columns = it->info->columns;
    double height, step;
    if (!qb__flat_rows(it->geometry, &it->whole, qb__iterative_scan_view(it, task), &height, &step)) return;
    for (size_t row = 0; row < rows; row++) {
        const double part = part_of(height + (double)row * step, it->whole.n[2]);
        float *line = s->lines + (task * rows + row) * columns;
        for (size_t c = 0; part < 1 && c < columns; c++) line[c] *= (float)part; /* -0 stays */
    }
}

void qb__iterative_scale_ends(const qb__iterative *it, size_t views, float *lines) {
    scaling s = {it, lines};
    if (views) qb__pool_for(it->projector->pool, views, scale_view, &s);
}
