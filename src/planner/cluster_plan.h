/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

#include "quickbeam/param.h"
#include "quickbeam/status.h"

/* For the command of the same build; not a part of the public interface. */

typedef struct qb_tool_cluster_options {
    size_t struct_size;       /* see qb_params_init */
    char *cluster;            /* file of rates, as printed by qb bench mpi */
    int nodes, gpus_per_node; /* 0 = 1 */
} qb_tool_cluster_options;
QB_API extern const qb_param qb_tool_cluster_params[];

typedef struct qb_tool_cluster_problem {
    size_t columns, rows, views, n[3]; /* size of the projections; size of the volume in x, y, z */
} qb_tool_cluster_problem;

/* Forecast of a cone-beam reconstruction of this size on a cluster, by the model of planner/cluster.h. grid:
 * ROWSxCOLUMNS of ranks; NULL or "auto": by the paper's rule. Release *json with qb_text_free. QB_BAD_ARGUMENT if the
 * ranks lack memory or `grid` does not fit; errors of reading the file. */
QB_API qb_status qb_tool_cluster_plan(const qb_tool_cluster_problem *problem, const qb_tool_cluster_options *options,
                                      const char *grid, char **json);
