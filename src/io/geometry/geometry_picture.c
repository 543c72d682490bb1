/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <string.h>
#include <strings.h>

#include "base/status.h"
#include "geometry/grid.h"
#include "geometry/curve.h"
#include "io/text.h"
#include "quickbeam/geometry.h"

/* Two panels side by side with the same scale: from above (x to the right, y up) and from the side (y to the right, z
 * up). The first view is drawn completely, of the others sources and some detectors. */

enum { PANEL = 640, MARGIN = 68, MOST_SOURCES = 720, MOST_DETECTORS = 24, CURVE_PIECES = 32 };

static const char *const style =
    "text{font:15px 'DejaVu Sans',Helvetica,Arial,sans-serif;fill:#222;paint-order:stroke;stroke:#fff;stroke-width:4px}"
    ".t{font-weight:bold}.e{text-anchor:end}.a{stroke:#bbb;stroke-dasharray:5 5}.f{fill:#eceff1}"
    ".s{stroke:#c0392b;stroke-width:3;stroke-linecap:round}.r{stroke:#e0a79f}.o{fill:#c0392b}"
    ".d{stroke:#b9cfe6;fill:none}.D{stroke:#1f5fa8;stroke-width:2.5;fill:none}.v{stroke:#2e7d32;stroke-width:2;fill:"
    "none}"
    ".k{stroke:#222;stroke-width:2}";

typedef struct picture {
    qb__text svg;
    double scale;        /* pixels per mm */
    double center[2][2]; /* centre of each panel in mm */
    const qb_geometry *geometry;
} picture;

/* Coordinates of a point in both panels. */
static void seen(int panel, const double p[3], double out[2]) {
    out[0] = panel == 0 ? p[0] : p[1];
    out[1] = panel == 0 ? p[1] : p[2];
}

/* Limit a number so that every viewer accepts it, also after an overflow of a length. */
static double tame(double x) { return x > 1e6 ? 1e6 : x > -1e6 ? x : -1e6; }

static void to_panel(const picture *c, int panel, const double p[3], double out[2]) {
    double at[2];
    seen(panel, p, at);
    out[0] = tame(PANEL * 0.5 + (at[0] - c->center[panel][0]) * c->scale);
    out[1] = tame(PANEL * 0.5 - (at[1] - c->center[panel][1]) * c->scale);
}

/* Next point of a path; `command` is M, L, or h0 afterwards for a dot. */
static void add_point(picture *c, int panel, char command, const double p[3]) {
    double at[2];
    to_panel(c, panel, p, at);
    qb__text_add(&c->svg, "%c%.1f %.1f", command, at[0], at[1]);
}

/* Text next to a point; with `left`, and at the panel's right edge, the text ends there. */
static void add_label(picture *c, int panel, const double p[3], bool left, double down, const char *text) {
    double at[2], width = 9.0 * (double)strlen(text);
    to_panel(c, panel, p, at);
    if (left && at[0] - 12 < width) left = false;
    if (!left && at[0] + 12 + width > PANEL) left = true;
    qb__text_add(&c->svg, "<text%s x=\"%.1f\" y=\"%.1f\">%s</text>\n", left ? " class=\"e\"" : "",
                 at[0] + (left ? -12 : 12), fmax(60, fmin(PANEL - 40, at[1] + 5 + down)), text);
}

/* A point of the detector: shares of its columns and rows. */
static void detector_place(const qb_geometry *g, size_t view, double h, double k, double out[3]) {
    qb__pixel_position(g, view, h * (double)g->columns - 0.5, k * (double)g->rows - 0.5, out);
}

/* A corner of the detector, 0..3 around it. */
static void detector_corner(const qb_geometry *g, size_t view, int corner, double out[3]) {
    detector_place(g, view, corner == 1 || corner == 2, corner >= 2, out);
}

static double detector_width(const qb_geometry *g, const qb_view *view) {
    return (double)g->columns * hypot(view->u[0], view->u[1]);
}

/* Parallel rays get a visible source: as far in front of the origin as the detector is wide. */
static void source_of(const qb_geometry *g, const qb_view *view, double out[3]) {
    for (int j = 0; j < 3; j++)
        out[j] = g->beam == QB_BEAM_CONE ? view->source[j] : -detector_width(g, view) * view->source[j];
}

