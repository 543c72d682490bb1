/* SPDX-License-Identifier: MIT */
#include "planner/cluster_plan.h"

#include <stdio.h>
#include <string.h>

#include "base/fork.h"
#include "base/json.h"
#include "base/params.h"
#include "base/status.h"
#include "planner/cluster.h"

#define ROW(name, field, kind, meta, min, max, help)                                                                   \
    { name, kind, offsetof(qb_tool_cluster_options, field), meta, NULL, NULL, min, max, help, 0 }

const qb_param qb_tool_cluster_params[] = {
    ROW("cluster", cluster, QB_PARAM_TEXT, "FILE", 0, 0,
        "with qb plan: forecast for a cluster of these rates (qb bench mpi --json); --grid auto: as few rows as have "
        "room"),
    ROW("nodes", nodes, QB_PARAM_INT, "N", 1, 1000000, "with --cluster: machines that it has; default: 1"),
    ROW("gpus-per-node", gpus_per_node, QB_PARAM_INT, "G", 1, 1024,
        "with --cluster: GPUs, or processes, of each; default: 1"),
    QB_PARAMS_END(qb_tool_cluster_options),
};

static size_t or_one(int number) { return number > 0 ? (size_t)number : 1; }

static qb_status no_room(const qb__cluster *cluster, const qb__cluster_problem *p, size_t ranks) {
    return qb__fail(
        QB_BAD_ARGUMENT,
        "a volume of %.0f x %.0f x %.0f takes %.1f GiB, and %zu ranks of %.1f GiB have no room for it: more "
        "--nodes, or --gpus-per-node",
        p->nx, p->ny, p->nz, p->nx * p->ny * p->nz * 4 / 0x1p30, ranks, cluster->memory / 0x1p30);
}

static qb_status no_cluster(void) {
    return qb__fail(QB_BAD_ARGUMENT, "--nodes and --gpus-per-node need the rates of a cluster: --cluster FILE, which "
                                     "qb bench mpi --json prints");
}

static bool is_asked(const char *grid) { return grid && strcmp(grid, "auto") != 0; }

/* The grid of ranks by the rule, or as given. */
static qb_status arrange(const qb__cluster *cluster, const qb__cluster_problem *p, const char *asked, size_t ranks,
                         qb__cluster_grid *grid) {
    int rows, columns, used = 0;
    if (is_asked(asked)) {
        if (sscanf(asked, "%6dx%6d%n", &rows, &columns, &used) != 2 || asked[used] || rows < 1 || columns < 1)
            return qb__fail(QB_BAD_ARGUMENT, "--grid %s: give auto, or ROWSxCOLUMNS as 4x2", asked);
        if ((size_t)rows * (size_t)columns != ranks)
            return qb__fail(QB_BAD_ARGUMENT, "--grid %s is not of the %zu ranks that --nodes and --gpus-per-node make",
                            asked, ranks);
        grid->rows = qb__cluster_room(cluster, p, (size_t)rows) ? (size_t)rows : 0;
    } else {
        grid->rows = qb__cluster_rows(cluster, p, ranks);
    }
    if (grid->rows == 0) return no_room(cluster, p, ranks);
    grid->columns = ranks / grid->rows;
    if ((double)grid->columns <= p->views) return QB_OK;
    return qb__fail(QB_BAD_ARGUMENT,
                    "%.0f views cannot be shared by %zu columns of ranks: give more rows, or --grid auto", p->views,
                    grid->columns);
}

qb_status qb_tool_cluster_plan(const qb_tool_cluster_problem *problem, const qb_tool_cluster_options *given,
                               const char *grid_asked, char **json) {
    QB__NEED(problem);
    QB__NEED(json);
    QB__CALL();
    *json = NULL;
    const qb__cluster_problem p = {(double)problem->columns, (double)problem->rows, (double)problem->views,
                                   (double)problem->n[0],    (double)problem->n[1], (double)problem->n[2]};
    qb_tool_cluster_options options;
    qb__cluster cluster;
    QB__OR_RETURN(qb__params_view(qb_tool_cluster_params, given, &options));
    if (!options.cluster) QB__OR_RETURN(no_cluster());
    qb__cluster_grid grid = {.ranks_per_node = or_one(options.gpus_per_node)};
    const size_t nodes = or_one(options.nodes), ranks = nodes * grid.ranks_per_node;
    QB__OR_RETURN(qb__cluster_read(options.cluster, &cluster));
    QB__OR_RETURN(arrange(&cluster, &p, grid_asked, ranks, &grid));
    const size_t rows = is_asked(grid_asked) ? grid.rows : 0;
    cJSON *plan = qb__cluster_json(&cluster, &p, &grid);
    cJSON_AddNumberToObject(plan, "nodes", (double)nodes);
    cJSON_AddNumberToObject(plan, "gpus_per_node", (double)grid.ranks_per_node);
    cJSON_AddItemToObject(plan, "strong_scaling",
                          qb__cluster_scale(&cluster, &p, rows, grid.ranks_per_node, ranks, false));
    cJSON_AddItemToObject(plan, "weak_scaling",
                          qb__cluster_scale(&cluster, &p, rows, grid.ranks_per_node, ranks, true));
    return qb__json_text(plan, "the plan for a cluster", json);
}
