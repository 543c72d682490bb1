/* SPDX-License-Identifier: MIT */
#include "geometry/check.h"

#include <math.h>

#include "base/status.h"

int qb__turns_about(const qb_geometry *geometry) {
    const double STILL = 0.05; /* relative to the movement along the other two axes */
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY}, range[3];
    if (geometry->views < 3) return 2;
    for (size_t i = 0; i < geometry->views; i++) {
        for (int j = 0; j < 3; j++) {
            low[j] = fmin(low[j], geometry->view[i].source[j]);
            high[j] = fmax(high[j], geometry->view[i].source[j]);
        }
    }
    for (int j = 0; j < 3; j++) range[j] = high[j] - low[j];
    for (int j = 0; j < 2; j++)
        if (range[j] < STILL * fmin(range[1 - j], range[2])) return j;
    return 2;
}

const char *qb__turned_names(int axis) { return axis == 0 ? "y, z, x" : "x, -z, y"; }

qb_status qb__check_turning(const qb_geometry *geometry) {
    const int axis = qb__turns_about(geometry);
    if (axis == 2) return QB_OK;
    return qb__fail(QB_BAD_INPUT,
                    "the source turns about %c, and the axis must be z: write (%s) for (x, y, z) everywhere, or give "
                    "the geometry as 3x4 matrices, "
                    "which are turned so when they are read",
                    "xy"[axis], qb__turned_names(axis));
}

static void turn(double v[3], int axis) {
    const double x = v[0], y = v[1], z = v[2];
    v[0] = axis == 0 ? y : x;
    v[1] = axis == 0 ? z : -z;
    v[2] = axis == 0 ? x : y;
}

void qb__turn_frame(qb_geometry *geometry, int axis) {
    for (size_t i = 0; i < geometry->views; i++) {
        turn(geometry->view[i].source, axis);
        turn(geometry->view[i].detector, axis);
        turn(geometry->view[i].u, axis);
        turn(geometry->view[i].v, axis);
    }
}
