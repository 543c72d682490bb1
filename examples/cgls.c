/* SPDX-License-Identifier: MIT */
/* Least squares by conjugate gradients in one call.
 *     cc cgls.c $(pkg-config --cflags --libs quickbeam) -lm -o cgls
 *     ./cgls */
#include <quickbeam/quickbeam.h>
#include <stdio.h>

#include "cylinder.h"

int main(void) {
    make_projections();
    const qb_tensor from = qb_tensor_f32(lines, VIEWS, ROWS, COLUMNS);
    const qb_tensor to = qb_tensor_f32(volume, ROWS, COLUMNS, COLUMNS);
    const qb_iterative_options options = {.center = "31.5", .iterations = 10};
    const qb_status status = qb_cgls(&from, angles, 0.5, NULL, &to, &options, NULL);
    if (status != QB_OK) return fprintf(stderr, "%s\n", qb_detail()), 1;
    printf("%.4f/mm in the middle, 0.02 went in\n", (double)volume[(COLUMNS + 1) * COLUMNS / 2]);
    return 0;
}
