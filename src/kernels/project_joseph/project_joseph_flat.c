/* SPDX-License-Identifier: MIT */
/* Launches of the slice-by-slice projection; kernels in project_joseph_flat.cl. */
#include "kernels/project_joseph/project_joseph_flat.h"

#include <stdio.h>

#include "base/memory.h"
#include "base/status.h"
#include "kernels/macros.h"

enum { EDGE = 2, TILE = 32, ITEMS = 256, ACROSS = 64 };

struct qb__joseph_flat {
    qb__device *device;
    size_t views, rows, columns, n[3], tall;
    float reach;
    qb__joseph_most most;
    qb__flat_records records; /* host memory; only first_run is kept */
    qb__program *program;
    qb__kernel *turn, *forward, *rows_kernel, *values, *back;
    qb__memory *courses, *lengths, *points, *heights, *spans, *runs;
    qb__memory *turned; /* the slab with x and y exchanged */
    qb__memory *sums;   /* [view][column][slice], or [view][slice][column] */
};

static size_t slab_floats(const qb__joseph_problem *p, size_t slices) {
    return (p->grid->n[0] + 2 * EDGE) * (p->grid->n[1] + 2 * EDGE) * slices;
}

size_t qb__joseph_flat_bytes(const qb__joseph_problem *p, qb__joseph_most most) {
    const size_t rays = p->views * p->columns;
    return (rays * 5 + p->views * (8 + 2 * p->rows + 2 * p->grid->n[2] + 8) + slab_floats(p, most.slices) +
            most.views * p->columns * most.slices) *
           sizeof(float);
}

static qb_status upload(qb__joseph_flat *f, qb__queue *queue, const void *from, size_t bytes, qb__memory **memory) {
    const qb_status status = qb__memory_create(f->device, bytes, memory);
    return status == QB_OK ? qb__memory_upload(queue, *memory, 0, from, bytes) : status;
}

static qb_status upload_records(qb__joseph_flat *f) {
    const qb__flat_records *r = &f->records;
    const size_t rays = f->views * f->columns;
    qb__queue *queue = NULL;
    qb_status status;
    QB__TRY(qb__queue_create(f->device, &queue));
    QB__TRY(upload(f, queue, r->courses, rays * sizeof *r->courses, &f->courses));
    QB__TRY(upload(f, queue, r->lengths, rays * sizeof *r->lengths, &f->lengths));
    QB__TRY(upload(f, queue, r->points, f->views * sizeof *r->points, &f->points));
    QB__TRY(upload(f, queue, r->heights, f->views * f->rows * sizeof *r->heights, &f->heights));
    QB__TRY(upload(f, queue, r->spans, f->views * f->n[2] * sizeof *r->spans, &f->spans));
    QB__TRY(upload(f, queue, r->runs, r->first_run[f->views] * sizeof *r->runs, &f->runs));
out:
    status = qb__queue_finish_after(queue, status);
    qb__queue_destroy(queue);
    return status;
}

static qb_status build(qb__joseph_flat *f, const qb__flat_shape *shape, int steps) {
    qb__macros macros = {.count = 0};
    qb__macros_add(&macros, "EVEN", shape->even);
    qb__macros_add(&macros, "TAPS", shape->taps);
    qb__macros_add(&macros, "CAP", shape->cap);
    qb__macros_add(&macros, "STEPS", steps);
    QB__OR_RETURN(qb__program_build(f->device, "project_joseph_flat.cl", macros.list, &f->program));
    QB__OR_RETURN(qb__kernel_get(f->program, "project_joseph_flat_turn", &f->turn));
    QB__OR_RETURN(qb__kernel_get(f->program, "project_joseph_flat_forward", &f->forward));
    QB__OR_RETURN(qb__kernel_get(f->program, "project_joseph_flat_rows", &f->rows_kernel));
    QB__OR_RETURN(qb__kernel_get(f->program, "project_joseph_flat_values", &f->values));
    return qb__kernel_get(f->program, "project_joseph_flat_back", &f->back);
}

qb_status qb__joseph_flat_create(qb__device *device, const qb__joseph_problem *p, qb__joseph_most most, int steps,
                                 qb__joseph_flat **out) {
    const size_t *n = p->grid->n;
    qb__joseph_flat *f;
    qb__flat_shape shape;
    *out = NULL;
    const char *why = qb__joseph_flat_refuses(p, 8 * (size_t)steps, &shape);
    if (why) return qb__fail(QB_INTERNAL, "slice by slice: %s", why);
    qb_status status = qb__alloc(1, sizeof *f, &f);
    if (status != QB_OK) return status;
    *f = (qb__joseph_flat){.device = device,
                           .views = p->views,
                           .rows = p->rows,
                           .columns = p->columns,
                           .n = {n[0], n[1], n[2]},
                           .tall = 8 * (size_t)steps,
                           .reach = shape.reach,
                           .most = most};
    QB__TRY(qb__flat_records_make(p, &f->records));
    QB__TRY(upload_records(f));
    QB__TRY(build(f, &shape, steps));
    QB__TRY(qb__memory_create(device, slab_floats(p, most.slices) * sizeof(float), &f->turned));
    QB__TRY(qb__memory_create(device, qb__larger(most.views * most.slices * p->columns, 1) * sizeof(float), &f->sums));
    *out = f;
out:
    if (status != QB_OK) qb__joseph_flat_destroy(f);
    return status;
}

