/* SPDX-License-Identifier: MIT */
/* A reconstruction on paper: on a cluster of which only the rates are there. */
#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "planner/cluster.h"
#include "recon/fdk/fdk.h"

static size_t or_one(int number) { return number > 0 ? (size_t)number : 1; }

static qb_status no_room(const qb__cluster *cluster, const qb__cluster_problem *p, size_t ranks) {
    return qb__fail(
        QB_BAD_ARGUMENT,
        "a volume of %.0f x %.0f x %.0f takes %.1f GiB, and %zu ranks of %.1f GiB have no room for it: more "
        "--nodes, or --gpus-per-node",
        p->nx, p->ny, p->nz, p->nx * p->ny * p->nz * 4 / 0x1p30, ranks, cluster->memory / 0x1p30);
}

/* By the rule, or as it was asked for. */
static qb_status arrange(const qb__cluster *cluster, const qb__cluster_problem *p, const char *asked, size_t ranks,
                         qb__cluster_grid *grid) {
    int rows, columns, used = 0;
    if (asked && strcmp(asked, "auto") != 0) {
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

qb_status qb__fdk_cluster(const qb__fdk *fdk, cJSON *plan) {
    const qb_fdk_options *options = fdk->options;
    if (!options->cluster) {
        if (!options->nodes && !options->gpus_per_node) return QB_OK;
        return qb__fail(QB_BAD_ARGUMENT,
                        "--nodes and --gpus-per-node need the rates of a cluster: --cluster FILE, which "
                        "qb bench mpi --json prints");
    }
    const qb__cluster_problem p = {(double)fdk->info->columns, (double)fdk->info->rows, (double)fdk->info->views,
                                   (double)fdk->grid.n[0],     (double)fdk->grid.n[1],  (double)fdk->grid.n[2]};
    qb__cluster_grid grid = {.ranks_per_node = or_one(options->gpus_per_node)};
    const size_t nodes = or_one(options->nodes), ranks = nodes * grid.ranks_per_node;
    qb__cluster cluster;
    qb_status status = qb__cluster_read(options->cluster, &cluster);
    if (status == QB_OK) status = arrange(&cluster, &p, options->grid, ranks, &grid);
    if (status != QB_OK) return status;
    const bool asked = options->grid && strcmp(options->grid, "auto") != 0;
    cJSON *json = qb__cluster_json(&cluster, &p, &grid);
    cJSON_AddNumberToObject(json, "nodes", (double)nodes);
    cJSON_AddNumberToObject(json, "gpus_per_node", (double)grid.ranks_per_node);
    cJSON_AddItemToObject(json, "strong_scaling",
                          qb__cluster_scale(&cluster, &p, asked ? grid.rows : 0, grid.ranks_per_node, ranks, false));
    cJSON_AddItemToObject(json, "weak_scaling",
                          qb__cluster_scale(&cluster, &p, asked ? grid.rows : 0, grid.ranks_per_node, ranks, true));
    cJSON_AddItemToObject(plan, "cluster", json);
    return QB_OK;
}
