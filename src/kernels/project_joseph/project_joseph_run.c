/* SPDX-License-Identifier: MIT */
/* Launches of the projection on devices; kernels in project_joseph_*.cl. */
#include <string.h>

#include "base/status.h"
#include "kernels/project_joseph/project_joseph_parts.h"

/* ---- layouts ---- */

#define LAUNCH(kernel, queue, items, args, ...)                                                                        \
    qb__kernel_launch(kernel, queue, (const size_t[3]){__VA_ARGS__}, (const size_t[3]){items, 1, 1}, args,             \
                      sizeof(args) / sizeof *(args))

qb_status qb__joseph_to_lines(qb__joseph_plan *plan, qb__queue *queue, const qb__memory *plain, size_t offset,
                              size_t before, size_t z0, size_t z1, qb__memory *slab) {
    const uint64_t plain_at = offset / sizeof(float);
    const int32_t nx = (int32_t)plan->n[0], ny = (int32_t)plan->n[1], slices = (int32_t)(z1 - z0);
    const int32_t line = (int32_t)qb__joseph_line(plan->flat, plan->most.slices);
    const int32_t carry = z0 > 0 && !plan->flat ? (int32_t)(FRONT + before - 1) : 0;
    const qb__arg args[] = {QB__MEMORY(plain), QB__VALUES(plain_at, nx, ny, slices, line, carry), QB__MEMORY(slab)};
    return LAUNCH(plan->pack, queue, ITEMS, args, qb__ceil_div(plan->n[0] + 2 * EDGE, TILE), plan->n[1] + 2 * EDGE,
                  plan->members);
}

qb_status qb__joseph_from_lines(qb__joseph_plan *plan, qb__queue *queue, const qb__memory *slab, size_t z0, size_t z1,
                                float scale, qb__memory *plain, size_t offset) {
    const uint64_t plain_at = offset / sizeof(float);
    const int32_t nx = (int32_t)plan->n[0], ny = (int32_t)plan->n[1], slices = (int32_t)(z1 - z0);
    const int32_t line = (int32_t)qb__joseph_line(plan->flat, plan->most.slices);
    const qb__arg args[] = {QB__MEMORY(slab), QB__VALUES(nx, ny, slices, line, scale), QB__MEMORY(plain),
                            QB__VALUE(plain_at)};
    return LAUNCH(plan->unpack, queue, ITEMS, args, qb__ceil_div(plan->n[0], TILE), plan->n[1],
                  qb__ceil_div(z1 - z0, TILE) * plan->members);
}

qb_status qb__joseph_columns(qb__joseph_plan *plan, qb__queue *queue, const qb__memory *images, size_t offset,
                             size_t views, qb__memory *rays) {
    return qb__joseph_columns_at(plan, queue, images, offset, 0, views, rays);
}

qb_status qb__joseph_columns_at(qb__joseph_plan *plan, qb__queue *queue, const qb__memory *images, size_t offset,
                                size_t view0, size_t view1, qb__memory *rays) {
    const uint64_t rays_at = view0 * plan->columns * qb__joseph_stride(plan->flat, plan->rows);
    const uint64_t images_at = offset / sizeof(float);
    const int32_t rows = (int32_t)plan->rows, columns = (int32_t)plan->columns;
    const int32_t stride = (int32_t)qb__joseph_stride(plan->flat, plan->rows);
    const qb__arg args[] = {QB__MEMORY(images),    QB__VALUES(images_at, rows, columns, stride),
                            QB__MEMORY(rays),      QB__VALUE(rays_at),
                            QB__MEMORY(plan->odd), QB__VALUE(plan->odd_at)};
    return LAUNCH(plan->columns_kernel, queue, ITEMS, args, qb__ceil_div(plan->columns, TILE),
                  qb__ceil_div((size_t)stride, TILE), view1 - view0);
}

qb_status qb__joseph_images(qb__joseph_plan *plan, qb__queue *queue, const qb__memory *rays, size_t views,
                            qb__memory *images, size_t offset) {
    const uint64_t images_at = offset / sizeof(float);
    const int32_t rows = (int32_t)plan->rows, columns = (int32_t)plan->columns;
    const int32_t stride = (int32_t)qb__joseph_stride(plan->flat, plan->rows);
    const qb__arg args[] = {QB__MEMORY(rays),      QB__VALUES(rows, columns, stride),
                            QB__MEMORY(images),    QB__VALUE(images_at),
                            QB__MEMORY(plan->odd), QB__VALUE(plan->odd_at)};
    return LAUNCH(plan->images, queue, ITEMS, args, qb__ceil_div(plan->columns, TILE), qb__ceil_div(plan->rows, TILE),
                  views * plan->members);
}

/* ---- forward ---- */

