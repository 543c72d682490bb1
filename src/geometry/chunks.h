/* SPDX-License-Identifier: MIT */
#ifndef QB_GEOMETRY_CHUNKS_H
#define QB_GEOMETRY_CHUNKS_H

#include "geometry/runs.h"

/* What leaves a job, in order: the output, its observers, the journal of a resumed job and the progress read this list
 * alone. A slab is one chunk, or several chunks that leave one after the other. */
typedef struct qb__chunk {
    size_t slab;     /* number of the slab, or block of views, that it is a part of */
    qb__runs images; /* slices or views: two runs where mirrored slices go together; may be empty */
    double weight;   /* time that it takes, relative to the first chunk */
} qb__chunk;

typedef struct qb__chunks {
    qb__chunk *chunk; /* [count] */
    size_t count;
    size_t most;  /* images of the largest one */
    size_t first; /* lowest slice of the slabs of this rank's row */
} qb__chunks;

#endif
