/* SPDX-License-Identifier: MIT */
/* The geometry of a fan beam, and the start image of its descent. */

#include <math.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "cpu/bp_cone/bp_cone.h"
#include "geometry/curve.h"
#include "geometry/check.h"
#include "geometry/fan.h"
#include "geometry/grid.h"
#include "geometry/vector.h"
#include "planner/choose.h"
#include "recon/mbir/mbir_coarse.h"

enum { LINE = 16, BRICK = 16 }; /* floats of a cache line; voxel rows of a task */
static const double degrees = 57.29577951308232;

/* ---- geometry ---- */

/* For a stack of fans, the fan in the plane of the source; all others are like it. */
static qb_geometry in_a_plane(const qb__mbir *m) {
    qb_geometry g = *m->rays;
    g.apart = false;
    return g;
}

qb_status qb__mbir_fan_grid(qb__mbir *m, const qb_env *env) {
    const qb_geometry seen = in_a_plane(m), *g = &seen;
    const qb_scan_info *info = m->info;
    qb_geometry_info about = {.struct_size = sizeof about};
    char text[256];
    QB__OR_RETURN(qb__geometry_check(g));
    if (g->beam != QB_BEAM_CONE)
        return qb__fail(QB_BAD_ARGUMENT,
                        "the geometry is a parallel beam's: leave it out, the scan's angles and --center say it all");
    if (info->beam == QB_BEAM_PARALLEL)
        return qb__fail(QB_BAD_INPUT, "%s states that its beam is parallel: leave the geometry of a cone out",
                        info->path);
    if (g->views != info->views || g->rows != info->rows || g->columns != info->columns)
        return qb__fail(QB_BAD_INPUT, "the geometry has %zu views of %zu x %zu pixels, %s has %zu of %zu x %zu",
                        g->views, g->rows, g->columns, info->path, info->views, info->rows, info->columns);
    const char *center = m->options->center;
    if (center && strcmp(center, "auto") != 0 && !(strcmp(center, "stated") == 0 && info->geometry_from))
        return qb__fail(QB_BAD_ARGUMENT,
                        "--center %s: of a fan beam the geometry says where the axis is; move it by --detector-offset",
                        center);
    qb_grid_default(g, &m->grid);
    const bool chosen = m->options->size.count || m->options->voxel > 0;
    if (!chosen && qb_geometry_describe(g, &about) == QB_OK && qb__grid_narrow(&about, &m->grid, text, sizeof text))
        qb__warn(env, "%s", text);
    return QB_OK;
}

/* Distance in mm from the axis of the voxels that may change. */
static double reach_of(const qb__mbir *m) {
    return m->grid.voxel[0] * fmin(m->settings.radius, hypot((double)m->grid.n[0], (double)m->grid.n[1]) / 2);
}

/* Write the geometry's numbers into the provenance; none if the detector does not see the axis. */
static qb_status note_geometry(const qb__mbir *m, cJSON *json) {
    const qb_geometry seen = in_a_plane(m);
    char *text;
    const qb_status status = qb_geometry_report(&seen, &m->grid, &text);
    if (status != QB_OK) return status == QB_BAD_INPUT ? QB_OK : status;
    cJSON *report = qb__json_kept(cJSON_Parse(text));
    cJSON_free(text);
    cJSON_DeleteItemFromObject(report, "volume");
    cJSON_AddItemToObject(json, "geometry", report);
    return QB_OK;
}

qb_status qb__mbir_fan_rows(qb__mbir *m, const qb_env *env, cJSON *json, qb_geometry *flat) {
    qb_grid *grid = &m->grid;
    const size_t row1 = m->first_row + grid->n[2];
    qb__fan_plane plane;
    qb_status status = qb__fan_plane_create(m->rays, m->first_row, row1, reach_of(m), &plane);
    if (status != QB_OK) goto out;
    *flat = plane.flat;
    plane.flat = (qb_geometry){0};
    grid->voxel[2] = plane.step;
    grid->offset[2] = plane.z + ((double)grid->n[2] - 1) / 2 * plane.step;
    const qb_grid slice = {.n = {grid->n[0], grid->n[1], 1}, .voxel = {grid->voxel[0], grid->voxel[1], grid->voxel[2]}};
    QB__TRY(qb_geometry_check_grid(flat, &slice));
    QB__TRY(note_geometry(m, json));
    qb__info(env, "fan beam: %s, rows %zu to %zu, a slice each", m->info->path, m->first_row, row1 - 1);
out:
    qb__fan_plane_destroy(&plane);
    return status;
}