static qb_status load_textures(qb__joseph_plan *plan, qb__queue *queue, const qb__memory *slab) {
    const int32_t across = (int32_t)plan->n[0] + 2 * EDGE, down = (int32_t)plan->n[1] + 2 * EDGE;
    const int32_t line = (int32_t)qb__joseph_line(plan->flat, plan->most.slices);
    const qb__arg args[] = {QB__MEMORY(slab), QB__VALUES(across, down, line), QB__MEMORY(plan->turned)};
    QB__OR_RETURN(LAUNCH(plan->turn, queue, ITEMS, args, (size_t)across, (size_t)down, 1));
    QB__OR_RETURN(qb__texture_load(queue, plan->texture[0], plan->turned, 0));
    return qb__texture_load(queue, plan->texture[1], slab, 0);
}

/* Destination of sums: offset of the first, and distances of views, columns and rows, in floats. */
typedef struct target {
    qb__memory *memory;
    uint64_t at, apart;
    int32_t across, down, odd_at;
} target;

static qb_status forward(qb__joseph_plan *plan, qb__queue *queue, const qb__memory *slab, size_t z0, size_t z1,
                         size_t view0, size_t view1, const target *to_sums) {
    const int *v = plan->values;
    const int32_t first = (int32_t)view0, views = (int32_t)(view1 - view0), columns = (int32_t)plan->columns;
    const int32_t rows = (int32_t)plan->rows, nx = (int32_t)plan->n[0], ny = (int32_t)plan->n[1];
    const int32_t nz = (int32_t)plan->n[2], from = (int32_t)z0, to = (int32_t)z1, more = z0 > 0;
    const int32_t line = (int32_t)qb__joseph_line(plan->flat, plan->most.slices);
    const float vx = plan->voxel[0], vy = plan->voxel[1], vz = plan->voxel[2];
    const bool textured = v[TEXTURED];
    qb__arg args[24];
    int n = 0;
    if (textured) {
        QB__OR_RETURN(load_textures(plan, queue, slab));
        args[n++] = QB__TEXTURE(plan->texture[0]);
        args[n++] = QB__TEXTURE(plan->texture[1]);
    } else {
        args[n++] = QB__MEMORY(slab);
    }
    const qb__arg rest[] = {QB__MEMORY(plan->vertical ? plan->fans : plan->view_records),
                            QB__VALUES(first, views, columns, rows, nx, ny, nz, from, to, line),
                            QB__MEMORY(to_sums->memory),
                            QB__VALUES(to_sums->at, to_sums->apart, to_sums->across, to_sums->down, vx, vy, vz, more),
                            QB__MEMORY(plan->odd),
                            QB__VALUE(to_sums->odd_at)};
    memcpy(args + n, rest, sizeof rest);
    n += (int)(sizeof rest / sizeof *rest);
    const size_t tall = 32 * (size_t)(plan->vertical ? v[RAYS] : 1);
    const size_t groups[3] = {qb__ceil_div(plan->columns, (size_t)v[COLUMNS]),
                              qb__ceil_div(view1 - view0, (size_t)v[VIEWS]),
                              qb__ceil_div(plan->rows, tall) * plan->members};
    const size_t items[3] = {(size_t)(32 * v[COLUMNS] * v[VIEWS]), 1, 1};
    return qb__kernel_launch(plan->forward_kernel, queue, groups, items, args, (size_t)n);
}

qb_status qb__joseph_forward(qb__joseph_plan *plan, qb__queue *queue, const qb__memory *slab, size_t z0, size_t z1,
                             size_t view0, size_t view1, qb__memory *rays) {
    if (plan->flat) return qb__joseph_flat_forward(plan->flat, queue, slab, z0, z1, view0, view1, rays);
    const size_t stride = qb__joseph_stride(false, plan->rows);
    const target to = {rays, FRONT, plan->columns * stride, (int32_t)stride, 1, -1};
    return forward(plan, queue, slab, z0, z1, view0, view1, &to);
}

bool qb__joseph_is_direct(const qb__joseph_plan *plan) { return !plan->flat; }

qb_status qb__joseph_forward_images(qb__joseph_plan *plan, qb__queue *queue, const qb__memory *slab, size_t view0,
                                    size_t view1, qb__memory *images, size_t offset) {
    const target to = {images, offset / sizeof(float), plan->rows * plan->columns,
                       1,      (int32_t)plan->columns, plan->odd_at};
    return forward(plan, queue, slab, 0, plan->n[2], view0, view1, &to);
}

/* ---- the adjoint ---- */

