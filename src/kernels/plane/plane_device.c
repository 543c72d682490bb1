/* SPDX-License-Identifier: MIT */
#include "kernels/plane/plane_device.h"

#include <math.h>

#include "base/memory.h"
#include "kernels/macros.h"

enum { WIDE = 32, ITEMS = 256 };

struct qb__plane_kernel {
    qb__program *program[2]; /* program for a plane on a detector row, and for one between two rows */
    qb__kernel *kernel[2];
};

qb_status qb__plane_create(qb__device *device, qb__plane_kernel **out) {
    qb__plane_kernel *made;
    *out = NULL;
    qb_status status = qb__alloc(1, sizeof *made, &made);
    for (int between = 0; status == QB_OK && between < 2; between++) {
        qb__macros macros = {.count = 0};
        qb__macros_add(&macros, "BETWEEN", between);
        status = qb__program_build(device, "plane_parallel.cl", macros.list, &made->program[between]);
        if (status == QB_OK) status = qb__kernel_get(made->program[between], "plane_parallel", &made->kernel[between]);
    }
    if (status == QB_OK)
        *out = made;
    else
        qb__plane_destroy(made);
    return status;
}

void qb__plane_destroy(qb__plane_kernel *kernel) {
    if (!kernel) return;
    for (int i = 0; i < 2; i++) qb__program_release(kernel->program[i]);
    qb__free(kernel);
}

static bool is_between(const qb__plane_place *p) {
    return p->origin[2] != floorf(p->origin[2]) || p->down[2] != floorf(p->down[2]) ||
           p->right[2] != floorf(p->right[2]);
}

qb_status qb__plane_run(const qb__plane_kernel *kernel, qb__queue *queue, const qb__memory *rows,
                        const qb__memory *views, size_t count, const size_t detector[2], size_t stride,
                        const qb__plane_place *place, qb__memory *out, size_t lines, size_t points) {
    const int32_t all = (int32_t)count, columns = (int32_t)detector[1], row_count = (int32_t)detector[0];
    const int32_t apart = (int32_t)stride, n0 = (int32_t)lines, n1 = (int32_t)points;
    float way[3][4] = {{0}};
    for (int i = 0; i < 3; i++) way[0][i] = place->origin[i], way[1][i] = place->down[i], way[2][i] = place->right[i];
    const qb__arg args[] = {QB__MEMORIES(rows, views), QB__VALUES(all, columns, row_count, apart), QB__MEMORY(out),
                            QB__VALUES(n0, n1, way[0], way[1], way[2])};
    const size_t groups[3] = {qb__ceil_div(points, WIDE), qb__ceil_div(lines, ITEMS / WIDE), 1},
                 items[3] = {ITEMS, 1, 1};
    return qb__kernel_launch(kernel->kernel[is_between(place)], queue, groups, items, args, sizeof args / sizeof *args);
}
