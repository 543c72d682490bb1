/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "geometry/bend.h"
#include "io/canvas.h"
#include "quickbeam/geometry.h"

/* Two panels side by side, of the same scale: from above (x to the right, y up) and from the side
 * (y to the right, z up). What is drawn for the first view is black, for the others grey. */

enum { PANEL = 640, MARGIN = 48, MOST_DRAWN = 720, FINE = QB__CANVAS_FINE };

static const float shaded = 0.88f, faint = 0.78f, middle = 0.5f, ink = 0.0f;

typedef struct picture {
    qb__canvas canvas;
    double scale;        /* fine pixels a mm */
    double center[2][2]; /* mm in the middle of each panel */
} picture;

/* What the panels show of a point. */
static void seen(int panel, const double p[3], double out[2]) {
    out[0] = panel == 0 ? p[0] : p[1];
    out[1] = panel == 0 ? p[1] : p[2];
}

static void to_panel(const picture *c, int panel, const double p[3], double out[2]) {
    double at[2];
    seen(panel, p, at);
    out[0] = FINE * PANEL * (panel + 0.5) + (at[0] - c->center[panel][0]) * c->scale;
    out[1] = FINE * PANEL * 0.5 - (at[1] - c->center[panel][1]) * c->scale;
}

static void line(picture *c, int panel, const double from[3], const double to[3], int thick,
                 float shade) {
    double a[2], b[2];
    to_panel(c, panel, from, a);
    to_panel(c, panel, to, b);
    qb__canvas_line(&c->canvas, a, b, thick, 0, shade);
}

/* Beside a point; `left` puts the text's end there. */
static void label(picture *c, int panel, const double p[3], int left, int down, const char *text) {
    double at[2];
    to_panel(c, panel, p, at);
    double width = (double)strlen(text) * QB__GLYPH_WIDTH;
    double x = left ? at[0] - width - 12 * FINE : at[0] + 14 * FINE;
    double first = FINE * (PANEL * panel + 6), last = FINE * (PANEL * (panel + 1) - 6) - width;
    qb__canvas_text(&c->canvas, fmax(first, fmin(last, x)), at[1] + down * FINE, text, ink);
}

/* On the detector: the share of its columns and rows. */
static void detector_place(const qb_geometry *g, size_t view, double h, double k, double out[3]) {
    qb__pixel_place(g, view, h * (double)g->columns - 0.5, k * (double)g->rows - 0.5, out);
}

/* Its corners: 0..3 around it. */
static void detector_corner(const qb_geometry *g, size_t view, int corner, double out[3]) {
    detector_place(g, view, corner == 1 || corner == 2, corner >= 2, out);
}

/* Parallel rays get a source where they are easy to see: as far before the origin as the detector
 * is wide. */
static void source_of(const qb_geometry *g, const qb_view *view, double out[3]) {
    double width = (double)g->columns * hypot(view->u[0], view->u[1]);
    for (int j = 0; j < 3; j++)
        out[j] = g->beam == QB_BEAM_CONE ? view->source[j] : -width * view->source[j];
}