static qb_status scale(qb__joseph_plan *plan, qb__queue *queue, const qb__memory *rays, uint64_t rays_at,
                       uint64_t rays_apart, size_t view0, size_t count, uint64_t copy_floats) {
    const int32_t first = (int32_t)view0, rows = (int32_t)plan->rows, columns = (int32_t)plan->columns;
    const int32_t stride = (int32_t)qb__joseph_stride(plan->flat, plan->rows), views = (int32_t)count;
    const uint64_t out_apart = (uint64_t)plan->copies * copy_floats;
    const float vx = plan->voxel[0], vy = plan->voxel[1], vz = plan->voxel[2];
    const bool gathers = plan->records.views != NULL;
    const qb__arg args[] = {QB__MEMORY(rays),
                            QB__VALUE(rays_at),
                            QB__MEMORY(gathers ? plan->view_records : plan->fans),
                            QB__VALUES(first, views, rays_apart, out_apart, rows, columns, stride, plan->copy[0],
                                       plan->copy[1], plan->copy[2], copy_floats, vx),
                            QB__VALUES(vy, vz),
                            QB__MEMORY(plan->scaled)};
    return LAUNCH(plan->scale_kernel, queue, ITEMS, args, qb__ceil_div((size_t)stride, ITEMS), plan->columns,
                  count * plan->members);
}

/* Voxels y0 <= y < y1, z0 <= z < z1, and all along x. */
typedef struct box {
    size_t y0, y1, z0, z1;
} box;

static uint64_t slab_floats(const qb__joseph_plan *plan) {
    return (uint64_t)(plan->n[0] + 2 * EDGE) * (plan->n[1] + 2 * EDGE) * qb__joseph_line(plan->flat, plan->most.slices);
}

/* `layers` tiles along z from voxel `bottom` on. */
typedef struct tower {
    qb__kernel *kernel;
    size_t bottom, layers;
} tower;

/* The runs of one axis of a block, for some tiles. */
static qb_status add_tiles(qb__joseph_plan *plan, qb__queue *queue, size_t block, int axis, uint64_t copy_floats,
                           qb__memory *slab, const box *b, const tower *t, bool more) {
    const size_t first = plan->records.first_run[axis][block];
    const size_t end = axis == 0 ? plan->records.first_run[1][block] : plan->records.first_run[0][block + 1];
    const int32_t first_view = (int32_t)(block * plan->records.block), run0 = (int32_t)first;
    const int32_t runs = (int32_t)(end - first), columns = (int32_t)plan->columns, rows = (int32_t)plan->rows;
    const int32_t stride = (int32_t)qb__joseph_stride(plan->flat, plan->rows),
                  line = (int32_t)qb__joseph_line(plan->flat, plan->most.slices);
    const int32_t step_y = line * (int32_t)(plan->n[0] + 2 * EDGE);
    const size_t y0 = b->y0;
    const size_t line0 = axis == 0 ? y0 / (size_t)plan->values[LINES] : 0, plane0 = axis == 0 ? 0 : y0 / PLANES;
    const int32_t tile_line = (int32_t)line0, tile_plane = (int32_t)plane0;
    const int32_t lines = (int32_t)(axis == 0 ? b->y1 : plan->n[0]), planes = (int32_t)(axis == 0 ? plan->n[0] : b->y1);
    const int32_t line_step = axis == 0 ? step_y : line, plane_step = axis == 0 ? line : step_y;
    const int32_t from = (int32_t)b->z0, to = (int32_t)b->z1, start = EDGE * step_y + EDGE * line + FRONT;
    const int32_t bottom = (int32_t)t->bottom, layers = (int32_t)t->layers;
    const int32_t add = more, longest = columns + 1;
    const uint64_t rays_apart = (uint64_t)plan->copies * copy_floats, slab_apart = slab_floats(plan);
    const qb__arg args[] = {QB__MEMORIES(plan->scaled, plan->fans),
                            QB__VALUE(first_view),
                            QB__MEMORY(plan->runs),
                            QB__VALUES(run0, runs, longest, columns, rows, stride, tile_line, lines, tile_plane, planes,
                                       line_step, plane_step),
                            QB__VALUES(from, to, bottom, layers, start),
                            QB__MEMORY(slab),
                            QB__VALUES(add, rays_apart, slab_apart)};
    if (runs == 0 && more) return QB_OK;
    return LAUNCH(t->kernel, queue, ITEMS, args, qb__ceil_div((size_t)lines, (size_t)plan->values[LINES]) - line0,
                  qb__ceil_div((size_t)planes, PLANES) - plane0, t->layers * plan->members);
}

