/* SPDX-License-Identifier: MIT */
#ifndef QB_RECON_FBP_FBP_CPU_H
#define QB_RECON_FBP_FBP_CPU_H

#include "recon/fbp/fbp.h"

/* What the CPU does with slices, a chunk's or a single one: filter view by view, back-project tile by
 * tile. */

unsigned qb__fbp_lanes(const qb__fbp *fbp, size_t slices);
/* Bytes of scratch a thread needs; of packed sinograms. */
size_t qb__fbp_scratch(const qb__fbp *fbp, size_t slices);
size_t qb__fbp_packed_bytes(const qb__fbp *fbp, size_t slices);

/* What a worker has. */
typedef struct qb__fbp_worker {
    const qb__prepare *prepare;
    char *scratch;
    qb__prep_counts *counts;
} qb__fbp_worker;
/* One view of `slices` slices, the first of them from detector row first_row. */
void qb__fbp_filter_view(const qb__fbp *fbp, const qb__fbp_worker *worker, size_t view, size_t slices, size_t first_row,
                         const char *raw, void *packed);
size_t qb__fbp_tiles(const qb__fbp *fbp);
void qb__fbp_tile(const qb__fbp *fbp, size_t slices, size_t tile, const void *packed, float *slab, char *scratch);

#endif
