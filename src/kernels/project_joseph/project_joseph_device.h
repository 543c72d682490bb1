/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/variant.h"
#include "cpu/project_joseph/project_joseph.h"
#include "device/device.h"

/* Forward projection and its adjoint on devices (formula in cpu/project_joseph/project_joseph.h). Volumes and rays have
 * the kernels' own layout on the device (project_joseph.clh), with zeros around them: in this layout they can be added
 * and multiplied as vectors. Parts that to_lines, columns and the two directions do not write must be zeroed once.
 *
 * A volume may come in slabs, ascending, and rays in blocks of views that begin at a multiple of QB__JOSEPH_VIEWS:
 * neither changes the bits. All calls are asynchronous, in the order of the queue. */
enum { QB__JOSEPH_VIEWS = 32 };

typedef struct qb__joseph_plan qb__joseph_plan;

/* The largest slab and block of a plan. */
typedef struct qb__joseph_most {
    size_t slices, views;
} qb__joseph_most;

/* Parameter values of a row. */
typedef struct qb__joseph_device_variant {
    qb__variant head; /* unusable() and cost() take a qb__joseph_problem with its geometry and grid */
} qb__joseph_device_variant;

const qb__joseph_device_variant *qb__joseph_device_variants(size_t *count);

/* After a row and its values are chosen, before the calls below: set the layout of slabs and rays on the device. */
void qb__joseph_lay_out(qb__joseph_problem *problem, const int *values);

/* Bytes of a slab, and of a block of rays, in the kernels' layout; other bytes of a plan. */
size_t qb__joseph_slab_bytes(const qb__joseph_problem *problem, size_t slices);
size_t qb__joseph_block_bytes(const qb__joseph_problem *problem, size_t views);
size_t qb__joseph_plan_bytes(const qb__device *device, const qb__joseph_problem *problem, qb__joseph_most most,
                             const int *values);

/* True if such a slab has more floats than 32 bits can count, which needs a slower forward kernel. */
bool qb__joseph_is_wide(const qb__joseph_problem *problem, size_t slices);

/* Layout of a slab or block. Lines have `line` floats, of which `used` from float `front` on hold numbers. There are
 * across x down lines; `edge` lines at each end of both directions are empty. */
typedef struct qb__joseph_shape {
    int32_t line, front, used, across, down, edge;
} qb__joseph_shape;
/* The layout of the whole volume, or of the rays of all views. */
void qb__joseph_shape_of(const qb__joseph_problem *problem, bool volume, qb__joseph_shape *shape);

/* QB_UNSUPPORTED, with the reason, for a problem that unusable() accepts but that cannot be planned: for a curved
 * detector every ray must be checked. */
qb_status qb__joseph_plan_possible(const qb__joseph_problem *problem, const int *values);

/* Compile, and upload the rays. Geometry and grid are not needed afterwards. */
qb_status qb__joseph_plan_create(qb__device *device, const qb__joseph_problem *problem, qb__joseph_most most,
                                 const int *values, qb__joseph_plan **plan);
void qb__joseph_plan_destroy(qb__joseph_plan *plan); /* NULL-safe; finish its queues first */
/* Make every later call work on a batch of `members` volumes in one launch: volumes, slabs, and the rays of the call's
 * views lie one behind the other. Not for the slice-by-slice kernel, for textures, or for volumes of several slabs: see
 * qb__joseph_batches. Finish its queues first; QB_NO_MEMORY leaves the batch unchanged. */
qb_status qb__joseph_plan_batch(qb__joseph_plan *plan, size_t members);
bool qb__joseph_batches(const int *values);
/* Bytes of the plan per additional member, and the largest number of members of a launch. */
size_t qb__joseph_member_bytes(const qb__joseph_problem *problem);
size_t qb__joseph_members_most(const qb__joseph_problem *problem);

/* Convert plain[z - z0][y][x], float32 at `offset` bytes, to a slab. z0 > 0: the memory holds the `before` slices that
 * end there; the last of them stays in front. */
qb_status qb__joseph_to_lines(qb__joseph_plan *plan, qb__queue *queue, const qb__memory *plain, size_t offset,
                              size_t before, size_t z0, size_t z1, qb__memory *slab);
/* The inverse of qb__joseph_to_lines, times `scale`. */
qb_status qb__joseph_from_lines(qb__joseph_plan *plan, qb__queue *queue, const qb__memory *slab, size_t z0, size_t z1,
                                float scale, qb__memory *plain, size_t offset);
