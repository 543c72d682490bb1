/* SPDX-License-Identifier: MIT */
/* The transpose of FDK: voxels are spread over the detector with the weights of the back-projection, then filtered by
 * the transpose of the filter and weighted. */
#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "recon/fdk/fdk.h"

enum { VIEWS = 4 }; /* views between two checks for cancelling, per thread */

typedef struct transpose {
    const qb__fdk *fdk;
    const qb__transposing *t;
} transpose;

/* Scratch of a thread: sums of an image with one pixel more on all sides; positions of a line of voxels; a row and its
 * weights; scratch of the filter. */
typedef struct parts {
    double *sums;             /* [rows + 2][width + 2] */
    double *column, *row, *w; /* [nx] */
    float *line, *weights;    /* [width] */
    void *filter;
    size_t bytes;
} parts;

static parts lay_out(const qb__fdk *fdk, char *scratch) {
    const size_t nx = qb__round_up(fdk->grid.n[0], 8), width = qb__round_up(fdk->width, 16);
    parts p = {.sums = (double *)scratch};
    size_t at = qb__round_up((fdk->problem.rows + 2) * (fdk->width + 2) * sizeof(double), 64);
    p.column = (double *)(scratch + at);
    p.row = p.column + nx;
    p.w = p.row + nx;
    at += 3 * nx * sizeof(double);
    p.line = (float *)(scratch + at);
    p.weights = p.line + width;
    at += 2 * width * sizeof(float);
    p.filter = scratch + at;
    p.bytes = at + qb__filter_scratch(fdk->filter);
    return p;
}

/* Positions of the voxels of a line, in pixels from the first pixel of the margin, and 1 / w. */
static void place_line(const double *m, size_t nx, size_t y, size_t z, const parts *p) {
    const double at[3] = {m[1] * (double)y + m[2] * (double)z + m[3], m[5] * (double)y + m[6] * (double)z + m[7],
                          m[9] * (double)y + m[10] * (double)z + m[11]};
    for (size_t x = 0; x < nx; x++) {
        const double inverse = 1 / (at[2] + m[8] * (double)x);
        p->column[x] = (at[0] + m[0] * (double)x) * inverse + 1;
        p->row[x] = (at[1] + m[4] * (double)x) * inverse + 1;
        p->w[x] = inverse;
    }
}

static void spread_line(const qb__bp_cone_problem *problem, const float *voxel, const parts *p) {
    const size_t pitch = problem->columns + 2;
    const double columns = (double)problem->columns + 1, rows = (double)problem->rows + 1;
    for (size_t x = 0; x < problem->nx; x++) {
        const double u = p->column[x], v = p->row[x];
        if (!(u > 0 && u < columns && v > 0 && v < rows)) continue;
        const double left = floor(u), top = floor(v), right = u - left, low = v - top;
        const double value = (double)voxel[x] * p->w[x] * p->w[x], under = low * value, above = value - under;
        double *at = p->sums + (size_t)top * pitch + (size_t)left;
        at[0] += (1 - right) * above;
        at[1] += right * above;
        at[pitch] += (1 - right) * under;
        at[pitch + 1] += right * under;
    }
}

/* Filter and weight the row whose sums are in p->line, and write it to the result. */
static void finish_row(const transpose *c, size_t view, size_t row, const parts *p) {
    const qb__fdk *fdk = c->fdk;
    const size_t columns = fdk->geometry->columns;
    const double hu = fdk->options->hu > 0 ? 1000.0 / fdk->options->hu : 1;
    const float *from = p->line + fdk->weights.before;
    float *out = c->t->lines + (view * fdk->geometry->rows + row) * columns;
    qb__filter_row_transposed(fdk->filter, p->line, (float)(fdk->weights.view[view] * hu), p->filter);
    qb__cone_pixel_weights(fdk->geometry, &fdk->weights, view, row, row + 1, p->weights);
    for (size_t k = 0; k < columns; k++) out[k] = from[k] * p->weights[k];
}

static void transpose_view(void *context, size_t view, char *scratch) {
    const transpose *c = context;
    const qb__bp_cone_problem *problem = &c->fdk->problem;
    const parts p = lay_out(c->fdk, scratch);
    const size_t nx = problem->nx, ny = problem->ny;
    memset(p.sums, 0, (problem->rows + 2) * (problem->columns + 2) * sizeof *p.sums);
    for (size_t z = 0; z < problem->nz; z++) {
        for (size_t y = 0; y < ny; y++) {
            place_line(problem->matrix[view], nx, y, z, &p);
            spread_line(problem, c->t->volume + (z * ny + y) * nx, &p);
        }
    }
    for (size_t row = 0; row < problem->rows; row++) {
        const double *sums = p.sums + (row + 1) * (problem->columns + 2) + 1;
        for (size_t k = 0; k < problem->columns; k++) p.line[k] = (float)sums[k];
        finish_row(c, view, row, &p);
    }
}

static void finish_view(void *context, size_t view, const float *lines, char *scratch) {
    const transpose *c = context;
    const size_t width = c->fdk->width;
    const parts p = lay_out(c->fdk, scratch);
    for (size_t row = 0; row < c->fdk->problem.rows; row++) {
        memcpy(p.line, lines + row * width, width * sizeof *p.line);
        finish_row(c, view, row, &p);
    }
}

qb_status qb__fdk_transpose(void *plan, const qb__transposing *t) {
    const qb__fdk *fdk = plan;
    const qb__bp_cone_problem *p = &fdk->problem;
    static char none[1];
    if (fdk->region.asked) return qb__fail(QB_UNSUPPORTED, "a job of a --region has no transpose: leave it out");
    if (fdk->resampled)
        return qb__fail(QB_UNSUPPORTED, "resampled views have no transpose: give a flat, upright detector");
    QB__OR_RETURN(qb__filter_check_transpose(fdk->options->pad));
    const qb__spread_problem problem = {
        .views = p->views, .rows = p->rows, .columns = p->columns, .n = {p->nx, p->ny, p->nz}, .matrix = p->matrix};
    const qb__transpose_work work = {.context = &(transpose){fdk, t},
                                     .views = fdk->info->views,
                                     .bytes = qb__round_up(lay_out(fdk, none).bytes, 64),
                                     .block = VIEWS * (size_t)qb__pool_threads(t->pool),
                                     .spread = transpose_view,
                                     .finish = finish_view,
                                     .problem = &problem};
    return qb__transpose_views(t, &work);
}
