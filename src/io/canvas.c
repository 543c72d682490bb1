/* SPDX-License-Identifier: MIT */
#include "io/canvas.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "quickbeam/io.h"

/* Five dots by seven, a byte a row. */
static const struct {
    char letter;
    unsigned char row[7];
} glyphs[] = {
    {'a', {0x00, 0x00, 0x0e, 0x01, 0x0f, 0x11, 0x0f}},
    {'b', {0x10, 0x10, 0x1e, 0x11, 0x11, 0x11, 0x1e}},
    {'c', {0x00, 0x00, 0x0f, 0x10, 0x10, 0x10, 0x0f}},
    {'d', {0x01, 0x01, 0x0f, 0x11, 0x11, 0x11, 0x0f}},
    {'e', {0x00, 0x00, 0x0e, 0x11, 0x1f, 0x10, 0x0f}},
    {'f', {0x06, 0x08, 0x1e, 0x08, 0x08, 0x08, 0x08}},
    {'g', {0x00, 0x0f, 0x11, 0x11, 0x0f, 0x01, 0x0e}},
    {'h', {0x10, 0x10, 0x1e, 0x11, 0x11, 0x11, 0x11}},
    {'i', {0x04, 0x00, 0x0c, 0x04, 0x04, 0x04, 0x0e}},
    {'k', {0x10, 0x10, 0x12, 0x14, 0x18, 0x14, 0x12}},
    {'l', {0x0c, 0x04, 0x04, 0x04, 0x04, 0x04, 0x0e}},
    {'m', {0x00, 0x00, 0x1a, 0x15, 0x15, 0x15, 0x15}},
    {'n', {0x00, 0x00, 0x1e, 0x11, 0x11, 0x11, 0x11}},
    {'o', {0x00, 0x00, 0x0e, 0x11, 0x11, 0x11, 0x0e}},
    {'p', {0x00, 0x00, 0x1e, 0x11, 0x1e, 0x10, 0x10}},
    {'r', {0x00, 0x00, 0x16, 0x18, 0x10, 0x10, 0x10}},
    {'s', {0x00, 0x00, 0x0f, 0x10, 0x0e, 0x01, 0x1e}},
    {'t', {0x08, 0x08, 0x1e, 0x08, 0x08, 0x08, 0x06}},
    {'u', {0x00, 0x00, 0x11, 0x11, 0x11, 0x11, 0x0f}},
    {'v', {0x00, 0x00, 0x11, 0x11, 0x11, 0x0a, 0x04}},
    {'w', {0x00, 0x00, 0x11, 0x11, 0x15, 0x15, 0x0a}},
    {'x', {0x00, 0x00, 0x11, 0x0a, 0x04, 0x0a, 0x11}},
    {'y', {0x00, 0x00, 0x11, 0x11, 0x0f, 0x01, 0x0e}},
    {'z', {0x00, 0x00, 0x1f, 0x02, 0x04, 0x08, 0x1f}},
    {'0', {0x0e, 0x11, 0x13, 0x15, 0x19, 0x11, 0x0e}},
    {'1', {0x04, 0x0c, 0x04, 0x04, 0x04, 0x04, 0x0e}},
    {'2', {0x0e, 0x11, 0x01, 0x06, 0x08, 0x10, 0x1f}},
    {'3', {0x1e, 0x01, 0x01, 0x0e, 0x01, 0x01, 0x1e}},
    {'4', {0x02, 0x06, 0x0a, 0x12, 0x1f, 0x02, 0x02}},
    {'5', {0x1f, 0x10, 0x1e, 0x01, 0x01, 0x11, 0x0e}},
    {'6', {0x0e, 0x10, 0x10, 0x1e, 0x11, 0x11, 0x0e}},
    {'7', {0x1f, 0x01, 0x02, 0x02, 0x04, 0x04, 0x04}},
    {'8', {0x0e, 0x11, 0x11, 0x0e, 0x11, 0x11, 0x0e}},
    {'9', {0x0e, 0x11, 0x11, 0x0f, 0x01, 0x01, 0x0e}},
    {'.', {0x00, 0x00, 0x00, 0x00, 0x00, 0x0c, 0x0c}},
    {'-', {0x00, 0x00, 0x00, 0x0e, 0x00, 0x00, 0x00}},
    {',', {0x00, 0x00, 0x00, 0x00, 0x0c, 0x04, 0x08}},
};

