/* SPDX-License-Identifier: MIT */
/* The rotation axis in one call.
 *     cc center.c $(pkg-config --cflags --libs quickbeam) -lm -o center
 *     ./center */
#include <quickbeam/quickbeam.h>
#include <stdio.h>

#include "cylinder.h"

int main(void) {
    make_projections();
    const qb_tensor from = qb_tensor_f32(lines, VIEWS, ROWS, COLUMNS);
    qb_center_result axis = {.struct_size = sizeof axis};
    const qb_status status = qb_center(&from, angles, NULL, NULL, &axis);
    if (status != QB_OK) return fprintf(stderr, "%s\n", qb_detail()), 1;
    printf("the axis falls on column %.2f, 31.5 was it\n", axis.column);
    return 0;
}