/* Replace a curved detector by a flat one, as wide as the part that the curved one sees. */
static qb_status unbend(qb__mbir *m) {
    const qb_geometry *g = &m->geometry;
    /* largest angle in radians from the middle; there the columns of the plane are fourteen times as far apart */
    const double steepest = 1.3;
    double low = 0, high = 0;
    for (size_t v = 0; v < g->views; v++) {
        const qb__curve curve = qb__curve_of_view(g, v);
        low = fmax(low, curve.touch * curve.pitch / curve.radius);
        high = fmax(high, ((double)g->columns - 1 - curve.touch) * curve.pitch / curve.radius);
    }
    if (fmax(low, high) > steepest)
        return qb__fail(QB_UNSUPPORTED,
                        "the fan opens by %.4g degrees to a side, too far for filtered back-projection: give --start 0",
                        fmax(low, high) * degrees);
    const double per_radian = g->radius / qb__norm(g->view[0].u);
    m->flat.left = (size_t)ceil(per_radian * tan(low));
    qb_status status = qb__geometry_create(QB_BEAM_CONE, g->views, 1,
                                           m->flat.left + (size_t)ceil(per_radian * tan(high)) + 1, &m->flat.screen);
    for (size_t v = 0; status == QB_OK && v < g->views; v++) {
        const double touch = qb__curve_of_view(g, v).touch;
        m->flat.screen.view[v] = g->view[v];
        for (int j = 0; j < 3; j++)
            m->flat.screen.view[v].detector[j] += (touch - (double)m->flat.left) * g->view[v].u[j];
    }
    return status;
}

/* Prepare weights and filter. Missing parts of the turn are no error, because they only make the start worse. */
qb_status qb__mbir_fan_filter(qb__mbir *m, const qb_env *env) {
    QB__OR_RETURN(m->geometry.radius > 0 ? unbend(m) : qb__geometry_copy(&m->geometry, &m->flat.screen));
    qb_status status = qb__cone_weights_create(&m->flat.screen, reach_of(m), &m->flat.weights);
    if (status != QB_OK) return qb__fail_in(status, "--start fbp (--start 0 does without)");
    if (m->flat.weights.missing > 1e-6)
        qb__info(env, "views cover %.4g degrees, %.4g fewer than all directions take", m->flat.weights.span * degrees,
                 m->flat.weights.missing * degrees);
    return qb__filter_create("hann", QB_PAD_EDGE,
                             m->flat.weights.before + m->flat.screen.columns + m->flat.weights.after,
                             m->flat.weights.pitch, &m->filter);
}

void qb__mbir_fan_release(qb__mbir *m) {
    qb__cone_weights_destroy(&m->flat.weights);
    qb_geometry_destroy(&m->flat.screen);
}

/* ---- filtered back-projection ---- */

typedef struct projecting {
    const qb__mbir *m;
    const qb__icd_given *given;
    const qb_env *env;
    size_t slice, slices;
    qb__bp_cone_problem problem;
    const qb__bp_cone_variant *variant;
    size_t view_bytes;
    char *packed;
    char **scratch; /* [thread] */
    float *image;   /* image of the slice */
} projecting;

static const qb__bp_cone_window only_row = {0, 1};

static size_t row_floats(size_t columns) { return qb__round_up(columns, LINE); }

/* A view's row on the plane: interpolated between columns of a curved detector, zero outside. */
static void screen_line(const qb__mbir *m, size_t view, const float *line, float *to) {
    if (!(m->geometry.radius > 0)) {
        memcpy(to, line, m->flat.screen.columns * sizeof *to);
        return;
    }
    const qb__curve curve = qb__curve_of_view(&m->geometry, view);
    const double per_radian = curve.radius / curve.pitch, last = (double)m->geometry.columns - 1;
    for (size_t c = 0; c < m->flat.screen.columns; c++) {
        const double at = curve.touch + per_radian * atan(((double)c - (double)m->flat.left) / per_radian);
        const size_t before = (size_t)fmin(fmax(at, 0), fmax(last - 1, 0)),
                     after = qb__smaller(before + 1, m->geometry.columns - 1);
        const float share = (float)(at - (double)before);
        to[c] = at >= 0 && at <= last ? line[before] + share * (line[after] - line[before]) : 0;
    }
}

static void filter_view(void *context, size_t view, int worker) {
    const projecting *p = context;
    const qb__mbir *m = p->m;
    const size_t width = p->problem.columns, columns = m->flat.screen.columns;
    if (qb__cancelled(p->env)) return;
    float *row = (float *)(void *)p->scratch[worker], *weight = row + row_floats(width),
          *middle = row + m->flat.weights.before;
    float *line = weight + row_floats(columns), *rest = line + row_floats(m->geometry.columns);
    const float more = qb__icd_start_row(p->given, view * p->slices + p->slice, p->slice, m->geometry.columns, line);
    memset(row, 0, width * sizeof *row);
    screen_line(m, view, line, middle);
    qb__cone_pixel_weights(&m->flat.screen, &m->flat.weights, view, 0, 1, weight);
    for (size_t c = 0; c < columns; c++) middle[c] *= weight[c];
    qb__filter_rows(m->filter, row, 1, width, more * (float)m->flat.weights.view[view], rest);
    p->variant->pack(&p->problem, view, only_row, row, width, p->packed + view * p->view_bytes);
}