static qb_status add_axis(qb__joseph_plan *plan, qb__queue *queue, size_t block, int axis, uint64_t copy_floats,
                          qb__memory *slab, const box *b, bool more) {
    const size_t tall = qb__joseph_tile_slices(plan->values), last = plan->tiles.last;
    const size_t first = b->z0 / tall, end = qb__ceil_div(qb__smaller(b->z1, last), tall);
    const tower alike = {plan->back_kernel, first * tall, end - first}, top = {plan->last_kernel, last, 1};
    if (b->z0 < last) QB__OR_RETURN(add_tiles(plan, queue, block, axis, copy_floats, slab, b, &alike, more));
    if (b->z1 > last) return add_tiles(plan, queue, block, axis, copy_floats, slab, b, &top, more);
    return QB_OK;
}

static qb_status gather(qb__joseph_plan *plan, qb__queue *queue, size_t view0, size_t count, uint64_t copy_floats,
                        qb__memory *slab, const box *b, bool more) {
    const int32_t first = (int32_t)view0, views = (int32_t)count, cone = plan->cone;
    const int32_t columns = (int32_t)plan->columns, rows = (int32_t)plan->rows;
    const int32_t stride = (int32_t)qb__joseph_stride(plan->flat, plan->rows),
                  line = (int32_t)qb__joseph_line(plan->flat, plan->most.slices);
    const int32_t nx = (int32_t)plan->n[0], y0 = (int32_t)b->y0, from = (int32_t)b->z0, to = (int32_t)b->z1;
    const int32_t add = more;
    const uint64_t rays_apart = (uint64_t)plan->copies * copy_floats, slab_apart = slab_floats(plan);
    const qb__arg args[] = {QB__MEMORIES(plan->scaled, plan->view_records),
                            QB__VALUES(first, views),
                            QB__MEMORY(plan->axes),
                            QB__VALUES(cone, columns, rows, stride, plan->copy[0], plan->copy[1], plan->copy[2],
                                       copy_floats, nx, y0, from, to),
                            QB__VALUE(line),
                            QB__MEMORY(slab),
                            QB__VALUES(add, rays_apart, slab_apart)};
    return LAUNCH(plan->back_kernel, queue, ITEMS, args, qb__ceil_div(plan->n[0], GATHER_X), b->y1 - b->y0,
                  (qb__ceil_div(b->z1, GATHER_Z) - b->z0 / GATHER_Z) * plan->members);
}

static qb_status back(qb__joseph_plan *plan, qb__queue *queue, const qb__memory *rays, size_t view0, size_t view1,
                      qb__memory *slab, const box *b, bool more) {
    if (plan->flat)
        return qb__joseph_flat_adjoint(plan->flat, queue, rays, view0, view1, slab, b->y0, b->y1, b->z0, b->z1, more);
    const uint64_t view_floats = plan->columns * qb__joseph_stride(plan->flat, plan->rows);
    const uint64_t copy_floats = qb__smaller(QB__JOSEPH_VIEWS, plan->views) * view_floats;
    const size_t most = plan->records.block;
    if (view0 % most) return qb__fail(QB_INTERNAL, "a block of views from %zu", view0);
    for (size_t view = view0; view < view1; view += most, more = true) {
        const size_t count = qb__smaller(most, view1 - view), block = view / most;
        QB__OR_RETURN(scale(plan, queue, rays, (view - view0) * view_floats, (view1 - view0) * view_floats, view, count,
                            copy_floats));
        if (plan->records.views) {
            QB__OR_RETURN(gather(plan, queue, view, count, copy_floats, slab, b, more));
            continue;
        }
        QB__OR_RETURN(add_axis(plan, queue, block, 0, copy_floats, slab, b, more));
        QB__OR_RETURN(add_axis(plan, queue, block, 1, copy_floats, slab, b, true));
    }
    return QB_OK;
}

qb_status qb__joseph_adjoint(qb__joseph_plan *plan, qb__queue *queue, const qb__memory *rays, size_t view0,
                             size_t view1, qb__memory *slab, size_t z0, size_t z1, bool more) {
    return back(plan, queue, rays, view0, view1, slab, &(box){0, plan->n[1], z0, z1}, more);
}

size_t qb__joseph_tile_slices(const int *values) { return values[TEXTURED] == FLAT ? 1 : 32 * (size_t)values[STEPS]; }

size_t qb__joseph_lines_grain(const int *values) {
    size_t grain = PLANES;
    if (values[TEXTURED] == FLAT) return 8 * (size_t)values[FLAT_STEPS];
    while (grain % (size_t)values[LINES]) grain += PLANES;
    return grain;
}

qb_status qb__joseph_adjoint_lines(qb__joseph_plan *plan, qb__queue *queue, const qb__memory *rays, size_t view0,
                                   size_t view1, qb__memory *slab, size_t y0, size_t y1, bool more) {
    if (y0 % qb__joseph_lines_grain(plan->values)) return qb__fail(QB_INTERNAL, "lines from %zu", y0);
    return back(plan, queue, rays, view0, view1, slab, &(box){y0, y1, 0, plan->n[2]}, more);
}