/* The bounds of all sources, detectors and of the volume, in both panels. */
static void fit(picture *c, const qb_geometry *g, const qb_grid *grid) {
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (size_t i = 0; i < g->views; i++) {
        for (int corner = -1; corner < 4; corner++) {
            double p[3];
            if (corner < 0)
                source_of(g, &g->view[i], p);
            else
                detector_corner(g, i, corner, p);
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
    c->scale = FINE * (PANEL - 2 * MARGIN) / most;
    double at[3];
    for (int j = 0; j < 3; j++) at[j] = 0.5 * (low[j] + high[j]);
    for (int panel = 0; panel < 2; panel++) seen(panel, at, c->center[panel]);
}

/* The frame of a panel: dashed axes through the origin, what they are, a title. */
static void draw_axes(picture *c) {
    static const char *const names[2][3] = {{"seen from above", "x", "y"},
                                            {"seen from the side", "y", "z"}};
    double size = FINE * PANEL, top = FINE * 20;
    for (int panel = 0; panel < 2; panel++) {
        double left = size * panel, at[2];
        to_panel(c, panel, (double[3]){0}, at);
        qb__canvas_line(&c->canvas, (double[2]){left, at[1]}, (double[2]){left + size, at[1]}, FINE,
                        4 * FINE, faint);
        qb__canvas_line(&c->canvas, (double[2]){at[0], 2 * top}, (double[2]){at[0], size}, FINE,
                        4 * FINE, faint);
        qb__canvas_text(&c->canvas, left + top, top, names[panel][0], ink);
        qb__canvas_text(&c->canvas, left + size - top, at[1] - FINE * 12, names[panel][1], ink);
        qb__canvas_text(&c->canvas, at[0] + FINE * 8, 2 * top, names[panel][2], ink);
    }
    qb__canvas_line(&c->canvas, (double[2]){size, 0}, (double[2]){size, size}, FINE, 0, middle);
}

/* 1, 2 or 5 times a power of ten, a fifth of a panel at most. */
static void draw_scale(picture *c) {
    double most = 0.2 * FINE * PANEL / c->scale, length = pow(10, floor(log10(most)));
    if (5 * length <= most)
        length *= 5;
    else if (2 * length <= most)
        length *= 2;
    double x = FINE * 20, y = FINE * (PANEL - 16), end = x + length * c->scale;
    char text[48];
    snprintf(text, sizeof text, length < 1e-3 || length > 1e5 ? "%.0e mm" : "%g mm", length);
    qb__canvas_line(&c->canvas, (double[2]){x, y}, (double[2]){end, y}, 2 * FINE, 0, ink);
    for (int side = 0; side < 2; side++)
        qb__canvas_line(&c->canvas, (double[2]){side ? end : x, y - 4 * FINE},
                        (double[2]){side ? end : x, y + 4 * FINE}, FINE, 0, ink);
    qb__canvas_text(&c->canvas, end + 10 * FINE, y, text, ink);
}

static void draw_box(picture *c, const qb_grid *grid) {
    for (int edge = 0; edge < 12; edge++) {
        double a[3], b[3];
        int along = edge / 4, bits = edge % 4;
        for (int j = 0; j < 3; j++) {
            double half = 0.5 * (double)grid->n[j] * grid->voxel[j];
            int bit = j == along ? 0 : bits >> (j == (along + 1) % 3) & 1;
            a[j] = b[j] = grid->offset[j] + (bit ? half : -half);
            if (j == along) b[j] = grid->offset[j] + half;
        }
        for (int panel = 0; panel < 2; panel++) line(c, panel, a, b, 2 * FINE, ink);
    }
    double half[3];
    for (int j = 0; j < 3; j++) half[j] = 0.5 * (double)grid->n[j] * grid->voxel[j];
    const double *at = grid->offset;
    label(c, 0, (double[3]){at[0] + half[0], at[1] - half[1], 0}, 0, 0, "volume");
    label(c, 1, (double[3]){0, at[1] - half[1], at[2] - half[2]}, 0, 12, "volume");
}

/* A cylinder whose height falls from the axis to its rim. */
static void draw_field(picture *c, const qb_geometry_info *info) {
    enum { SIDES = 180 };
    double round[SIDES][2], across[6][2], r = info->field_radius, z = info->field_z;
    for (int i = 0; i < SIDES; i++) {
        double t = i * (2 * 3.14159265358979323846 / SIDES);
        to_panel(c, 0, (double[3]){r * cos(t), r * sin(t), 0}, round[i]);
    }
    double h = 0.5 * info->field_height, k = 0.5 * info->field_height_rim;
    const double corner[6][3] = {{0, -r, z - k}, {0, 0, z - h}, {0, r, z - k},
                                 {0, r, z + k},  {0, 0, z + h}, {0, -r, z + k}};
    for (int i = 0; i < 6; i++) to_panel(c, 1, corner[i], across[i]);
    qb__canvas_fill(&c->canvas, (const double(*)[2])round, SIDES, shaded);
    qb__canvas_fill(&c->canvas, (const double(*)[2])across, 6, shaded);
}

static void draw_edge(picture *c, const double a[3], const double b[3], int thick, float shade) {
    for (int panel = 0; panel < 2; panel++) line(c, panel, a, b, thick, shade);
}

static void draw_detector(picture *c, const qb_geometry *g, size_t view, int thick, float shade) {
    int pieces = g->radius > 0 ? 32 : 1;
    double a[3], b[3];
    for (int side = 0; side < 2; side++) {
        detector_place(g, view, side, 0, a);
        detector_place(g, view, side, 1, b);
        draw_edge(c, a, b, thick, shade);
        for (int i = 0; i < pieces; i++) {
            detector_place(g, view, (double)i / pieces, side, a);
            detector_place(g, view, (double)(i + 1) / pieces, side, b);
            draw_edge(c, a, b, thick, shade);
        }
    }
}

static void draw_source(picture *c, const double source[3], int radius, float shade) {
    for (int panel = 0; panel < 2; panel++) {
        double at[2];
        to_panel(c, panel, source, at);
        qb__canvas_dot(&c->canvas, at[0], at[1], radius * FINE, shade);
    }
}

static void draw_first_view(picture *c, const qb_geometry *g) {
    double source[3], end[3];
    bool cone = g->beam == QB_BEAM_CONE;
    source_of(g, g->view, source);
    draw_detector(c, g, 0, 2 * FINE, ink);
    draw_source(c, source, 5, ink);
    for (int corner = 0; corner < 4; corner++) {
        double p[3], from[3];
        detector_corner(g, 0, corner, p);
        for (int j = 0; j < 3; j++) {
            double back = (double)g->columns * hypot(g->view->u[0], g->view->u[1]);
            from[j] = cone ? source[j] : p[j] - back * g->view->source[j];
        }
        for (int panel = 0; panel < 2; panel++) line(c, panel, from, p, FINE, middle);
    }
    detector_corner(g, 0, 2, end);
    for (int panel = 0; panel < 2; panel++) {
        label(c, panel, source, 0, 14, cone ? "first source" : "first rays from here");
        label(c, panel, end, panel, panel ? -14 : 0, "first detector");
    }
}

static void draw_paths(picture *c, const qb_geometry *g) {
    size_t step = (g->views + MOST_DRAWN - 1) / MOST_DRAWN;
    for (size_t i = 0; i < g->views; i += step) {
        double source[3];
        source_of(g, &g->view[i], source);
        draw_source(c, source, 1, middle);
        if (i % (g->views / 24 + 1) < step) draw_detector(c, g, i, FINE, faint);
    }
}

qb_status qb_geometry_picture(const char *path, const qb_geometry *geometry, const qb_grid *grid) {
    QB__NEED(path);
    QB__NEED(geometry);
    qb_geometry_info info;
    qb_grid usual;
    picture c = {0};
    qb_status status = qb_geometry_describe(geometry, &info);
    if (status != QB_OK) return status;
    if (!grid) qb_grid_default(geometry, &usual);
    const qb_grid *volume = grid ? grid : &usual;
    status = qb__canvas_create(2 * PANEL, PANEL, &c.canvas);
    if (status != QB_OK) return status;
    fit(&c, geometry, volume);
    draw_field(&c, &info);
    draw_axes(&c);
    draw_paths(&c, geometry);
    draw_box(&c, volume);
    draw_first_view(&c, geometry);
    draw_scale(&c);
    qb__canvas_text(&c.canvas, FINE * (PANEL + 20), FINE * (PANEL - 16),
                    "dots source path, grey what all views see", ink);
    status = qb__canvas_write(&c.canvas, path);
    qb__canvas_destroy(&c.canvas);
    return status;
}
