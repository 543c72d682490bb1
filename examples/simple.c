/* SPDX-License-Identifier: MIT */
/* One call: projections in memory become a volume in memory.
 *     cc simple.c $(pkg-config --cflags --libs quickbeam) -lm -o simple
 *     ./simple */
#include <math.h>
#include <quickbeam/quickbeam.h>
#include <stdio.h>

enum { VIEWS = 180, ROWS = 4, COLUMNS = 128 };

/* Line integrals of a cylinder of 0.02/mm, 40 mm wide, about the axis; pixels of 0.5 mm. */
static void make_projections(double *angles, float *lines) {
    for (int v = 0; v < VIEWS; v++) {
        angles[v] = 3.14159265358979 * v / VIEWS;
        for (int i = 0; i < ROWS * COLUMNS; i++) {
            double s = 0.5 * (i % COLUMNS - 0.5 * (COLUMNS - 1));
            lines[v * ROWS * COLUMNS + i] = s * s < 400 ? (float)(0.04 * sqrt(400 - s * s)) : 0;
        }
    }
}

int main(void) {
    static double angles[VIEWS];
    static float lines[VIEWS * ROWS * COLUMNS], volume[ROWS * COLUMNS * COLUMNS];
    const qb_tensor from = qb_tensor_f32(lines, VIEWS, ROWS, COLUMNS);
    const qb_tensor to = qb_tensor_f32(volume, ROWS, COLUMNS, COLUMNS);
    make_projections(angles, lines);
    qb_status status = qb_fbp(&from, angles, 0.5, &to, NULL, NULL);
    if (status != QB_OK) {
        fprintf(stderr, "%s: %s\n", qb_status_text(status), qb_detail());
        return qb_status_exit_code(status);
    }
    float middle = volume[(COLUMNS + COLUMNS / 2) * COLUMNS + COLUMNS / 2];
    printf("quickbeam %s: %.4f/mm in the middle, 0.02 went in\n", qb_version(), middle);
    return fabs(middle - 0.02) < 0.0005 ? 0 : 1;
}
