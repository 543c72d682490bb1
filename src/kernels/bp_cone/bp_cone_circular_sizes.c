/* SPDX-License-Identifier: MIT */
#include "kernels/bp_cone/bp_cone_circular_sizes.h"

#include <math.h>

#include "base/memory.h"

enum { ITEMS = 256 };

size_t qb__circular_items(const int *values) {
    return qb__circular_copies(values) ? 32 * (size_t)(values[WARPS] + values[AHEAD]) : ITEMS;
}

void qb__circular_tile(const int *values, size_t tile[3]) {
    const size_t columns = (size_t)values[COLUMNS], steps = (size_t)values[STEPS];
    const size_t lines = (qb__circular_copies(values) ? (size_t)values[WARPS] : 8) * columns;
    const bool wide = qb__circular_copies(values) ? lines != 16 : columns == 4;
    tile[0] = values[TEXTURED] ? 16 : wide ? 8 : 4;
    tile[1] = values[TEXTURED] ? 16 : lines / tile[0];
    tile[2] = values[TEXTURED] ? steps : 32 * steps;
}

/* A coordinate of the detector, a / w, changes by (da - (a / w) dw) / w: most where w is smallest and at an end of the
 * detector, by the same amount in every view of a circle. */
static double slope(const double *m, const double *w, double at, double nearest) {
    return hypot(m[0] - at * w[0], m[1] - at * w[1]) / nearest;
}

qb__circular_box qb__circular_box_of(const qb__bp_cone_problem *p, const size_t tile[3]) {
    enum { ENDS = 4, PARITY = 1 }; /* partial pixels at both ends of a range, and rounding; an even row before */
    const double *m = p->matrix[0], nearest = qb__bp_cone_nearest(p), outside = 1.5;
    const double diagonal = hypot((double)tile[0] - 1, (double)tile[1] - 1);
    const double last_u = (double)p->columns, last_v = (double)p->rows;
    const double u = fmax(slope(m, m + 8, -outside, nearest), slope(m, m + 8, last_u, nearest)) * diagonal;
    const double v = fmax(slope(m + 4, m + 8, -outside, nearest), slope(m + 4, m + 8, last_v, nearest)) * diagonal +
                     fabs(m[6]) / nearest * ((double)tile[2] - 1);
    const double most = 1e6; /* more than any local memory; also replaces NaN */
    const size_t columns = (size_t)(u < most ? ceil(u) : most) + ENDS;
    const size_t rows = (size_t)(v < most ? ceil(v) : most) + ENDS + PARITY;
    return (qb__circular_box){.columns = columns, .rows = (rows + 7) / 16 * 16 + 8};
}

/* Local memory that is left for boxes. Each group on a multiprocessor takes one KiB that kernels cannot use. */
static size_t left_for_boxes(const qb__device_info *device, const int *values) {
    const size_t own = 1024, groups = (size_t)values[GROUPS], notes = qb__circular_ahead_bytes(values);
    const size_t share = (device->local_bytes + own) / groups - own;
    return share > notes ? (share - notes) / 16 * 16 : 0;
}

size_t qb__circular_boxes_bytes(const qb__device_info *device, const qb__bp_cone_problem *p, const int *values,
                                bool *ring) {
    const bool staged = device->api == QB__API_CUDA && device->arch >= 80;
    const size_t left = left_for_boxes(device, values);
    size_t tile[3];
    *ring = false;
    if (!qb__circular_copies(values)) return 0;
    qb__circular_tile(values, tile);
    const qb__circular_box box = qb__circular_box_of(p, tile);
    const size_t one = box.columns * box.rows * qb__circular_cell_bytes(values), all = one * (size_t)values[STAGES];
    *ring = staged && all > left && one <= left;
    return *ring ? left : all;
}

size_t qb__circular_ahead_bytes(const int *values) {
    const size_t lines = (size_t)(values[WARPS] * values[COLUMNS]), views = 2 * 32;
    return views * 112 + lines * (32 * (size_t)values[STAGES] + 33 * sizeof(float)) + 256;
}

static double share_used(size_t n, size_t tile) { return (double)qb__round_up(n, tile) / (double)n; }

/* Factor of the bytes that pass through level-1 memory because neighbours' cells are not aligned, or through local
 * memory for the copies; a voxel spans `fine` detector columns (H200; bench/notes/cone.md). Copies without BULK take
 * longer. More than two columns per voxel were not measured. */
static double passes(const int *values, double fine) {
    if (qb__circular_copies(values))
        return (!values[BULK] ? 2.1 : values[HALF] ? 1.5 : 1.25) * sqrt(fine) * fmax(1, fine / 2);
    return (values[HALF] ? 2 : 1.6) * sqrt(fine);
}

/* Factor of the bytes from beyond level-1 memory if each voxel has a pixel of its own: with eight pixels per voxel,
 * neighbours share nothing (H200, .half of the fifteen problems in bench/notes/cone.md). Textures are stored in
 * squares; boxes are copied once. */
static double beyond(const int *values) {
    if (qb__circular_copies(values)) return 0;
    return values[TEXTURED] ? 0.8 : 1.2;
}

/* Instructions per voxel, per cell and per line of STEPS voxels. */
typedef struct instructions {
    double voxel, cell, line;
} instructions;

static instructions instructions_of(const int *values) {
    if (values[TEXTURED]) return (instructions){1, 8, 30};
    if (!qb__circular_copies(values)) return (instructions){5, 25, 30};
    if (!values[BULK]) return (instructions){6, 30, 30}; /* not measured: left to the tuner */
    return (instructions){4, 20, 0};                     /* other warps compute what lines share */
}

/* If neighbours' cells are not aligned, the texture unit reaches three quarters of its bandwidth. */
void qb__circular_cost(const void *of, unsigned slices, const int *values, qb__kernel_cost *cost) {
    (void)slices;
    const qb__bp_cone_problem *p = of;
    const double views = p->views < 128 ? (double)p->views : 128, n = (double)qb__circular_voxels(values);
    const size_t quarter = qb__circular_turns(values) == 4 ? 2 : 1, half = qb__circular_turns(values) > 1 ? 2 : 1;
    size_t tile[3];
    qb__circular_tile(values, tile);
    const double waste = share_used(qb__ceil_div(p->nx, quarter), tile[0]) *
                         share_used(qb__ceil_div(p->ny, half), tile[1]) *
                         share_used(qb__ceil_div(p->nz, qb__circular_mirror(values) ? 2 : 1), tile[2]);
    const double fine = fmax(1, (double)p->columns / (double)p->nx), bytes = values[HALF] ? 2 : 4;
    const instructions count = instructions_of(values);
    *cost = (qb__kernel_cost){.arithmetic = waste * (count.voxel + (count.cell + count.line / values[STEPS]) / n),
                              .texels = values[TEXTURED] ? 1.3 * waste * sqrt(fine) / n : 0,
                              .local_bytes = values[TEXTURED] ? 0 : waste * 4 * bytes * passes(values, fine),
                              .l2_bytes = waste * bytes * beyond(values) * fine,
                              .memory_bytes = 8 / views,
                              .launches = (double)p->views / views};
}
