/* SPDX-License-Identifier: MIT */
/* Least squares and total variation in one call.
 *     cc tv.c $(pkg-config --cflags --libs quickbeam) -lm -o tv
 *     ./tv */
#include <quickbeam/quickbeam.h>
#include <stdio.h>

#include "cylinder.h"

int main(void) {
    make_projections();
    const qb_tensor from = qb_tensor_f32(lines, VIEWS, ROWS, COLUMNS);
    const qb_tensor to = qb_tensor_f32(volume, ROWS, COLUMNS, COLUMNS);
    const qb_iterative_options options = {.center = "31.5", .nonneg = true, .gap = 1e-2};
    const qb_status status = qb_tv(&from, angles, 0.5, NULL, &to, &options, NULL);
    if (status != QB_OK) return fprintf(stderr, "%s\n", qb_detail()), 1;
    printf("%.4f/mm in the middle, 0.02 went in\n", (double)volume[(COLUMNS + 1) * COLUMNS / 2]);
    return 0;
}
