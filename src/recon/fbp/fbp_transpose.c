/* SPDX-License-Identifier: MIT */
/* The transpose of a filtered back-projection: each slice is spread over its rows with the weights of the linear
 * back-projection, then filtered by the transpose of the filter. */
#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "recon/fbp/fbp.h"

enum { LANES = 8, VIEWS = 16 }; /* slices at a time; views between two checks for cancelling */

typedef struct transpose {
    const qb__fbp *fbp;
    const qb__transposing *t;
} transpose;

/* Scratch of a thread: sums of a row for each lane, with one column more on both sides; a line of voxels; a row;
 * scratch of the filter. */
typedef struct parts {
    double *sums; /* [width + 2][lanes] */
    float *line;  /* [nx][lanes] */
    float *row;   /* [width] */
    void *filter;
    size_t bytes;
} parts;

static parts lay_out(const qb__fbp *fbp, char *scratch) {
    parts p = {.sums = (double *)scratch};
    size_t at = qb__round_up((fbp->width + 2) * LANES * sizeof(double), 64);
    p.line = (float *)(scratch + at);
    at += qb__round_up(fbp->grid.n[0] * LANES * sizeof(float), 64);
    p.row = (float *)(scratch + at);
    at += qb__round_up(fbp->width * sizeof(float), 64);
    p.filter = scratch + at;
    p.bytes = at + qb__filter_scratch(fbp->filter);
    return p;
}

/* Gather one line of voxels of the slices, interleaved by lanes. */
static void gather_line(const float *from, size_t apart, size_t nx, size_t lanes, float *line) {
    for (size_t s = 0; s < lanes; s++)
        for (size_t x = 0; x < nx; x++) line[x * lanes + s] = from[s * apart + x];
}

/* Add a line of voxels to the sums; sums[k + 1] is column k. The number of lanes is constant, so that the compiler
 * makes a separate loop for each number. */
static inline void spread_line(const qb__bp_parallel_problem *p, size_t view, size_t y, const float *line, size_t lanes,
                               double *sums) {
    const double start = p->ay[view] * (double)y + p->h0[view], step = p->ax[view], end = (double)p->columns;
    for (size_t x = 0; x < p->nx; x++) {
        const double h = start + step * (double)x;
        if (!(h > -1 && h < end)) continue;
        const double below = floor(h), high = h - below, low = 1 - high;
        double *at = sums + (size_t)(below + 1) * lanes;
        for (size_t s = 0; s < lanes; s++) {
            at[s] += low * (double)line[x * lanes + s];
            at[lanes + s] += high * (double)line[x * lanes + s];
        }
    }
}

static void spread(const transpose *c, size_t view, size_t slice, size_t lanes, const parts *p) {
    const qb__bp_parallel_problem *problem = &c->fbp->problem;
    const size_t nx = problem->nx, ny = problem->ny;
    memset(p->sums, 0, (problem->columns + 2) * lanes * sizeof *p->sums);
    for (size_t y = 0; y < ny; y++) {
        gather_line(c->t->volume + (slice * ny + y) * nx, ny * nx, nx, lanes, p->line);
        if (lanes == LANES)
            spread_line(problem, view, y, p->line, LANES, p->sums);
        else
            spread_line(problem, view, y, p->line, 1, p->sums);
    }
}

/* Filter and weight the row whose sums are in p->row, and write it to the result. */
static void finish_row(const transpose *c, size_t view, size_t slice, const parts *p) {
    const qb__fbp *fbp = c->fbp;
    const size_t columns = fbp->info->columns, row = fbp->first_row + slice * fbp->step;
    const float *share = qb__fbp_share_of(fbp, view), *from = p->row + fbp->fan.before;
    float *line = c->t->lines + (view * fbp->info->rows + row) * columns;
    qb__filter_row_transposed(fbp->filter, p->row, fbp->weights[view], p->filter);
    for (size_t k = 0; k < columns; k++) line[k] = share ? from[k] * share[k] : from[k];
}

static void transpose_view(void *context, size_t view, char *scratch) {
    const transpose *c = context;
    const parts p = lay_out(c->fbp, scratch);
    const size_t slices = c->fbp->grid.n[2];
    for (size_t slice = 0, lanes; slice < slices; slice += lanes) {
        lanes = slices - slice >= LANES ? LANES : 1;
        spread(c, view, slice, lanes, &p);
        for (size_t lane = 0; lane < lanes; lane++) {
            for (size_t k = 0; k < c->fbp->width; k++) p.row[k] = (float)p.sums[(k + 1) * lanes + lane];
            finish_row(c, view, slice + lane, &p);
        }
    }
}

static void finish_view(void *context, size_t view, const float *lines, char *scratch) {
    const transpose *c = context;
    const parts p = lay_out(c->fbp, scratch);
    for (size_t slice = 0; slice < c->fbp->grid.n[2]; slice++) {
        memcpy(p.row, lines + slice * c->fbp->width, c->fbp->width * sizeof *p.row);
        finish_row(c, view, slice, &p);
    }
}

static qb_status check(const qb__fbp *fbp) {
    if (fbp->roll.maps)
        return qb__fail(QB_UNSUPPORTED, "rows that are resampled have no transpose: give a level detector");
    if (fbp->options->interp > QB_INTERP_LINEAR)
        return qb__fail(QB_UNSUPPORTED, "--interp %s has no transpose: linear has",
                        qb_interp_name(fbp->options->interp));
    if (isnan(fbp->center) && !fbp->axis)
        return qb__fail(QB_BAD_ARGUMENT,
                        "the axis is not known before the job has run: run it first, or give its column");
    return qb__filter_check_transpose(fbp->options->pad);
}

/* On a device each slice is a row at the same height. */
static void place_view(const qb__bp_parallel_problem *p, size_t view, double matrix[12]) {
    const double m[12] = {p->ax[view], p->ay[view], 0, p->h0[view], 0, 0, 1, 0, 0, 0, 0, 1};
    memcpy(matrix, m, sizeof m);
}

qb_status qb__fbp_transpose(void *plan, const qb__transposing *t) {
    const qb__fbp *fbp = plan;
    const size_t views = fbp->info->views, slices = fbp->grid.n[2];
    const qb__bp_parallel_problem *p = &fbp->problem;
    static char none[1];
    double(*matrix)[12] = NULL;
    if (fbp->region.asked) return qb__fail(QB_UNSUPPORTED, "a job of a --region has no transpose: leave it out");
    QB__OR_RETURN(check(fbp));
    if (t->device) QB__OR_RETURN(qb__alloc(views, sizeof *matrix, &matrix));
    for (size_t i = 0; matrix && i < views; i++) place_view(p, i, matrix[i]);
    const qb__spread_problem problem = {.views = views,
                                        .rows = slices,
                                        .columns = fbp->width,
                                        .n = {p->nx, p->ny, slices},
                                        .matrix = (const double(*)[12])matrix};
    const qb__transpose_work work = {.context = &(transpose){fbp, t},
                                     .views = views,
                                     .bytes = qb__round_up(lay_out(fbp, none).bytes, 64),
                                     .block = VIEWS,
                                     .spread = transpose_view,
                                     .finish = finish_view,
                                     .problem = &problem};
    const qb_status status = qb__transpose_views(t, &work);
    qb__free(matrix);
    return status;
}
