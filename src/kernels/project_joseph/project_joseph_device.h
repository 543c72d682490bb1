/* SPDX-License-Identifier: MIT */
#ifndef QB_KERNELS_PROJECT_JOSEPH_PROJECT_JOSEPH_DEVICE_H
#define QB_KERNELS_PROJECT_JOSEPH_PROJECT_JOSEPH_DEVICE_H

#include "base/variant.h"
#include "cpu/project_joseph/project_joseph.h"
#include "device/device.h"

/* Forward projection and its adjoint on devices; the mathematics stand in
 * cpu/project_joseph/project_joseph.h. Volumes and rays keep the kernels' own order on the device
 * (project_joseph.clh), with zeros around them: vectors of it add and multiply like any others. What to_lines,
 * columns and the two directions do not write must be zero, once.
 *
 * A volume may come in slabs, rising, and rays in blocks of views, which begin at a multiple of
 * QB__JOSEPH_VIEWS: neither changes a bit. Everything is asynchronous, in the order of the queue. */
enum { QB__JOSEPH_VIEWS = 32 };

typedef struct qb__joseph_plan qb__joseph_plan;

/* The largest slab and block that a plan is made for. */
typedef struct qb__joseph_most {
    size_t slices, views;
} qb__joseph_most;

/* Values are what the row's parameters have. */
typedef struct qb__joseph_device_variant {
    qb__variant head; /* unusable() and cost() take a qb__joseph_problem with its geometry and grid */
} qb__joseph_device_variant;

const qb__joseph_device_variant *qb__joseph_device_variants(size_t *count);

/* Once a row and its values are chosen, before anything below: how slabs and rays lie on the device. */
void qb__joseph_lay_out(qb__joseph_problem *problem, const int *values);

/* Bytes of a slab and of a block of rays as the kernels keep them; of what a plan holds besides. */
size_t qb__joseph_slab_bytes(const qb__joseph_problem *problem, size_t slices);
size_t qb__joseph_block_bytes(const qb__joseph_problem *problem, size_t views);
size_t qb__joseph_plan_bytes(const qb__device *device, const qb__joseph_problem *problem, qb__joseph_most most,
                             const int *values);

/* Whether such a slab has more floats than 32 bits count, for which the forward kernel is another, slower one. */
bool qb__joseph_is_wide(const qb__joseph_problem *problem, size_t slices);

/* Where numbers stand in a slab or a block: `used` of them from float `front` of lines of `line` on, in lines
 * across x down, of which `edge` at each end of both directions hold none. */
typedef struct qb__joseph_shape {
    int32_t line, front, used, across, down, edge;
} qb__joseph_shape;
/* Bytes for the whole volume, or for all views. */
void qb__joseph_shape_of(const qb__joseph_problem *problem, bool volume, qb__joseph_shape *shape);

/* QB_UNSUPPORTED, with the reason, where no plan can be made of a problem that unusable() lets pass: of a bent detector it takes
 * looking at every ray. */
qb_status qb__joseph_plan_possible(const qb__joseph_problem *problem, const int *values);

/* Compiles, and uploads where the rays run. Geometry and grid are not needed afterwards. */
qb_status qb__joseph_plan_create(qb__device *device, const qb__joseph_problem *problem, qb__joseph_most most,
                                 const int *values, qb__joseph_plan **plan);
void qb__joseph_plan_destroy(qb__joseph_plan *plan); /* NULL-safe; finish its queues first */
/* From now on every call below does the same for a batch of `members` volumes, in one launch: volumes, slabs, and the rays of the
 * views of that call lie one behind the other. Not for slices one by one, nor by texture, nor for volumes in several slabs:
 * qb__joseph_batches. Finish its queues first; QB_NO_MEMORY leaves the batch as it was. */
qb_status qb__joseph_plan_batch(qb__joseph_plan *plan, size_t members);
bool qb__joseph_batches(const int *values);
/* Bytes that a member more takes of the plan, and how many a launch can take. */
size_t qb__joseph_member_bytes(const qb__joseph_problem *problem);
size_t qb__joseph_members_most(const qb__joseph_problem *problem);

/* plain[z - z0][y][x], float32 at `offset` bytes -> slab. z0 > 0: the memory holds the `before` slices that end
 * there, whose last one stays in front. */
qb_status qb__joseph_to_lines(qb__joseph_plan *plan, qb__queue *queue, const qb__memory *plain, size_t offset,
                              size_t before, size_t z0, size_t z1, qb__memory *slab);
/* The inverse of qb__joseph_to_lines, times `scale`. */
qb_status qb__joseph_from_lines(qb__joseph_plan *plan, qb__queue *queue, const qb__memory *slab, size_t z0, size_t z1,
                                float scale, qb__memory *plain, size_t offset);
