/* SPDX-License-Identifier: MIT */
#pragma once

#include "geometry/runs.h"

/* The chunks of a job's output in their order. The output, its observers, the journal of a resumed job and the progress
 * read only this list. A slab is one chunk, or several chunks that are written one after the other. */
typedef struct qb__chunk {
    size_t slab;     /* number of the slab, or block of views, that it belongs to */
    qb__runs images; /* slices or views: two runs for mirrored slices; may be empty */
    double weight;   /* time of the chunk relative to that of the first chunk */
} qb__chunk;

typedef struct qb__chunks {
    qb__chunk *chunk; /* [count] */
    size_t count;
    size_t most;  /* images of the largest chunk */
    size_t first; /* lowest slice of the slabs of this rank's row */
} qb__chunks;
