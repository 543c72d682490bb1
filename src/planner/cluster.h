/* SPDX-License-Identifier: MIT */
#ifndef QB_PLANNER_CLUSTER_H
#define QB_PLANNER_CLUSTER_H

#include <stddef.h>

#include "base/json.h"
#include "quickbeam/status.h"

/* What a cone-beam reconstruction takes on a cluster that need not be there: the model of the iFDK paper (Chen et al.,
 * SC 2019, section 4.2, equations 8 to 19), fed by what was measured of it (qb bench mpi). R rows of ranks make a slab
 * each, C columns have a part of the views each; a rank is a GPU, or a process of a CPU. Seconds, bytes, values: of
 * four bytes. */
typedef struct qb__cluster {
    double read, write; /* bytes a second, of files, all ranks together */
    double filter;      /* values a second, of a node */
    double allgather;   /* bytes a second that a rank is sent in its column */
    double link, links; /* bytes a second of one link between host and GPUs, links of a node; 0: there are none */
    double backproject; /* updates a second, of a rank */
    double transpose;   /* bytes a second, of a sub-volume on its GPU; 0: it is not transposed */
    double reduce;      /* bytes a second, of a sub-volume that all of a row have a part of the sum of */
    double memory;      /* bytes that a rank has for its sub-volume and a batch of views */
} qb__cluster;

typedef struct qb__cluster_problem {
    double columns, rows, views, nx, ny, nz;
} qb__cluster_problem;

/* How many ranks a node has, and how they are arranged. */
typedef struct qb__cluster_grid {
    size_t rows, columns, ranks_per_node;
} qb__cluster_grid;

typedef struct qb__cluster_terms {
    double read, filter, allgather, to_device, backproject; /* equations 8 to 12; the last with the one before */
    double compute;                                         /* 17: the longest of these */
    double transpose, from_device, reduce, write;           /* 13 to 16 */
    double post;                                            /* 18, the transposition with it */
    double runtime;                                         /* 19: the potential peak, in seconds */
} qb__cluster_terms;

/* A JSON object with "rates", as qb bench mpi prints it and bench/clusters/ has it. */
qb_status qb__cluster_read(const char *path, qb__cluster *cluster);
qb__cluster_terms qb__cluster_predict(const qb__cluster *cluster, const qb__cluster_problem *problem,
                                      const qb__cluster_grid *grid);
/* Whether so many rows have room for their slabs, beside a batch of 32 views. */
bool qb__cluster_room(const qb__cluster *cluster, const qb__cluster_problem *problem, size_t rows);
/* The paper's rule (section 4.1.5) for any memory and number of ranks: as few rows as have room, and leave no more columns
 * than there are views. 0: not even a rank each has room. */
size_t qb__cluster_rows(const qb__cluster *cluster, const qb__cluster_problem *problem, size_t ranks);
/* {grid, terms: {...}, runtime_seconds, gups} of ranks that are arranged like that. */
cJSON *qb__cluster_json(const qb__cluster *cluster, const qb__cluster_problem *problem, const qb__cluster_grid *grid);
/* From the fewest ranks that have room on, doubled up to 2,048 or `most`: the same problem (strong scaling), or as many
 * views for each rank as it has of `problem` on `ranks` (weak). With `efficiency`, of the first. `rows` 0: by the rule. */
cJSON *qb__cluster_scale(const qb__cluster *cluster, const qb__cluster_problem *problem, size_t rows,
                         size_t ranks_per_node, size_t ranks, bool weak);

#endif
