/* SPDX-License-Identifier: MIT */
/* A matrix of the user with the C API: a blurred signal is sharpened by coordinate descent, with no value below zero.
 *
 *     descend */
#include <math.h>
#include <stdio.h>

#include <quickbeam/quickbeam.h>

enum { N = 64, WIDE = 7 };

/* Column j is the blurred form of a spike at j: seven numbers around it. */
static void blur(size_t *first, uint32_t *row, float *value) {
    size_t count = 0;
    for (int j = 0; j < N; j++) {
        first[j] = count;
        for (int i = j - WIDE / 2; i <= j + WIDE / 2; i++) {
            if (i < 0 || i >= N) continue;
            row[count] = (uint32_t)i;
            value[count++] = (float)exp(-0.9 * (i - j) * (i - j));
        }
    }
    first[N] = count;
}

int main(void) {
    size_t first[N + 1];
    uint32_t row[N * WIDE];
    float value[N * WIDE], y[N] = {0}, x[N] = {0};
    double off = 0;
    blur(first, row, value);
    for (size_t j = 0; j < N; j++) /* a box */
        for (size_t k = first[j]; j >= 20 && j < 40 && k < first[j + 1]; k++) y[row[k]] += value[k];
    const qb_quadratic quadratic = {
        .matrix = {N, N, first, row, value}, .y = y, .positive = true, .passes = 5000, .stop = 1e-7};
    qb_descent descent;
    if (qb_quadratic_descend(&quadratic, x, &descent, NULL) != QB_OK) {
        fprintf(stderr, "%s\n", qb_detail());
        return 1;
    }
    for (size_t j = 0; j < N; j++) off = fmax(off, fabs((double)x[j] - (j >= 20 && j < 40)));
    printf("%d passes, off by %.3f\n", descent.passes, off);
    return 0;
}
