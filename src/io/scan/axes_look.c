/* SPDX-License-Identifier: MIT */
#include "io/scan/axes_look.h"

#include <math.h>

enum { LEAST = 8 /* smallest number of lines, and of columns */ };

/* Relative variation of the sums along one axis; -1: there is no mass. */
static double variation(const float *image, size_t lines, size_t columns, size_t line_step, size_t column_step) {
    double sum = 0, squares = 0;
    for (size_t l = 0; l < lines; l++) {
        double of_line = 0, count = 0;
        for (size_t c = 0; c < columns; c++) {
            const double value = (double)image[l * line_step + c * column_step];
            if (!isfinite(value)) continue;
            of_line += value;
            count++;
        }
        const double mean = count > 0 ? of_line / count : 0;
        sum += mean;
        squares += mean * mean;
    }
    const double mean = sum / (double)lines;
    return mean > 0 ? sqrt(fmax(squares / (double)lines - mean * mean, 0)) / mean : -1;
}

bool qb__looks_transposed(const float *image, size_t lines, size_t columns) {
    const double EQUAL = 0.05, DIFFERENT = 0.3;
    if (lines < LEAST || columns < LEAST) return false;
    const double of_lines = variation(image, lines, columns, columns, 1),
                 of_columns = variation(image, columns, lines, 1, columns);
    return of_columns >= 0 && of_columns < EQUAL && of_lines > DIFFERENT;
}

bool qb__looks_transposed_as(float *image, size_t lines, size_t columns, qb_quantity quantity) {
    float most = 0;
    if (quantity == QB_LINE_INTEGRAL) return qb__looks_transposed(image, lines, columns);
    for (size_t i = 0; i < lines * columns; i++)
        if (isfinite(image[i])) most = fmaxf(most, image[i]);
    for (size_t i = 0; i < lines * columns; i++) image[i] = image[i] > 0 ? -logf(image[i] / most) : NAN;
    return qb__looks_transposed(image, lines, columns);
}
