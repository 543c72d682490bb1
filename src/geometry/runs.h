/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Kernels that compute mirrored slices from one set of coordinates need slabs with both slices. So a volume with an
 * even number of slices is divided as if it were folded in its middle: first the two middle slices, then the next pair
 * outwards, and so on. A run of whole pairs is two runs of slices, as far below the middle as above it, or one run
 * around the middle. */
typedef struct qb__run {
    size_t first, end;
} qb__run;

/* The lower and the upper run, which may be empty; in a slab's memory one follows the other. */
typedef struct qb__runs {
    qb__run of[2];
} qb__runs;

static inline size_t qb__run_count(qb__run run) { return run.end - run.first; }
static inline size_t qb__runs_count(const qb__runs *runs) {
    return qb__run_count(runs->of[0]) + qb__run_count(runs->of[1]);
}

/* The slices first .. end - 1 in the order of a cut; folded: pairs, of an even number of `slices`. */
static inline qb__runs qb__mirrored_runs(size_t slices, bool paired, size_t first, size_t end) {
    const size_t middle = slices / 2, near = first / 2, far = end / 2;
    if (!paired || first == end) return (qb__runs){{{first, end}, {end, end}}};
    if (near == 0) return (qb__runs){{{middle - far, middle + far}, {middle + far, middle + far}}};
    return (qb__runs){{{middle - far, middle - near}, {middle + near, middle + far}}};
}

/* Slices `from` <= i < `to` of the runs, counted through both. */
static inline qb__runs qb__runs_part(const qb__runs *runs, size_t from, size_t to) {
    qb__runs part;
    size_t before = 0;
    for (int i = 0; i < 2; i++) {
        const qb__run whole = runs->of[i];
        const size_t count = qb__run_count(whole), a = from < before ? 0 : from - before,
                     b = to < before ? 0 : to - before;
        part.of[i] = (qb__run){whole.first + (a < count ? a : count), whole.first + (b < count ? b : count)};
        before += count;
    }
    return part;
}

/* The i-th slice of the runs. */
static inline size_t qb__runs_slice(const qb__runs *runs, size_t i) {
    const size_t lower = qb__run_count(runs->of[0]);
    return i < lower ? runs->of[0].first + i : runs->of[1].first + (i - lower);
}

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
