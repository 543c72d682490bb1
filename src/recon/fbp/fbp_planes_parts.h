/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/pool.h"
#include "kernels/filter/filter_device.h"
#include "kernels/plane/plane_device.h"
#include "planner/device_select.h"
#include "recon/fbp/fbp.h"
#include "recon/fbp/fbp_planes.h"

struct qb_tool_planes {
    qb__device_set devices;
    qb__device *device; /* NULL: the CPU */
    qb__queue *queue;
    qb__plane_kernel *kernel;
    qb__pool *pool; /* threads for planes on the CPU, and for rows that are levelled for a device */
    /* Filtered rows [slot][row][stride], made from lines with these stamps. */
    uint64_t key; /* key of the filter; 0: no rows are kept */
    qb__device_filter *filter;
    size_t slots, rows, columns, stride, block;
    size_t *stamps; /* [slot] 1 + stamp of the filtered lines; 0: not filtered */
    float *ones;
    qb__memory *raw, *filtered, *views, *out;
    float *kept;  /* filtered rows in host memory, if the CPU computes */
    float *level; /* [block][rows][columns] rows of a rolled detector, resampled to a level one */
    qb__plane_view *view;
};

/* fbp_planes_host.c: slots first <= slot < end, whose rows are lines[slot - first][row][column] */
qb_status qb__planes_level(qb_tool_planes *planes, const qb__fbp *fbp, const float *lines, size_t first, size_t end);
qb_status qb__planes_host_filter(qb_tool_planes *planes, const qb__fbp *fbp, const float *lines, size_t first,
                                 size_t end);
qb_status qb__planes_host_make(qb_tool_planes *planes, const qb__fbp *fbp, const qb__plane_place *place,
                               const qb_tool_plane *plane, float *out);