void qb__joseph_flat_destroy(qb__joseph_flat *f) {
    if (!f) return;
    qb__memory *const memory[] = {f->courses, f->lengths, f->points, f->heights, f->spans, f->runs, f->turned, f->sums};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) qb__memory_destroy(memory[i]);
    qb__program_release(f->program);
    qb__flat_records_destroy(&f->records);
    qb__free(f);
}

/* ---- launches ---- */

#define LAUNCH(kernel, queue, args, ...)                                                                               \
    qb__kernel_launch(kernel, queue, (const size_t[3]){__VA_ARGS__}, (const size_t[3]){ITEMS, 1, 1}, args,             \
                      sizeof(args) / sizeof *(args))

static qb_status turn(qb__joseph_flat *f, qb__queue *queue, const qb__memory *slab) {
    const int32_t across = (int32_t)f->n[0] + 2 * EDGE, down = (int32_t)f->n[1] + 2 * EDGE;
    const int32_t line = (int32_t)f->most.slices;
    const qb__arg args[] = {QB__MEMORY(slab), QB__VALUES(across, down, line), QB__MEMORY(f->turned)};
    return LAUNCH(f->turn, queue, args, qb__ceil_div((size_t)across, TILE), qb__ceil_div((size_t)down, TILE),
                  f->most.slices);
}

qb_status qb__joseph_flat_forward(qb__joseph_flat *f, qb__queue *queue, const qb__memory *slab, size_t z0, size_t z1,
                                  size_t view0, size_t view1, qb__memory *rays) {
    const int32_t first = (int32_t)view0, views = (int32_t)(view1 - view0), columns = (int32_t)f->columns;
    const int32_t rows = (int32_t)f->rows, nx = (int32_t)f->n[0], ny = (int32_t)f->n[1], nz = (int32_t)f->n[2];
    const int32_t from = (int32_t)z0, slices = (int32_t)(z1 - z0), line = (int32_t)f->most.slices;
    const int32_t more = z0 > 0, last = z1 == f->n[2];
    const qb__arg lines[] = {QB__MEMORIES(slab, f->turned, f->courses, f->lengths, f->spans),
                             QB__VALUES(first, views, columns, nx, ny, nz, from, slices, line), QB__MEMORY(f->sums)};
    const qb__arg ends[] = {QB__MEMORIES(f->sums, f->lengths, f->heights),
                            QB__VALUES(first, columns, rows, from, slices, more, last), QB__MEMORY(rays)};
    QB__OR_RETURN(turn(f, queue, slab));
    QB__OR_RETURN(LAUNCH(f->forward, queue, lines, qb__ceil_div(f->columns * (z1 - z0), ACROSS),
                         qb__ceil_div(view1 - view0, ITEMS / ACROSS), 1));
    return LAUNCH(f->rows_kernel, queue, ends, qb__ceil_div(f->columns * f->rows, ITEMS), view1 - view0, 1);
}

qb_status qb__joseph_flat_adjoint(qb__joseph_flat *f, qb__queue *queue, const qb__memory *rays, size_t view0,
                                  size_t view1, qb__memory *slab, size_t y0, size_t y1, size_t z0, size_t z1,
                                  bool more) {
    const int32_t first = (int32_t)view0, columns = (int32_t)f->columns, rows = (int32_t)f->rows;
    const int32_t nx = (int32_t)f->n[0], ny = (int32_t)f->n[1], nz = (int32_t)f->n[2], from = (int32_t)z0;
    const int32_t slices = (int32_t)(z1 - z0), line = (int32_t)f->most.slices, add = more, end = (int32_t)y1;
    const int32_t tile_y = (int32_t)(y0 / f->tall), run0 = (int32_t)f->records.first_run[view0];
    const int32_t runs = (int32_t)f->records.first_run[view1] - run0;
    const qb__arg begin[] = {QB__MEMORIES(rays, f->lengths, f->heights, f->spans),
                             QB__VALUES(first, columns, rows, nz, from, slices), QB__MEMORY(f->sums)};
    const qb__arg back[] = {QB__MEMORIES(f->sums, f->courses, f->points, f->runs),
                            QB__VALUES(run0, runs, first, columns, slices, nx, ny, tile_y, end, line, f->reach),
                            QB__MEMORY(slab), QB__VALUE(add)};
    QB__OR_RETURN(LAUNCH(f->values, queue, begin, qb__ceil_div(f->columns, ITEMS), z1 - z0, view1 - view0));
    return LAUNCH(f->back, queue, back, qb__ceil_div(f->n[0], TILE), qb__ceil_div(y1, f->tall) - y0 / f->tall, z1 - z0);
}
