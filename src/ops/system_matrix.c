/* SPDX-License-Identifier: MIT */
#include "ops/system_matrix.h"

#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "geometry/curve.h"
#include "geometry/matrix.h"
#include "geometry/parallel.h"
#include "geometry/vector.h"

enum { SHAPES = 4, PADDING = 16 };

/* ---- footprints ---- */

/* Views that pad their number have no footprint: rise and bend are zero. */
static void shape(qb__system_matrix *m) {
    const size_t stride = m->footprints.stride;
    float *half = m->shapes, *flat = half + stride, *rise = flat + stride, *curvature = rise + stride;
    double widest = 0;
    for (size_t v = 0; v < stride; v++) {
        const double a = fabs(m->rays[v]), b = fabs(m->rays[stride + v]);
        const double longer = fmax(a, b), shorter = fmin(a, b);
        half[v] = (float)((a + b) / 2);
        flat[v] = (float)((longer - shorter) / 2);
        rise[v] = v < m->footprints.views ? (float)(1 / longer) : 0;
        /* The footprint of a pixel seen along an axis has vertical ends: bend is zero. */
        curvature[v] = v < m->footprints.views && shorter > 1e-6 * longer ? (float)(1 / (2 * a * b)) : 0;
        widest = fmax(widest, a + b);
    }
    m->footprints.half = half;
    m->footprints.flat = flat;
    m->footprints.rise = rise;
    m->footprints.curvature = curvature;
    m->footprints.taps = (size_t)ceil(widest + 1 - 1e-9);
}

/* ---- fan ---- */

enum { ROUND = 64, AROUND = QB__ICD_SIDE };

size_t qb__system_matrix_rays(const qb__system_matrix *m) { return m->footprints.c0 ? 7 : m->footprints.wx ? 6 : 3; }

/* For a curved detector: tangents from column c0, where it touches the plane, instead of columns of the plane. */
static void curve_view(const qb_geometry *geometry, size_t v, qb__system_matrix *m) {
    const size_t stride = m->footprints.stride;
    const qb__curve curvature = qb__curve_of_view(geometry, v);
    double *h = m->rays + v, *w = h + 3 * stride;
    for (size_t j = 0; j < 3; j++) {
        h[j * stride] -= curvature.touch * w[j * stride];
        w[j * stride] *= m->footprints.per_radian;
    }
    m->rays[6 * stride + v] = curvature.touch;
}

/* Padding views see everything at column 0, with footprints of no width and area. */
static qb_status place_fan(const qb_geometry *geometry, const qb_grid *grid, qb__system_matrix *m) {
    const size_t stride = m->footprints.stride;
    const qb_grid slice = {.n = {grid->n[0], grid->n[1], 1},
                           .voxel = {grid->voxel[0], grid->voxel[1], grid->voxel[2]},
                           .offset = {grid->offset[0], grid->offset[1], 0}};
    m->footprints.wx = m->rays + 3 * stride;
    m->footprints.wy = m->rays + 4 * stride;
    m->footprints.w0 = m->rays + 5 * stride;
    if (geometry->radius > 0) {
        m->footprints.per_radian = geometry->radius / qb__norm(geometry->view[0].u);
        m->footprints.c0 = m->rays + 6 * stride;
    }
    for (size_t v = 0; v < stride; v++) {
        qb__matrix world, on_grid = {{{0}, {0}, {0, 0, 0, 1}}};
        if (v < geometry->views) {
            qb_status status = qb__matrix_of_view(geometry->beam, &geometry->view[v], &world);
            if (status != QB_OK) return qb__fail_in(status, "view %zu", v);
            qb__matrix_on_grid(&world, &slice, &on_grid);
        }
        for (size_t row = 0; row < 2; row++) {
            double *to = m->rays + 3 * row * stride + v;
            const double *from = on_grid.m[2 * row];
            to[0] = from[0];
            to[stride] = from[1];
            to[2 * stride] = from[3];
        }
        if (m->footprints.c0 && v < geometry->views) curve_view(geometry, v, m);
    }
    m->footprints.area = (float)grid->voxel[0];
    return QB_OK;
}

/* |dh/dx| + |dh/dy| increases towards the source, so its maximum is at the edge of the circle; a small margin covers
 * positions between the sampled ones. Infinite if the edge reaches the source. */
