/* SPDX-License-Identifier: MIT */
#include "geometry/check.h"

#include <math.h>

#include "geometry/matrix.h"

bool qb__is_modular(const qb_geometry *geometry) {
    const double part = 0.125, often = 0.25; /* share of the columns; share of the views */
    size_t leaps = 0;
    double before = NAN;
    for (size_t i = 0; i < geometry->views; i++) {
        qb__matrix matrix;
        double at[3];
        if (qb__matrix_of_view(geometry->beam, &geometry->view[i], &matrix) != QB_OK) return false;
        qb__matrix_apply(&matrix, 0, 0, 0, at);
        const double column = at[0] / at[2];
        leaps += fabs(column - before) > part * (double)geometry->columns;
        before = column;
    }
    return (double)leaps > often * (double)geometry->views;
}
