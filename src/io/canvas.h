/* SPDX-License-Identifier: MIT */
#ifndef QB_IO_CANVAS_H
#define QB_IO_CANVAS_H

#include <stddef.h>

#include "quickbeam/status.h"

/* A grey picture, drawn twice as fine as it is shown; shades only darken: 1 white, 0 black. Lengths
 * here are fine pixels, y down; what falls beside the picture is not drawn. */
typedef struct qb__canvas {
    size_t width, height;
    float *pixel; /* [height][width] */
} qb__canvas;

enum { QB__CANVAS_FINE = 2, QB__GLYPH_WIDTH = 6 * 2 * QB__CANVAS_FINE };

/* White, of so many shown pixels. */
qb_status qb__canvas_create(size_t width, size_t height, qb__canvas *canvas);
void qb__canvas_destroy(qb__canvas *canvas);

void qb__canvas_dot(qb__canvas *canvas, double x, double y, int radius, float shade);
/* `thick` fine pixels; dash = 0 is solid, else so many fine pixels on and off. */
void qb__canvas_line(qb__canvas *canvas, const double from[2], const double to[2], int thick,
                     int dash, float shade);
/* The inside of a convex polygon. */
void qb__canvas_fill(qb__canvas *canvas, const double (*corner)[2], int corners, float shade);
/* Lower-case letters, digits, points, commas and hyphens; others are blanks. (x, y) is the left end
 * of the middle line. */
void qb__canvas_text(qb__canvas *canvas, double x, double y, const char *text, float shade);

/* By way of qb_preview_write, which halves it. */
qb_status qb__canvas_write(const qb__canvas *canvas, const char *path);

#endif