/* images[view][row][column], float32 at `offset` bytes -> rays, and back. */
qb_status qb__joseph_columns(qb__joseph_plan *plan, qb__queue *queue, const qb__memory *images, size_t offset,
                             size_t views, qb__memory *rays);
/* qb__joseph_columns for views view0 <= v < view1, into rays that hold all views from 0 on. */
qb_status qb__joseph_columns_at(qb__joseph_plan *plan, qb__queue *queue, const qb__memory *images, size_t offset,
                                size_t view0, size_t view1, qb__memory *rays);
qb_status qb__joseph_images(qb__joseph_plan *plan, qb__queue *queue, const qb__memory *rays, size_t views,
                            qb__memory *images, size_t offset);

/* From now on columns, images and forward_images note, of each image, whether all its numbers are finite; forget what was noted, of `images` in all. */
qb_status qb__joseph_watch(qb__joseph_plan *plan, qb__queue *queue, size_t images);
/* The next launches are of image `first` and those behind it. */
void qb__joseph_watch_from(qb__joseph_plan *plan, size_t first);
/* How many are not. Waits. */
qb_status qb__joseph_watched(qb__joseph_plan *plan, qb__queue *queue, size_t *odd);

/* rays of views view0 <= v < view1: the slab's part, added to what the slabs before it left, if there were
 * any (z0 > 0). They are line integrals once the last slab has passed. */
qb_status qb__joseph_forward(qb__joseph_plan *plan, qb__queue *queue, const qb__memory *slab, size_t z0, size_t z1,
                             size_t view0, size_t view1, qb__memory *rays);
/* qb__joseph_forward of the whole volume in one slab, and qb__joseph_images of it: one pass less, the same bits. Where
 * qb__joseph_is_direct: not slice by slice. */
bool qb__joseph_is_direct(const qb__joseph_plan *plan);
qb_status qb__joseph_forward_images(qb__joseph_plan *plan, qb__queue *queue, const qb__memory *slab, size_t view0,
                                    size_t view1, qb__memory *images, size_t offset);
/* slab = the transpose of the rays, or, with `more`, slab += that. */
qb_status qb__joseph_adjoint(qb__joseph_plan *plan, qb__queue *queue, const qb__memory *rays, size_t view0,
                             size_t view1, qb__memory *slab, size_t z0, size_t z1, bool more);
/* qb__joseph_adjoint for lines y0 <= y < y1 of the volume only, with the same bits. Both are multiples of qb__joseph_lines_grain, or the end of the volume. */
qb_status qb__joseph_adjoint_lines(qb__joseph_plan *plan, qb__queue *queue, const qb__memory *rays, size_t view0,
                                   size_t view1, qb__memory *slab, size_t y0, size_t y1, bool more);
size_t qb__joseph_lines_grain(const int *values);
/* Slices from 0 on that the adjoint takes together: a slab with a part of them takes as long. */
size_t qb__joseph_tile_slices(const int *values);
/* Byte of the whole volume with which line y begins: those of several lie together. */
size_t qb__joseph_lines_at(const qb__joseph_problem *problem, size_t y);

/* ---- where the rays run (project_joseph_records.c) ---- */

/* Whether all columns of all views stay above one another, and no ray has z as its axis, counted in the grid's voxels. */
bool qb__joseph_is_vertical(const qb_geometry *geometry, const qb_grid *grid);

/* What the kernels know of the rays: project_joseph.clh says what is in a record. */
typedef struct qb__joseph_records {
    float *fans;           /* [view][column][16] of an upright geometry, else NULL */
    float *views;          /* [view][64]; NULL where fans serve both ways */
    int32_t (*runs)[4];    /* columns of one axis: view of its block, first, count, step */
    size_t *first_run[2];  /* by axis: [block]; [blocks] is the end */
    int32_t *axes;         /* [view]: bits of the axes that rays of the view may have */
    size_t blocks;         /* of QB__JOSEPH_VIEWS views */
    size_t reach, cap;     /* rows beside the nearest that touch a voxel; columns that touch a tile, at most */
    size_t window, staged; /* floats of a column that a tile may read, of so many columns; 0: too many to keep */
} qb__joseph_records;

/* Voxels of a tile of the adjoint: beside each other, along the rays, along z. */
typedef struct qb__joseph_tile {
    size_t lines, planes, slices;
} qb__joseph_tile;

qb_status qb__joseph_records_make(const qb__joseph_problem *problem, const qb__joseph_tile *tile,
                                  qb__joseph_records *records);
void qb__joseph_records_destroy(qb__joseph_records *records);

#endif