static double steepest_of(const qb__system_matrix *m, size_t v, double radius) {
    const qb__footprints *s = &m->footprints;
    const double x = ((double)m->nx - 1) / 2, y = ((double)m->ny - 1) / 2;
    double most = 0;
    if (!(s->wx[v] * x + s->wy[v] * y + s->w0[v] > radius * hypot(s->wx[v], s->wy[v]))) return INFINITY;
    for (int i = 0; i < ROUND; i++) {
        const double ix = x + radius * cos(2 * M_PI * i / ROUND), iy = y + radius * sin(2 * M_PI * i / ROUND);
        const double w = s->wx[v] * ix + s->wy[v] * iy + s->w0[v], h = (s->ax[v] * ix + s->ay[v] * iy + s->h0[v]) / w;
        const double steep = s->per_radian > 0 ? s->per_radian / (1 + h * h) : 1;
        most = fmax(most, steep * (fabs(s->ax[v] - h * s->wx[v]) + fabs(s->ay[v] - h * s->wy[v])) / w);
    }
    return 1.01 * most;
}

/* SuperVoxels and their centres reach a little beyond the voxels that may change. */
static qb_status shape_fan(const qb_geometry *geometry, const qb_grid *grid, double radius, qb__system_matrix *m) {
    double widest = 0;
    radius = fmin(radius, hypot((double)grid->n[0], (double)grid->n[1]) / 2);
    QB__OR_RETURN(place_fan(geometry, grid, m));
    for (size_t v = 0; v < geometry->views; v++) {
        const double steepest = steepest_of(m, v, radius + AROUND);
        if (!isfinite(steepest))
            return qb__fail(QB_BAD_INPUT,
                            "view %zu: voxels up to %.4g mm from the middle come to within %d of the source: give a "
                            "smaller --roi or --size",
                            v, radius * grid->voxel[0], AROUND);
        m->footprints.steepest = fmax(m->footprints.steepest, steepest);
        widest = fmax(widest, steepest_of(m, v, radius));
    }
    m->footprints.taps = (size_t)ceil(widest + 1 - 1e-9);
    return QB_OK;
}

/* ---- create and destroy ---- */

qb_status qb__system_matrix_create(const qb_geometry *geometry, const qb_grid *grid, double radius,
                                   const qb__icd_variant *variant, qb__system_matrix *matrix) {
    const size_t stride = qb__round_up(geometry->views, PADDING);
    const bool fan = geometry->beam == QB_BEAM_CONE;
    *matrix =
        (qb__system_matrix){.variant = variant,
                            .nx = grid->n[0],
                            .ny = grid->n[1],
                            .kind = QB_MATRIX_FLY,
                            .footprints = {.views = geometry->views, .stride = stride, .columns = geometry->columns}};
    if (fabs(grid->voxel[0] - grid->voxel[1]) > 1e-9 * grid->voxel[0])
        return qb__fail(QB_UNSUPPORTED, "voxels of %g x %g mm: the system matrix needs square ones", grid->voxel[0],
                        grid->voxel[1]);
    QB__OR_RETURN(qb__alloc((fan ? 7 : 3) * stride, sizeof(double), &matrix->rays));
    matrix->footprints.ax = matrix->rays;
    matrix->footprints.ay = matrix->rays + stride;
    matrix->footprints.h0 = matrix->rays + 2 * stride;
    if (fan) return shape_fan(geometry, grid, radius, matrix);
    QB__OR_RETURN(qb__alloc(SHAPES * stride, sizeof(float), &matrix->shapes));
    QB__OR_RETURN(qb__parallel_rows(geometry, grid, matrix->rays, matrix->rays + stride, matrix->rays + 2 * stride));
    /* From one pixel to the next, a voxel's centre moves by at most hypot(ax, ay) columns. */
    matrix->footprints.area = (float)(grid->voxel[0] * hypot(matrix->rays[0], matrix->rays[stride]));
    shape(matrix);
    return QB_OK;
}

/* ---- keeping ---- */

size_t qb__system_matrix_bytes(const qb__system_matrix *m, qb_mbir_matrix kind, size_t pixels) {
    const size_t entries = m->footprints.taps * m->footprints.stride;
    const size_t each = entries * (kind == QB_MATRIX_FLOATS ? sizeof(float) : 1) +
                        m->footprints.stride * sizeof(uint16_t) + sizeof(float);
    const size_t map = (m->nx + 2) * (m->ny + 2) * sizeof(uint32_t);
    return kind == QB_MATRIX_FLY ? 0 : pixels * each + map;
}

typedef struct keeping {
    qb__system_matrix *m;
    const uint32_t *pixels;
    size_t count;
    char **scratch; /* [thread] */
} keeping;

enum { RUN = 256 }; /* columns per task */

static void compute(const qb__system_matrix *m, uint32_t pixel, const qb__icd_column *column) {
    const size_t row = m->nx + 2;
    m->variant->footprint(&m->footprints, (double)(pixel % row) - 1, (double)(pixel / row) - 1, column);
}