qb_status qb__canvas_create(size_t width, size_t height, qb__canvas *canvas) {
    *canvas = (qb__canvas){.width = QB__CANVAS_FINE * width, .height = QB__CANVAS_FINE * height};
    size_t count = canvas->width * canvas->height;
    qb_status status = qb__alloc(count, sizeof *canvas->pixel, &canvas->pixel);
    for (size_t i = 0; status == QB_OK && i < count; i++) canvas->pixel[i] = 1;
    return status;
}

void qb__canvas_destroy(qb__canvas *canvas) {
    qb__free(canvas->pixel);
    *canvas = (qb__canvas){0};
}

/* Also for coordinates that are no numbers or too large for an integer. */
static void darken(qb__canvas *canvas, double x, double y, float shade) {
    if (!(x >= 0 && y >= 0 && x < (double)canvas->width && y < (double)canvas->height)) return;
    float *at = &canvas->pixel[(size_t)y * canvas->width + (size_t)x];
    *at = fminf(*at, shade);
}

void qb__canvas_dot(qb__canvas *canvas, double x, double y, int radius, float shade) {
    for (int i = -radius; i <= radius; i++)
        for (int j = -radius; j <= radius; j++)
            if (i * i + j * j <= radius * radius) darken(canvas, x + i, y + j, shade);
}

void qb__canvas_line(qb__canvas *canvas, const double from[2], const double to[2], int thick,
                     int dash, float shade) {
    double dx = to[0] - from[0], dy = to[1] - from[1], length = fmax(fabs(dx), fabs(dy));
    double most = 8.0 * (double)(canvas->width + canvas->height);
    long steps = length < most ? lround(length) + 1 : lround(most);
    for (long i = 0; i <= steps; i++) {
        double t = (double)i / (double)steps;
        if (dash && i / dash % 2) continue;
        for (int side = 0; side < thick; side++) {
            double more = side - 0.5 * (thick - 1);
            darken(canvas, from[0] + t * dx + (fabs(dx) < fabs(dy) ? more : 0),
                   from[1] + t * dy + (fabs(dx) < fabs(dy) ? 0 : more), shade);
        }
    }
}

/* Is a point on the same side of all edges? */
static int inside(const double (*corner)[2], int corners, double x, double y) {
    int left = 0, right = 0;
    for (int i = 0; i < corners; i++) {
        const double *a = corner[i], *b = corner[(i + 1) % corners];
        double turn = (b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0]);
        left += turn > 0;
        right += turn < 0;
    }
    return left == 0 || right == 0;
}

void qb__canvas_fill(qb__canvas *canvas, const double (*corner)[2], int corners, float shade) {
    double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
    double most[2] = {(double)canvas->width, (double)canvas->height};
    for (int i = 0; i < corners; i++) {
        for (int j = 0; j < 2; j++) {
            low[j] = fmin(low[j], corner[i][j]);
            high[j] = fmax(high[j], corner[i][j]);
        }
    }
    for (double y = fmax(0, ceil(low[1])); y <= high[1] && y < most[1]; y++)
        for (double x = fmax(0, ceil(low[0])); x <= high[0] && x < most[0]; x++)
            if (inside(corner, corners, x, y)) darken(canvas, x, y, shade);
}

static void draw_glyph(qb__canvas *canvas, double x, double y, const unsigned char row[7],
                       float shade) {
    int dot = 2 * QB__CANVAS_FINE;
    for (int i = 0; i < 7 * dot; i++)
        for (int j = 0; j < 5 * dot; j++)
            if (row[i / dot] >> (4 - j / dot) & 1) darken(canvas, x + j, y + i, shade);
}

void qb__canvas_text(qb__canvas *canvas, double x, double y, const char *text, float shade) {
    for (; *text; text++, x += QB__GLYPH_WIDTH)
        for (size_t g = 0; g < sizeof glyphs / sizeof glyphs[0]; g++)
            if (glyphs[g].letter == *text)
                draw_glyph(canvas, x, y - 7 * QB__CANVAS_FINE, glyphs[g].row, shade);
}

qb_status qb__canvas_write(const qb__canvas *canvas, const char *path) {
    return qb_preview_write(path, canvas->pixel, canvas->width, canvas->height, 0, 1);
}