/* The bounds of all sources, detectors and the volume, in both panels. */
static void fit(picture *c, const qb_grid *grid) {
    const qb_geometry *g = c->geometry;
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
    c->scale = (PANEL - 2 * MARGIN) / most;
    double at[3];
    for (int j = 0; j < 3; j++) at[j] = 0.5 * (low[j] + high[j]);
    for (int panel = 0; panel < 2; panel++) seen(panel, at, c->center[panel]);
}

/* A cylinder whose height decreases from the axis to its edge. */
static void add_field(picture *c, int panel, const qb_geometry_info *info) {
    double r = info->field_radius, z = info->field_z, at[2];
    double h = 0.5 * info->field_height, k = 0.5 * info->field_height_rim;
    const double corner[6][3] = {{0, -r, z - k}, {0, 0, z - h}, {0, r, z - k},
                                 {0, r, z + k},  {0, 0, z + h}, {0, -r, z + k}};
    if (!(r > 0)) return;
    if (panel == 0) {
        to_panel(c, panel, (double[3]){0}, at);
        qb__text_add(&c->svg, "<circle class=\"f\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"/>\n", at[0], at[1],
                     tame(r * c->scale));
        return;
    }
    qb__text_add(&c->svg, "<path class=\"f\" d=\"");
    for (int i = 0; i < 6; i++) add_point(c, panel, i ? 'L' : 'M', corner[i]);
    qb__text_add(&c->svg, "Z\"/>\n");
}

/* Dashed axes through the origin, with their names at the ends. */
static void add_axes(picture *c, int panel) {
    static const char *const names[2][3] = {{"seen from above", "x", "y"}, {"seen from the side", "y", "z"}};
    double at[2];
    to_panel(c, panel, (double[3]){0}, at);
    qb__text_add(&c->svg, "<path class=\"a\" d=\"M0 %.1fH%dM%.1f 44V%d\"/>\n", at[1], PANEL, at[0], PANEL);
    qb__text_add(&c->svg, "<text class=\"t\" x=\"20\" y=\"26\">%s</text>\n", names[panel][0]);
    qb__text_add(&c->svg, "<text class=\"e\" x=\"%d\" y=\"%.1f\">%s</text>\n", PANEL - 10, at[1] - 8, names[panel][1]);
    qb__text_add(&c->svg, "<text x=\"%.1f\" y=\"54\">%s</text>\n", at[0] + 8, names[panel][2]);
}

static void add_detector(picture *c, int panel, size_t view) {
    int pieces = c->geometry->radius > 0 ? CURVE_PIECES : 1;
    double p[3];
    for (int i = 0; i <= pieces; i++) {
        detector_place(c->geometry, view, (double)i / pieces, 0, p);
        add_point(c, panel, i ? 'L' : 'M', p);
    }
    for (int i = pieces; i >= 0; i--) {
        detector_place(c->geometry, view, (double)i / pieces, 1, p);
        add_point(c, panel, 'L', p);
    }
    qb__text_add(&c->svg, "Z");
}

static void add_other_views(picture *c, int panel) {
    const qb_geometry *g = c->geometry;
    size_t step = (g->views + MOST_DETECTORS - 1) / MOST_DETECTORS;
    double source[3];
    qb__text_add(&c->svg, "<path class=\"d\" d=\"");
    for (size_t i = 0; i < g->views; i += step) add_detector(c, panel, i);
    qb__text_add(&c->svg, "\"/>\n<path class=\"s\" d=\"");
    step = (g->views + MOST_SOURCES - 1) / MOST_SOURCES;
    for (size_t i = 0; i < g->views; i += step) {
        source_of(g, &g->view[i], source);
        add_point(c, panel, 'M', source);
        qb__text_add(&c->svg, "h0");
    }
    qb__text_add(&c->svg, "\"/>\n");
}

static void add_volume(picture *c, int panel, const qb_grid *grid) {
    double low[3], high[3], a[2], b[2];
    for (int j = 0; j < 3; j++) {
        double half = 0.5 * (double)grid->n[j] * grid->voxel[j];
        low[j] = grid->offset[j] - half;
        high[j] = grid->offset[j] + half;
    }
    to_panel(c, panel, low, a);
    to_panel(c, panel, high, b);
    qb__text_add(&c->svg, "<rect class=\"v\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n", a[0], b[1],
                 b[0] - a[0], a[1] - b[1]);
    add_label(c, panel, panel ? low : (double[3]){high[0], low[1], low[2]}, panel, panel ? 14 : 0, "volume");
}

