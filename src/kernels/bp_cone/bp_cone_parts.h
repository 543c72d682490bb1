/* SPDX-License-Identifier: MIT */
#pragma once

#include "cpu/bp_cone/bp_cone.h"
#include "device/device.h"
#include "kernels/macros.h"

/* Functions that the families of cone-beam kernels share. */

/* Upload matrices in the kernels' form (bp_cone_sums.clh): each number as two floats, with twice the digits. The caller
 * releases the memory. */
size_t qb__cone_matrices_bytes(size_t views);
qb_status qb__cone_matrices_upload(qb__device *device, const double (*matrix)[12], size_t views, qb__memory **memory);

/* Replace the first `views` of them; waits for the queue. */
qb_status qb__cone_matrices_replace(qb__queue *queue, const double (*matrix)[12], size_t views, qb__memory *memory);

/* Build the kernel `name` of the source NAME.cl. The caller releases the program, also after a failure. */
qb_status qb__cone_build(qb__device *device, const char *name, const qb__macros *macros, qb__program **program,
                         qb__kernel **kernel);

/* Rows as given to a variant's pack(): row r0 + r of the window of view i begins at offset + 4 * (i * view_stride + r *
 * row_stride) bytes. */
typedef struct qb__cone_images {
    const qb__memory *rows;
    size_t offset, view_stride, row_stride, columns;
    qb__bp_cone_window window;
    size_t views;
} qb__cone_images;

/* bp_cone_pack.cl: make images of height x pitch pixels. */
qb_status qb__cone_pack(qb__kernel *kernel, qb__queue *queue, const qb__cone_images *images, int32_t pitch,
                        int32_t height, qb__memory *packed);

/* Copy host numbers to new device memory. */
qb_status qb__cone_upload(qb__device *device, const void *numbers, size_t bytes, qb__memory **memory);

/* The condition for one fetch to serve several voxels (bp_cone_circular.cl), checked on the matrices. */
typedef struct qb__cone_turns {
    bool mirrored;
    int twice_row, twice_z; /* mirrored: sums of the numbers of two mirrored rows, and of two mirrored slices */
    bool falling;           /* row numbers decrease as z grows */
    bool back;              /* quarter turns: with increasing view number, views turn from y to x */
} qb__cone_turns;

/* NULL if the orbit is a circle on which view v + views / turns sees the grid as view v sees it rotated by 360 / turns
 * degrees (turns 1, 2 or 4), and if rows are mirrored when `mirror` asks for it; else the reason in a few words. */
const char *qb__cone_turns_of(const qb__bp_cone_problem *problem, int turns, bool mirror, qb__cone_turns *out);
