/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "quickbeam/geometry.h"
#include "quickbeam/io.h"

/* Two panels side by side: from above (x to the right, y up) and from the side (y to the right, z
 * up). Paths light, the first view and the volume dark, what lies outside the volume's field paler.
 */

enum { PANEL = 640, MARGIN = 24, WIDTH = 2 * PANEL, MOST_DRAWN = 720 };

static const float paper = 1.0f, faint = 0.82f, middle = 0.55f, ink = 0.0f;

typedef struct canvas {
    float *pixel;        /* [PANEL][WIDTH] */
    double scale;        /* pixels a mm */
    double center[2][2]; /* mm in the middle of each panel */
} canvas;

/* What the panels show of a point. */
static void seen(int panel, const double p[3], double out[2]) {
    out[0] = panel == 0 ? p[0] : p[1];
    out[1] = panel == 0 ? p[1] : p[2];
}

static void dot(canvas *c, int panel, double x, double y, float shade) {
    long column = lround(x), row = lround(y);
    if (column < 0 || column >= PANEL || row < 0 || row >= PANEL) return;
    float *at = &c->pixel[(size_t)row * WIDTH + (size_t)(panel * PANEL + column)];
    *at = fminf(*at, shade);
}

static void to_panel(const canvas *c, int panel, const double p[3], double out[2]) {
    double at[2];
    seen(panel, p, at);
    out[0] = 0.5 * PANEL + (at[0] - c->center[panel][0]) * c->scale;
    out[1] = 0.5 * PANEL - (at[1] - c->center[panel][1]) * c->scale;
}

static void line(canvas *c, int panel, const double from[3], const double to[3], float shade) {
    double a[2], b[2];
    to_panel(c, panel, from, a);
    to_panel(c, panel, to, b);
    double length = fmax(fabs(b[0] - a[0]), fabs(b[1] - a[1]));
    long steps = length < 4 * WIDTH ? lround(length) + 1 : 4 * WIDTH;
    for (long i = 0; i <= steps; i++) {
        double t = (double)i / (double)steps;
        dot(c, panel, a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1]), shade);
    }
}

/* Corners of the detector: 0..3 around it. */
static void detector_corner(const qb_geometry *g, const qb_view *view, int corner, double out[3]) {
    double h = corner == 1 || corner == 2 ? (double)g->columns - 0.5 : -0.5;
    double k = corner >= 2 ? (double)g->rows - 0.5 : -0.5;
    for (int j = 0; j < 3; j++) out[j] = view->detector[j] + h * view->u[j] + k * view->v[j];
}

/* Parallel rays get a source where they are easy to see: as far before the origin as the detector
 * is wide. */
static void source_of(const qb_geometry *g, const qb_view *view, double out[3]) {
    double width = (double)g->columns * hypot(view->u[0], view->u[1]);
    for (int j = 0; j < 3; j++)
        out[j] = g->beam == QB_BEAM_CONE ? view->source[j] : -width * view->source[j];
}

/* The bounds of all sources, detectors and of the volume, in both panels. */
static void fit(canvas *c, const qb_geometry *g, const qb_grid *grid) {
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (size_t i = 0; i < g->views; i++) {
        for (int corner = -1; corner < 4; corner++) {
            double p[3];
            if (corner < 0)
                source_of(g, &g->view[i], p);
            else
                detector_corner(g, &g->view[i], corner, p);
            for (int j = 0; j < 3; j++) low[j] = fmin(low[j], p[j]), high[j] = fmax(high[j], p[j]);
        }
    }
    double most = 0;
    for (int j = 0; j < 3; j++) {
        double half = 0.5 * (double)grid->n[j] * grid->voxel[j];
        low[j] = fmin(low[j], grid->offset[j] - half);
        high[j] = fmax(high[j], grid->offset[j] + half);
        most = fmax(most, high[j] - low[j]);
    }
    c->scale = (PANEL - 2 * MARGIN) / most;
    double at[3];
    for (int j = 0; j < 3; j++) at[j] = 0.5 * (low[j] + high[j]);
    for (int panel = 0; panel < 2; panel++) seen(panel, at, c->center[panel]);
}

static void draw_axes(canvas *c) {
    const double far = 1e6;
    for (int panel = 0; panel < 2; panel++) {
        for (int j = 0; j < 3; j++) {
            double a[3] = {0}, b[3] = {0};
            a[j] = -far, b[j] = far;
            double p[2], q[2];
            to_panel(c, panel, a, p);
            to_panel(c, panel, b, q);
            for (long i = 0; i < PANEL; i += 6) {
                if (fabs(q[0] - p[0]) > 1) dot(c, panel, (double)i, p[1], faint);
                if (fabs(q[1] - p[1]) > 1) dot(c, panel, p[0], (double)i, faint);
            }
        }
    }
}