static void back_project(void *context, size_t task, int worker) {
    const projecting *p = context;
    const size_t nx = p->problem.nx, y0 = task * BRICK;
    if (qb__cancelled(p->env)) return;
    const qb__bp_cone_brick brick = {0, nx, y0, qb__smaller(y0 + BRICK, p->problem.ny), 0, 1};
    p->variant->run(&p->problem, 0, p->problem.views, p->packed, only_row, brick, p->image, nx * p->problem.ny, nx,
                    false, p->scratch[worker]);
}

/* Projection matrices for filtered rows, which begin `before` columns to the left of the detector. */
static void place(const qb__mbir *m, const qb__matrix *from, double (*to)[12]) {
    for (size_t v = 0; v < m->geometry.views; v++)
        for (int j = 0; j < 4; j++) {
            to[v][j] = from[v].m[0][j] + (double)m->flat.weights.before * from[v].m[2][j];
            to[v][4 + j] = from[v].m[1][j];
            to[v][8 + j] = from[v].m[2][j];
        }
}

/* Choose the kernel for a single plane. Kernels for circles use vectors of slices and would be twenty times as slow. */
static qb_status choose(projecting *p) {
    const qb__question question = {.operation = QB__BP_CONE,
                                   .problem = &p->problem,
                                   .slices = 1,
                                   .accuracy = QB_ACCURACY_HIGH,
                                   .family = "bp_cone_matrix."};
    qb__choice choice;
    QB__OR_RETURN(qb__choose(&question, &choice));
    p->variant = (const qb__bp_cone_variant *)choice.variant;
    p->view_bytes = p->variant->view_bytes(&p->problem, only_row);
    return QB_OK;
}

static size_t scratch_bytes(const projecting *p) {
    const qb__mbir *m = p->m;
    const size_t rows =
        (row_floats(p->problem.columns) + row_floats(m->flat.screen.columns) + row_floats(m->geometry.columns)) *
        sizeof(float);
    return qb__larger(rows + qb__filter_scratch(m->filter), p->variant->scratch_bytes(&p->problem));
}

size_t qb__mbir_fan_bytes(const qb__mbir *m, size_t slices) {
    const qb_grid grid = qb__mbir_grid_of(m, m->coarse.levels);
    return m->rays && m->filter ? slices * grid.n[0] * grid.n[1] * sizeof(float) : 0;
}

qb_status qb__mbir_fan_start(const qb__mbir *m, size_t slices, const qb__icd_given *given, qb__pool *pool,
                             const qb_env *env, float **images) {
    const size_t views = m->geometry.views, threads = (size_t)qb__pool_threads(pool);
    qb_grid grid = qb__mbir_grid_of(m, m->coarse.levels);
    projecting p = {.m = m, .given = given, .env = env, .slices = slices};
    qb__matrix *matrices = NULL;
    double(*matrix)[12] = NULL;
    qb_status status;
    grid.n[2] = 1, grid.offset[2] = 0;
    *images = NULL;
    QB__TRY(qb__alloc(views, sizeof *matrices, &matrices));
    QB__TRY(qb__alloc(views, sizeof *matrix, &matrix));
    QB__TRY(qb__matrices_on_grid(&m->flat.screen, &grid, matrices));
    place(m, matrices, matrix);
    p.problem =
        (qb__bp_cone_problem){.views = views,
                              .columns = m->flat.weights.before + m->flat.screen.columns + m->flat.weights.after,
                              .rows = 1,
                              .nx = grid.n[0],
                              .ny = grid.n[1],
                              .nz = 1,
                              .matrix = (const double(*)[12])matrix};
    QB__TRY(choose(&p));
    QB__TRY(qb__alloc(views, p.view_bytes, &p.packed));
    QB__TRY(qb__alloc(threads, sizeof *p.scratch, &p.scratch));
    for (size_t i = 0; i < threads; i++) QB__TRY(qb__alloc(scratch_bytes(&p), 1, &p.scratch[i]));
    QB__TRY(qb__alloc(slices * grid.n[0] * grid.n[1], sizeof(float), images));
    for (size_t s = 0; s < slices; s++) {
        p.slice = s;
        p.image = *images + s * grid.n[0] * grid.n[1];
        qb__pool_for(pool, views, filter_view, &p);
        qb__pool_for(pool, qb__ceil_div(grid.n[1], BRICK), back_project, &p);
        QB__TRY(qb__check_cancel(env));
    }
out:
    for (size_t i = 0; p.scratch && i < threads; i++) qb__free(p.scratch[i]);
    QB__FREE(p.scratch, p.packed, matrix, matrices);
    return status;
}
