/* SPDX-License-Identifier: MIT */
#pragma once

#include "recon/fbp/fbp.h"

/* Functions that filter view by view and back-project tile by tile on the CPU, for a chunk or a single slice. */

/* Bytes of scratch per thread; bytes of packed sinograms. */
size_t qb__fbp_scratch(const qb__fbp *fbp, size_t slices);
size_t qb__fbp_packed_bytes(const qb__fbp *fbp, size_t slices);

/* State of a worker thread. */
typedef struct qb__fbp_worker {
    const qb__prepare *prepare;
    char *scratch;
    qb__prep_counts *counts;
} qb__fbp_worker;
/* Filter one view for `slices` slices, the first from detector row first_row. */
void qb__fbp_filter_view(const qb__fbp *fbp, const qb__fbp_worker *worker, size_t view, size_t slices, size_t first_row,
                         const char *raw, void *packed);
size_t qb__fbp_tiles(const qb__fbp *fbp);
void qb__fbp_tile(const qb__fbp *fbp, size_t slices, size_t tile, const void *packed, float *slab, char *scratch);
