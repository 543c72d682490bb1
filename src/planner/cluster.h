/* SPDX-License-Identifier: MIT */
#pragma once

#include <stddef.h>

#include "base/json.h"
#include "quickbeam/status.h"

/* Forecast of a cone-beam reconstruction on a cluster, which need not exist: the model of the iFDK paper (Chen et al.,
 * SC 2019, section 4.2, equations 8 to 19) with measured rates (qb bench mpi). Each of R rows of ranks computes a slab,
 * each of C columns a part of the views; a rank is one GPU, or a CPU process. Values have four bytes. */
typedef struct qb__cluster {
    double read, write; /* bytes/s of files, all ranks together */
    double filter;      /* values/s of a node */
    double allgather;   /* bytes/s that a rank receives in its column */
    double link, links; /* bytes/s of one link between host and GPUs; links per node; 0: no links */
    double backproject; /* updates/s of a rank */
    double transpose;   /* bytes/s of a sub-volume on its GPU; 0: no transposition */
    double reduce;      /* bytes/s of summing a sub-volume over a row of ranks */
    double memory;      /* memory of a rank in bytes for its sub-volume and a batch of views */
} qb__cluster;

typedef struct qb__cluster_problem {
    double columns, rows, views, nx, ny, nz;
} qb__cluster_problem;

/* Ranks per node, and their arrangement. */
typedef struct qb__cluster_grid {
    size_t rows, columns, ranks_per_node;
} qb__cluster_grid;

typedef struct qb__cluster_terms {
    double read, filter, allgather, to_device, backproject; /* equations 8 to 12; the last includes the one before */
    double compute;                                         /* equation 17: the largest of these */
    double transpose, from_device, reduce, write;           /* equations 13 to 16 */
    double post;                                            /* equation 18, with the transposition */
    double runtime;                                         /* equation 19: the potential peak, in seconds */
} qb__cluster_terms;

/* A JSON object with "rates", as printed by qb bench mpi and stored in bench/clusters/. */
qb_status qb__cluster_read(const char *path, qb__cluster *cluster);
qb__cluster_terms qb__cluster_predict(const qb__cluster *cluster, const qb__cluster_problem *problem,
                                      const qb__cluster_grid *grid);
/* True if this number of rows has memory for the slabs and a batch of 32 views. */
bool qb__cluster_room(const qb__cluster *cluster, const qb__cluster_problem *problem, size_t rows);
/* The paper's rule (section 4.1.5) for any memory and number of ranks: as few rows as memory allows, but not more
 * columns than views. 0: one slab per rank does not fit. */
size_t qb__cluster_rows(const qb__cluster *cluster, const qb__cluster_problem *problem, size_t ranks);
/* {grid, terms: {...}, runtime_seconds, gups} for this arrangement of ranks. */
cJSON *qb__cluster_json(const qb__cluster *cluster, const qb__cluster_problem *problem, const qb__cluster_grid *grid);
/* Scaling from the smallest number of ranks that have memory, doubled up to 2,048 or `most`: strong scaling (the same
 * problem), or weak scaling (as many views per rank as `problem` has on `ranks`). With `efficiency` relative to the
 * first. `rows` 0: by the rule. */
cJSON *qb__cluster_scale(const qb__cluster *cluster, const qb__cluster_problem *problem, size_t rows,
                         size_t ranks_per_node, size_t ranks, bool weak);