/* Rounded to 255ths of the column's largest entry. */
static void pack(qb__system_matrix *m, size_t slot, const qb__icd_column *column) {
    const size_t entries = m->footprints.taps * m->footprints.stride;
    float largest = 0;
    for (size_t i = 0; i < entries; i++) largest = column->tap[i] > largest ? column->tap[i] : largest;
    const float per = largest > 0 ? 255 / largest : 0;
    uint8_t *bytes = m->bytes + slot * entries;
    for (size_t i = 0; i < entries; i++) {
        const float entry = column->tap[i] > 0 ? column->tap[i] : 0;
        bytes[i] = (uint8_t)(int)(entry * per + 0.5f);
    }
    m->scale[slot] = largest / 255;
}

static void keep_run(void *context, size_t task, int worker) {
    const keeping *k = context;
    qb__system_matrix *m = k->m;
    const size_t stride = m->footprints.stride, entries = m->footprints.taps * stride;
    qb__icd_column column = {.tap = (float *)(void *)k->scratch[worker]};
    column.first = (int32_t *)(void *)(column.tap + entries);
    if (qb__cancelled(m->env)) return;
    for (size_t slot = task * RUN; slot < qb__smaller((task + 1) * RUN, k->count); slot++) {
        compute(m, k->pixels[slot], &column);
        for (size_t v = 0; v < stride; v++) m->first[slot * stride + v] = (uint16_t)column.first[v];
        if (m->kind == QB_MATRIX_BYTES)
            pack(m, slot, &column);
        else
            memcpy(m->floats + slot * entries, column.tap, entries * sizeof(float));
    }
}

qb_status qb__system_matrix_room(qb__system_matrix *m, qb_mbir_matrix kind, const uint32_t *pixels, size_t count) {
    const size_t entries = m->footprints.taps * m->footprints.stride;
    qb_status status;
    if (m->footprints.columns + 2 * m->footprints.taps > UINT16_MAX)
        return qb__fail(QB_UNSUPPORTED,
                        "a detector of %zu columns is too wide for a matrix that is kept: give --matrix fly",
                        m->footprints.columns);
    QB__TRY(qb__alloc((m->nx + 2) * (m->ny + 2), sizeof *m->slot, &m->slot));
    QB__TRY(qb__alloc(count * m->footprints.stride, sizeof *m->first, &m->first));
    QB__TRY(qb__alloc(count, sizeof *m->scale, &m->scale));
    if (kind == QB_MATRIX_BYTES)
        QB__TRY(qb__alloc(count, entries, &m->bytes));
    else
        QB__TRY(qb__alloc(count * entries, sizeof(float), &m->floats));
    for (size_t slot = 0; slot < count; slot++) m->slot[pixels[slot]] = (uint32_t)slot;
    m->kind = kind;
out:
    if (status == QB_NO_MEMORY)
        return qb__fail(QB_NO_MEMORY,
                        "the system matrix of %zu voxels takes %.1f MiB in %s: --matrix fly computes it as "
                        "it goes, and keeps nothing",
                        count, (double)qb__system_matrix_bytes(m, kind, count) / 1048576.0,
                        kind == QB_MATRIX_BYTES ? "bytes" : "floats");
    return status;
}

qb_status qb__system_matrix_fill(qb__system_matrix *m, const uint32_t *pixels, size_t count, qb__pool *pool) {
    const int threads = qb__pool_threads(pool);
    keeping k = {m, pixels, count, NULL};
    qb_status status;
    QB__TRY(qb__alloc((size_t)threads, sizeof *k.scratch, &k.scratch));
    for (int i = 0; i < threads; i++) QB__TRY(qb__alloc(qb__icd_scratch_bytes(&m->footprints), 1, &k.scratch[i]));
    qb__pool_for(pool, qb__ceil_div(count, RUN), keep_run, &k);
    status = qb__check_cancel(m->env);
out:
    for (int i = 0; k.scratch && i < threads; i++) qb__free(k.scratch[i]);
    qb__free(k.scratch);
    return status;
}

void qb__system_matrix_fetch(const qb__icd_problem *problem, uint32_t pixel, const qb__icd_column *column) {
    const qb__system_matrix *m = problem->store;
    if (m->kind == QB_MATRIX_FLY) {
        compute(m, pixel, column);
        return;
    }
    const size_t stride = m->footprints.stride, entries = m->footprints.taps * stride, slot = m->slot[pixel];
    const uint16_t *first = m->first + slot * stride;
    for (size_t v = 0; v < stride; v++) column->first[v] = first[v];
    if (m->kind == QB_MATRIX_BYTES)
        m->variant->unpack(m->bytes + slot * entries, m->scale[slot], entries, column->tap);
    else
        memcpy(column->tap, m->floats + slot * entries, entries * sizeof(float));
}

void qb__system_matrix_destroy(qb__system_matrix *m) {
    QB__FREE(m->rays, m->shapes, m->slot, m->first, m->scale, m->bytes, m->floats);
    memset(m, 0, sizeof *m);
}
