/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/memory.h"
#include "bp_parallel_device.h"
#include "bp_parallel_pack.h"

/* The common part of the families texture, alu, hybrid and direct: sinograms packed in groups of slices,
 * [group][view][column][slice of the group], as float or half; the views' lines in fixed point; the plan that holds
 * them. */

/* The kernels' macro INTERP, also a parameter in tuning files: 0 linear, 1 nearest, 2 oversample. */
#define QB__INTERP_CODE(interp) ((int)(interp) - (int)QB_INTERP_LINEAR)
#define QB__INTERP_OF(code) ((qb_interp)((int)QB_INTERP_LINEAR + (code)))

enum {
    QB__LINES_PADDING = 256 /* the table of views is padded with zeros to a multiple of this */
};

/* A view in the kernels' fixed point, 32 fraction bits: column of pixel (0,0), step in x and in y, and (arithmetic
 * family) how far an area reaches below its corner. */
typedef struct qb__fixed_line {
    int64_t a, b, c, low;
} qb__fixed_line;

struct qb__bp_parallel_plan {
    qb__device *device;
    qb__bp_parallel_problem problem;
    unsigned slices; /* slices of the largest pass */
    unsigned group;  /* slices that are stored together */
    bool half;
    qb_interp interp;
    qb__pack pack;
    qb__program *program;
    qb__kernel *kernel;
    qb__memory *lines;    /* lines of the views, in the kernel's form */
    qb__memory *counters; /* used by the hybrid family */
    qb__texture *texture; /* texture with the groups of slices */
    size_t texture_groups;
    /* Constants passed with the launches, `chunk` views each: in host memory, or as device memory. */
    void *host_lines;
    size_t line_bytes, chunk;
    qb__memory **chunks;
    size_t area, height, threads; /* pixels of a group's area, and its items */
    int values[QB__PARAMETERS_MAX];
};

/* Computed updates per wanted update: the last group of a pass may be partly empty. */
static inline double qb__layout_waste(unsigned slices, unsigned group) {
    return slices ? (double)(qb__ceil_div(slices, group) * group) / slices : 1.0;
}
void qb__cost_scale(qb__kernel_cost *cost, double factor);

/* A plan with the programs for packing and the main program, whose kernel is `entry` in `source`. After a failure
 * nothing is left. */
qb_status qb__layout_plan(qb__device *device, const qb__bp_parallel_problem *problem, unsigned slices, unsigned group,
                          bool half, qb_interp interp, const char *source, const char *entry, const char *const *macros,
                          qb__bp_parallel_plan **plan);
void qb__layout_destroy(qb__bp_parallel_plan *plan);

/* packed_bytes() and pack() of the interface. */
size_t qb__layout_bytes(const qb__bp_parallel_problem *problem, unsigned slices, unsigned group, bool half);
qb_status qb__layout_pack(qb__bp_parallel_plan *plan, qb__queue *queue, const qb__memory *rows, size_t offset,
                          size_t view_stride, size_t slice_stride, size_t view0, size_t view1, unsigned slices,
                          qb__memory *packed);
/* Index in floats of the packed memory where the inverse scales of half floats are. */
uint64_t qb__layout_undo_at(const qb__bp_parallel_plan *plan, unsigned slices);
/* Device bytes for plan_bytes() of the interface: of the lines below, of a texture for `slices`. */
size_t qb__layout_lines_bytes(const qb__bp_parallel_problem *problem);
size_t qb__layout_texture_bytes(const qb__device *device, const qb__bp_parallel_problem *problem, unsigned slices,
                                unsigned group, bool half);
/* When planning, create the texture of full passes, so that a lack of memory shows before anything runs. */
qb_status qb__layout_reserve_texture(qb__bp_parallel_plan *plan);
/* Load the texture of a pass from `packed`. */
qb_status qb__layout_texture(qb__bp_parallel_plan *plan, qb__queue *queue, const qb__memory *packed, unsigned slices,
                             qb__texture **texture);

/* The views' lines, padded with zeros to a multiple of 256: unless interpolation is linear, half a column is added;
 * oversampled lines count samples. `area`: pixels per side, for `low`. Release with qb__free. */
qb_status qb__layout_lines(const qb__bp_parallel_problem *problem, qb_interp interp, size_t area,
                           qb__fixed_line **lines, size_t *count);
/* Make these lines on the device, for the plan's interpolation and area. After a failure the plan is destroyed. */
qb_status qb__layout_take_lines(qb__bp_parallel_plan **plan);
/* New device memory with `bytes` from the host, complete on return. */
qb_status qb__layout_upload(qb__device *device, const void *host, size_t bytes, qb__memory **memory);

/* Reasons that are common to unusable() of these families. */
const char *qb__layout_unusable(const qb__device_info *device, const qb__bp_parallel_problem *problem, bool half);
const char *qb__layout_no_texture(const qb__device_info *device, const qb__bp_parallel_problem *problem);
/* True if single precision holds coordinates relative to the image's centre to 2e-3 columns. */
bool qb__layout_float_coordinates(const qb__bp_parallel_problem *problem);

/* Declares the functions of a row in a family with this layout, under the names that its file gives them. */
#define LAYOUT_CALLS                                                                                                   \
    .packed_bytes = packed_bytes, .plan_bytes = plan_bytes, .plan = make_plan, .pack = qb__layout_pack, .run = run,    \
    .destroy = qb__layout_destroy

/* The rows of the families. */
typedef struct qb__bp_parallel_rows {
    const qb__bp_parallel_device_variant *rows;
    size_t count;
} qb__bp_parallel_rows;
extern const qb__bp_parallel_rows qb__bp_parallel_texture_rows, qb__bp_parallel_alu_rows, qb__bp_parallel_hybrid_rows,
    qb__bp_parallel_direct_rows, qb__bp_parallel_tensor_rows;