/* Convert images[view][row][column], float32 at `offset` bytes, to rays, and back. */
qb_status qb__joseph_columns(qb__joseph_plan *plan, qb__queue *queue, const qb__memory *images, size_t offset,
                             size_t views, qb__memory *rays);
/* qb__joseph_columns for views view0 <= v < view1, into rays that hold all views from 0 on. */
qb_status qb__joseph_columns_at(qb__joseph_plan *plan, qb__queue *queue, const qb__memory *images, size_t offset,
                                size_t view0, size_t view1, qb__memory *rays);
qb_status qb__joseph_images(qb__joseph_plan *plan, qb__queue *queue, const qb__memory *rays, size_t views,
                            qb__memory *images, size_t offset);

/* From now on columns, images and forward_images record for each image whether all its values are finite; reset the
 * record for `images` images. */
qb_status qb__joseph_watch(qb__joseph_plan *plan, qb__queue *queue, size_t images);
/* The next launches are for image `first` and the following ones. */
void qb__joseph_watch_from(qb__joseph_plan *plan, size_t first);
/* Number of images with non-finite values. Waits. */
qb_status qb__joseph_watched(qb__joseph_plan *plan, qb__queue *queue, size_t *odd);

/* Add the slab's part to the rays of views view0 <= v < view1; z0 > 0: to the sums of the slabs before. They are line
 * integrals after the last slab. */
qb_status qb__joseph_forward(qb__joseph_plan *plan, qb__queue *queue, const qb__memory *slab, size_t z0, size_t z1,
                             size_t view0, size_t view1, qb__memory *rays);
/* qb__joseph_forward of the whole volume in one slab, with qb__joseph_images: one pass less, the same bits. Only if
 * qb__joseph_is_direct: not slice by slice. */
bool qb__joseph_is_direct(const qb__joseph_plan *plan);
qb_status qb__joseph_forward_images(qb__joseph_plan *plan, qb__queue *queue, const qb__memory *slab, size_t view0,
                                    size_t view1, qb__memory *images, size_t offset);
/* slab = transpose of the rays or, with `more`, slab += transpose. */
qb_status qb__joseph_adjoint(qb__joseph_plan *plan, qb__queue *queue, const qb__memory *rays, size_t view0,
                             size_t view1, qb__memory *slab, size_t z0, size_t z1, bool more);
/* qb__joseph_adjoint only for lines y0 <= y < y1 of the volume, with the same bits. Both are multiples of
 * qb__joseph_lines_grain, or the end of the volume. */
qb_status qb__joseph_adjoint_lines(qb__joseph_plan *plan, qb__queue *queue, const qb__memory *rays, size_t view0,
                                   size_t view1, qb__memory *slab, size_t y0, size_t y1, bool more);
size_t qb__joseph_lines_grain(const int *values);
/* Number of slices, counted from 0, that the adjoint computes together: a slab with a part of them takes as long. */
size_t qb__joseph_tile_slices(const int *values);
/* Byte of the whole volume where line y begins; several lines are stored together. */
size_t qb__joseph_lines_at(const qb__joseph_problem *problem, size_t y);

/* ---- rays (project_joseph_records.c) ---- */

/* True if all columns of all views lie above one another, and no ray has z as its axis, in the grid's voxels. */
bool qb__joseph_is_vertical(const qb_geometry *geometry, const qb_grid *grid);

/* The rays in the form for the kernels; see project_joseph.clh for records. */
typedef struct qb__joseph_records {
    float *fans;          /* [view][column][16] for an upright geometry, else NULL */
    float *views;         /* [view][64]; NULL if fans are used in both directions */
    int32_t (*runs)[4];   /* columns of one axis: view of its block, first, count, step */
    size_t *first_run[2]; /* one list for each axis: first run of each block; [blocks] is the end */
    int32_t *axes;        /* [view]: bits of the axes that rays of the view may have */
    size_t blocks, block; /* number of blocks, and views in one */
    /* rows on either side of the nearest that touch a voxel; columns that touch a tile, at most */
    size_t reach, cap;
    /* floats of a column that a tile may read, and number of such columns; 0: too many for a copy */
    size_t window, staged;
} qb__joseph_records;

/* Voxels of a tile of the adjoint: across, along the rays, along z. */
typedef struct qb__joseph_tile {
    size_t lines, planes, slices;
} qb__joseph_tile;

qb_status qb__joseph_records_make(const qb__joseph_problem *problem, const qb__joseph_tile *tile,
                                  qb__joseph_records *records);
void qb__joseph_records_destroy(qb__joseph_records *records);
