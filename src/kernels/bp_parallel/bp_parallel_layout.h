/* SPDX-License-Identifier: MIT */
#ifndef QB_KERNELS_BP_PARALLEL_BP_PARALLEL_LAYOUT_H
#define QB_KERNELS_BP_PARALLEL_BP_PARALLEL_LAYOUT_H

#include "base/memory.h"
#include "bp_parallel_device.h"
#include "bp_parallel_pack.h"

/* What the families texture, alu, hybrid and direct share: sinograms packed in groups of slices,
 * [group][view][column][slice of the group] as float or half; the views' lines in fixed point; the
 * plan that holds them. */

/* The kernels' macro INTERP, also a parameter in tuning files: 0 linear, 1 nearest, 2 oversample. */
#define QB__INTERP_CODE(interp) ((int)(interp) - (int)QB_INTERP_LINEAR)
#define QB__INTERP_OF(code) ((qb_interp)((int)QB_INTERP_LINEAR + (code)))

enum {
    QB__LINES_PADDING = 256 /* the table of views is filled up with zeros to a multiple */
};

/* A view in the kernels' fixed point, 32 fraction bits: where pixel (0,0) falls, what a step in x
 * and y adds, and (arithmetic family) how far below its corner an area reaches. */
typedef struct qb__fixed_line {
    int64_t a, b, c, low;
} qb__fixed_line;

struct qb__bp_parallel_plan {
    qb__device *device;
    qb__bp_parallel_problem problem;
    unsigned slices; /* most of a pass */
    unsigned group;  /* slices that lie together */
    bool half;
    qb_interp interp;
    qb__pack pack;
    qb__program *program;
    qb__kernel *kernel;
    qb__memory *lines;    /* lines of the views, in the kernel's form */
    qb__memory *counters; /* hybrid */
    qb__texture *texture; /* texture of the groups of slices */
    size_t texture_groups;
    /* Constants that go with the launches, `chunk` views each: on the host, or as memories. */
    void *host_lines;
    size_t line_bytes, chunk;
    qb__memory **chunks;
    size_t area, height, threads; /* pixels of a group's area, and its items */
    int values[QB__PARAMETERS_MAX];
};

/* Updates done for one wanted: the last group of a pass may be part empty. */
static inline double qb__layout_waste(unsigned slices, unsigned group) {
    return slices ? (double)(qb__ceil_div(slices, group) * group) / slices : 1.0;
}
void qb__cost_scale(qb__kernel_cost *cost, double factor);

/* A plan with pack programs and the main program, its kernel `entry` in `source`. On failure
 * nothing is left. */
qb_status qb__layout_plan(qb__device *device, const qb__bp_parallel_problem *problem, unsigned slices, unsigned group,
                          bool half, qb_interp interp, const char *source, const char *entry, const char *const *macros,
                          qb__bp_parallel_plan **plan);
void qb__layout_destroy(qb__bp_parallel_plan *plan);

/* packed_bytes(), pack() of the contract. */
size_t qb__layout_bytes(const qb__bp_parallel_problem *problem, unsigned slices, unsigned group, bool half);
qb_status qb__layout_pack(qb__bp_parallel_plan *plan, qb__queue *queue, const qb__memory *rows, size_t offset,
                          size_t view_stride, size_t slice_stride, size_t view0, size_t view1, unsigned slices,
                          qb__memory *packed);
/* Where in the packed memory, in floats, the factors stand that undo the scaling of halves. */
uint64_t qb__layout_undo_at(const qb__bp_parallel_plan *plan, unsigned slices);
/* Device bytes for plan_bytes() of the contract: of the lines below, of a texture for `slices`. */
size_t qb__layout_lines_bytes(const qb__bp_parallel_problem *problem);
size_t qb__layout_texture_bytes(const qb__device *device, const qb__bp_parallel_problem *problem, unsigned slices,
                                unsigned group, bool half);
/* When planning: the texture of full passes, so that want of memory shows before anything runs. */
qb_status qb__layout_reserve_texture(qb__bp_parallel_plan *plan);
/* The texture of a pass, loaded from packed. */
qb_status qb__layout_texture(qb__bp_parallel_plan *plan, qb__queue *queue, const qb__memory *packed, unsigned slices,
                             qb__texture **texture);

/* The views' lines, padded with zeros to a multiple of 256: interpolation other than linear has
 * half a column added; oversampled lines count samples. `area`: pixels on a side, for `low`.
 * Released with qb__free. */
qb_status qb__layout_lines(const qb__bp_parallel_problem *problem, qb_interp interp, size_t area,
                           qb__fixed_line **lines, size_t *count);
/* The plan's own, for its interpolation and area, on the device. On failure the plan is gone. */
qb_status qb__layout_take_lines(qb__bp_parallel_plan **plan);
/* New device memory with `bytes` from the host, there when it returns. */
qb_status qb__layout_upload(qb__device *device, const void *host, size_t bytes, qb__memory **memory);

/* Reasons shared by unusable(). */
const char *qb__layout_unusable(const qb__device_info *device, const qb__bp_parallel_problem *problem, bool half);
const char *qb__layout_no_texture(const qb__device_info *device, const qb__bp_parallel_problem *problem);
/* Whether single precision holds coordinates counted from the image's middle to 2e-3 columns. */
bool qb__layout_float_coordinates(const qb__bp_parallel_problem *problem);

/* The calls of a row whose family keeps the layout above, under the names that its file gives them. */
#define LAYOUT_CALLS                                                                                                   \
    .packed_bytes = packed_bytes, .plan_bytes = plan_bytes, .plan = make_plan, .pack = qb__layout_pack, .run = run,    \
    .destroy = qb__layout_destroy

/* The families' rows. */
typedef struct qb__bp_parallel_rows {
    const qb__bp_parallel_device_variant *rows;
    size_t count;
} qb__bp_parallel_rows;
extern const qb__bp_parallel_rows qb__bp_parallel_texture_rows, qb__bp_parallel_alu_rows, qb__bp_parallel_hybrid_rows,
    qb__bp_parallel_direct_rows, qb__bp_parallel_tensor_rows;

#endif
