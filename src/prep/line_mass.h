/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Mass of a prepared detector row: the sum of its line integrals, their centre, and their variance and third moment
 * about it, in columns, columns squared and cubed. Positions count from the middle of the row. */
typedef struct qb__line_mass {
    double mass, middle, spread, skew;
    double noise; /* uncertainty of `middle` by noise, in columns */
    size_t view, row;
    bool looked;
    bool whole; /* both ends see air and nearly all was measured; otherwise the other fields are not used */
} qb__line_mass;

/* line[columns], NaN where nothing was measured; end and noise: levels of both ends (line_ends.h); top: level that few
 * values exceed. */
void qb__line_mass_of(const float *line, size_t columns, const double end[2], const double noise[2], double top,
                      qb__line_mass *mass);