static void add_first_view(picture *c, int panel) {
    const qb_geometry *g = c->geometry;
    bool cone = g->beam == QB_BEAM_CONE;
    double source[3], corner[3], at[2];
    source_of(g, g->view, source);
    qb__text_add(&c->svg, "<path class=\"r\" d=\"");
    for (int i = 0; i < 4; i++) {
        double from[3];
        detector_corner(g, 0, i, corner);
        for (int j = 0; j < 3; j++)
            from[j] = cone ? source[j] : corner[j] - 2 * detector_width(g, g->view) * g->view->source[j];
        add_point(c, panel, 'M', from);
        add_point(c, panel, 'L', corner);
    }
    qb__text_add(&c->svg, "\"/>\n<path class=\"D\" d=\"");
    add_detector(c, panel, 0);
    to_panel(c, panel, source, at);
    qb__text_add(&c->svg, "\"/>\n<circle class=\"o\" cx=\"%.1f\" cy=\"%.1f\" r=\"6\"/>\n", at[0], at[1]);
    detector_corner(g, 0, 2, corner);
    add_label(c, panel, source, false, 16, cone ? "first source" : "first rays from here");
    add_label(c, panel, corner, panel, panel ? -16 : 0, "first detector");
}

/* 1, 2 or 5 times a power of ten, at most a fifth of a panel. */
static void add_scale(picture *c) {
    double most = 0.2 * PANEL / c->scale, length = pow(10, floor(log10(most)));
    if (5 * length <= most)
        length *= 5;
    else if (2 * length <= most)
        length *= 2;
    double end = 20 + length * c->scale, y = PANEL - 18;
    qb__text_add(&c->svg,
                 "<path class=\"k\" d=\"M20 %.1fv8m0 -4H%.1fm0 -4v8\"/>\n<text x=\"%.1f\" y=\"%.1f\">%g mm</text>\n",
                 y - 4, end, end + 10, y + 5, length);
}

static void add_panel(picture *c, int panel, const qb_geometry_info *info, const qb_grid *volume) {
    qb__text_add(&c->svg, "<svg x=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\">\n", PANEL * panel, PANEL, PANEL);
    add_field(c, panel, info);
    add_axes(c, panel);
    add_other_views(c, panel);
    add_volume(c, panel, volume);
    add_first_view(c, panel);
    if (panel == 0)
        add_scale(c);
    else
        qb__text_add(&c->svg, "<text x=\"20\" y=\"%d\">red: the source's path; grey: what all views see</text>\n",
                     PANEL - 13);
    qb__text_add(&c->svg, "</svg>\n");
}

static bool is_svg(const char *path) {
    const char *dot = strrchr(path, '.');
    return dot && strcasecmp(dot, ".svg") == 0;
}

qb_status qb_geometry_picture(const char *path, const qb_geometry *geometry, const qb_grid *grid) {
    QB__NEED(path);
    QB__NEED(geometry);
    qb_geometry_info info = {.struct_size = sizeof info};
    qb_grid usual;
    picture c = {.geometry = geometry};
    if (!is_svg(path))
        return qb__fail(QB_BAD_ARGUMENT, "%s: a geometry is drawn as SVG; give a name that ends in .svg", path);
    qb_status status = qb_geometry_describe(geometry, &info);
    if (status == QB_OK && grid) status = qb__grid_check(grid);
    if (status != QB_OK) return status;
    if (!grid) qb_grid_default(geometry, &usual);
    const qb_grid *volume = grid ? grid : &usual;
    fit(&c, volume);
    qb__text_add(&c.svg,
                 "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\">\n",
                 2 * PANEL, PANEL, 2 * PANEL, PANEL);
    qb__text_add(&c.svg, "<title>%s beam, %zu views of %zu x %zu pixels</title>\n<style>%s</style>\n",
                 geometry->beam == QB_BEAM_CONE ? "Cone" : "Parallel", geometry->views, geometry->columns,
                 geometry->rows, style);
    qb__text_add(&c.svg, "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n");
    for (int panel = 0; panel < 2; panel++) add_panel(&c, panel, &info, volume);
    qb__text_add(&c.svg, "<path stroke=\"#999\" d=\"M%d 0V%d\"/>\n</svg>\n", PANEL, PANEL);
    status = qb__text_write(NULL, path, &c.svg);
    qb__text_clear(&c.svg);
    return status;
}