static void draw_box(canvas *c, const qb_grid *grid) {
    for (int edge = 0; edge < 12; edge++) {
        double a[3], b[3];
        int along = edge / 4, bits = edge % 4;
        for (int j = 0; j < 3; j++) {
            double half = 0.5 * (double)grid->n[j] * grid->voxel[j];
            int bit = j == along ? 0 : bits >> (j == (along + 1) % 3) & 1;
            a[j] = b[j] = grid->offset[j] + (bit ? half : -half);
            if (j == along) b[j] = grid->offset[j] + half;
        }
        for (int panel = 0; panel < 2; panel++) line(c, panel, a, b, ink);
    }
}

static void draw_field(canvas *c, const qb_geometry_info *info) {
    double before[3] = {info->field_radius, 0, 0};
    for (int i = 1; i <= 360; i++) {
        double t = i * (3.14159265358979323846 / 180);
        double p[3] = {info->field_radius * cos(t), info->field_radius * sin(t), 0};
        if (i % 2) line(c, 0, before, p, middle);
        memcpy(before, p, sizeof p);
    }
    double r = info->field_radius, h = 0.5 * info->field_height_rim;
    for (int side = -1; side <= 1; side += 2) {
        line(c, 1, (double[3]){0, side * r, -h}, (double[3]){0, side * r, h}, middle);
        line(c, 1, (double[3]){0, -r, side * h}, (double[3]){0, r, side * h}, middle);
    }
}

static void draw_detector(canvas *c, const qb_geometry *g, const qb_view *view, float shade) {
    for (int corner = 0; corner < 4; corner++) {
        double a[3], b[3];
        detector_corner(g, view, corner, a);
        detector_corner(g, view, (corner + 1) % 4, b);
        for (int panel = 0; panel < 2; panel++) line(c, panel, a, b, shade);
    }
}

static void draw_source(canvas *c, const double source[3], int radius, float shade) {
    for (int panel = 0; panel < 2; panel++) {
        double at[2];
        to_panel(c, panel, source, at);
        for (int i = -radius; i <= radius; i++)
            for (int j = -radius; j <= radius; j++)
                if (i * i + j * j <= radius * radius) dot(c, panel, at[0] + i, at[1] + j, shade);
    }
}

static void draw_first_view(canvas *c, const qb_geometry *g) {
    double source[3];
    source_of(g, g->view, source);
    draw_detector(c, g, g->view, ink);
    draw_source(c, source, 5, ink);
    for (int corner = 0; corner < 4 && g->beam == QB_BEAM_CONE; corner++) {
        double p[3];
        detector_corner(g, g->view, corner, p);
        for (int panel = 0; panel < 2; panel++) line(c, panel, source, p, middle);
    }
}

static void draw_paths(canvas *c, const qb_geometry *g) {
    size_t step = (g->views + MOST_DRAWN - 1) / MOST_DRAWN;
    for (size_t i = 0; i < g->views; i += step) {
        double source[3];
        source_of(g, &g->view[i], source);
        draw_source(c, source, 1, middle);
        if (i % (g->views / 24 + 1) < step) draw_detector(c, g, &g->view[i], faint);
    }
}

qb_status qb_geometry_picture(const char *path, const qb_geometry *geometry, const qb_grid *grid) {
    qb_geometry_info info;
    qb_grid usual;
    qb_status status = qb_geometry_describe(geometry, &info);
    if (status != QB_OK) return status;
    if (!grid) qb_grid_default(geometry, &usual);
    canvas c = {0};
    status = qb__alloc((size_t)PANEL * WIDTH, sizeof *c.pixel, &c.pixel);
    if (status != QB_OK) return status;
    for (size_t i = 0; i < (size_t)PANEL * WIDTH; i++) c.pixel[i] = paper;
    for (size_t i = 0; i < PANEL; i++) c.pixel[i * WIDTH + PANEL] = middle;
    fit(&c, geometry, grid ? grid : &usual);
    draw_axes(&c);
    draw_paths(&c, geometry);
    draw_field(&c, &info);
    draw_box(&c, grid ? grid : &usual);
    draw_first_view(&c, geometry);
    status = qb_preview_write(path, c.pixel, WIDTH, PANEL, 0, 1);
    qb__free(c.pixel);
    return status;
}
