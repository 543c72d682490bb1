/* SPDX-License-Identifier: MIT */
/* The device variants of iterative coordinate descent. */
#include "kernels/icd/icd_rows.h"

#include "kernels/rows_table.h"

#define BUFFERS                                                                                                        \
    .alone = true, .turns = qb__buffers_sweeps, .lanes = qb__buffers_lanes, .back = qb__buffers_back,                  \
    .fill = qb__buffers_fill, .put = qb__buffers_put, .begin = qb__buffers_begin, .turn = qb__buffers_sweep,           \
    .cost = qb__buffers_cost, .image = qb__buffers_image, .state = qb__buffers_state, .say = qb__buffers_say,          \
    .destroy = qb__buffers_destroy

static const qb__icd_device_variant rows[] = {
    {HEAD(QB__ICD, "icd_supervoxel.tiles", QB_INTERP_LINEAR, QB__API_CUDA | QB__API_OPENCL, QB_ACCURACY_HIGH,
          "slices side by side, scattered tiles of voxels in three steps", 32, 0, qb__tiles_unusable,
          qb__tiles_kernel_cost, P("PER", 2, 1), P("WIDE", 4), P("HIGH", 4), P("WARPS", 4, 8, 2)),
     .programs = 2, .lanes = qb__tiles_lanes, .bytes = qb__tiles_bytes, .create = qb__tiles_create,
     .back = qb__tiles_back, .fill = qb__tiles_fill, .put = qb__tiles_put, .begin = qb__tiles_begin,
     .turn = qb__tiles_sweep, .cost = qb__tiles_cost, .image = qb__tiles_image, .state = qb__tiles_state,
     .say = qb__tiles_say, .destroy = qb__tiles_destroy},
    {HEAD(QB__ICD, "icd_supervoxel.local", QB_INTERP_LINEAR, QB__API_CUDA | QB__API_OPENCL, QB_ACCURACY_HIGH,
          "single slices, SuperVoxels' buffers in local memory", 1, 0, qb__local_unusable, qb__local_cost,
          P("SIDE", 6, 4, 8, 12, 16), P("BATCH", 100, 50, 150, 200, 400), P("SHARE", 25, 50, 100),
          P("AT_ONCE", 1, 2, 4), P("OWNERS", 256, 128, 384, 512, 768), P("AHEAD", 1, 0)),
     BUFFERS, .programs = 3, .bytes = qb__local_bytes, .create = qb__local_create},
    {HEAD(QB__ICD, "icd_supervoxel.global", QB_INTERP_LINEAR, QB__API_CUDA | QB__API_OPENCL, QB_ACCURACY_NORMAL,
          "single slices, GPU-ICD: buffers and matrix in global memory", 1, 0, qb__global_unusable, qb__global_cost,
          P("SIDE", 16, 8, 24, 32), P("BATCH", 100, 50, 200, 400), P("SHARE", 25, 50, 100), P("LEAST", 25, 0),
          P("PARTS", 16, 1, 2, 4, 8, 32, 40, 64), P("ITEMS", 256, 64, 128, 384, 512),
          P("CHUNK", 32, 0, 8, 16, 24, 48, 64), P("BYTES", 1, 0), P("READ_ONLY", 1, 0), P("PAIR", 2, 1),
          P("NEARBY", 1, 0), P("DYNAMIC", 1, 0)),
     BUFFERS, .programs = 4, .chance = true, .bytes = qb__global_bytes, .create = qb__global_create},
};

const qb__icd_device_variant *qb__icd_device_variants(size_t *count) {
    *count = sizeof rows / sizeof *rows;
    return rows;
}
