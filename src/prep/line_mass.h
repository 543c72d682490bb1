/* SPDX-License-Identifier: MIT */
#ifndef QB_PREP_LINE_MASS_H
#define QB_PREP_LINE_MASS_H

#include <stdbool.h>
#include <stddef.h>

/* How much matter a prepared detector row sees, and where: the sum of its line integrals, their mean place, and their variance and third
 * moment about it, in columns, columns squared and cubed. Places count from the middle of the row. */
typedef struct qb__line_mass {
    double mass, middle, spread, skew;
    double noise; /* columns: how far noise may move `middle` */
    size_t view, row;
    bool looked;
    bool whole; /* both ends see air and nearly all was measured; else the rest says nothing */
} qb__line_mass;

/* line[columns], NaN where nothing was measured; end and noise: levels of both ends (line_ends.h); top: what few values exceed. */
void qb__line_mass_of(const float *line, size_t columns, const double end[2], const double noise[2], double top,
                      qb__line_mass *mass);

#endif
