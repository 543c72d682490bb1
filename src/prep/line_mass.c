/* SPDX-License-Identifier: MIT */
#include "prep/line_mass.h"

#include <math.h>

/* Values from one end to the other, minus a straight line through the levels of air. */
static double sum_line(const float *line, size_t columns, const double end[2], double sum[4]) {
    const double half = 0.5 * ((double)columns - 1);
    size_t lost = 0;
    double last = end[0];
    for (size_t i = 0; i < columns; i++) {
        const double x = (double)i - half, air = end[0] + (end[1] - end[0]) * (double)i / (2 * half);
        if (isfinite(line[i]))
            last = (double)line[i] - air;
        else
            lost++;
        sum[0] += last;
        sum[1] += last * x;
        sum[2] += last * x * x;
        sum[3] += last * x * x * x;
    }
    return (double)lost / (double)columns;
}

void qb__line_mass_of(const float *line, size_t columns, const double end[2], const double noise[2], double top,
                      qb__line_mass *mass) {
    const double AIR = 0.03, LOST = 0.05;
    double sum[4] = {0}, sigma = 0, air[2];
    *mass = (qb__line_mass){.view = mass->view, .row = mass->row, .looked = true};
    if (columns < 8 || !(top > 0)) return;
    for (int side = 0; side < 2; side++) {
        if (fabs(end[side]) > fmax(AIR * top, 5 * noise[side])) return;
        air[side] = fabs(end[side]) > 3 * noise[side] ? end[side] : 0; /* noise there would affect all columns */
        sigma = fmax(sigma, noise[side]);
    }
    if (sum_line(line, columns, air, sum) > LOST || !(sum[0] > 0.02 * top * (double)columns)) return;
    mass->mass = sum[0];
    mass->middle = sum[1] / sum[0];
    mass->spread = sum[2] / sum[0] - mass->middle * mass->middle;
    mass->skew = sum[3] / sum[0] - mass->middle * (3 * mass->spread + mass->middle * mass->middle);
    /* `noise` is that of a median of at least three values. */
    mass->noise = 1.5 * sigma * sqrt((double)columns * (double)columns * (double)columns / 12) / sum[0];
    mass->whole = mass->spread > 0;
}
