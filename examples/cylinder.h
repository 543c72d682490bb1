/* SPDX-License-Identifier: MIT */
/* The object that the examples of solvers reconstruct: line integrals of a cylinder of 0.02/mm, 20 mm wide, about the
 * axis; pixels of 0.5 mm. */
#ifndef CYLINDER_H
#define CYLINDER_H

#include <math.h>

enum { VIEWS = 60, ROWS = 2, COLUMNS = 64 };

static double angles[VIEWS];
static float lines[VIEWS * ROWS * COLUMNS], volume[ROWS * COLUMNS * COLUMNS];

static void make_projections(void) {
    for (int v = 0; v < VIEWS; v++) {
        angles[v] = 3.14159265358979 * v / VIEWS;
        for (int i = 0; i < ROWS * COLUMNS; i++) {
            const double s = 0.5 * (i % COLUMNS - 0.5 * (COLUMNS - 1));
            lines[v * ROWS * COLUMNS + i] = s * s < 100 ? (float)(0.04 * sqrt(100 - s * s)) : 0;
        }
    }
}

#endif
