/* SPDX-License-Identifier: MIT */
/* The order in which a device computes the slabs of a cone-beam reconstruction: mirrored slices together or not, rows
 * kept for all slabs, a thicker first slab, slabs downloaded in pieces. The frame only knows the resulting chunks, and
 * a number. */
#include "recon/fdk/fdk_device.h"

/* Largest number of slices of a rank's part of a slab, the same on all ranks; this rank's slabs may be thinner. */
static size_t own_slices(const qb__cut *cut) {
    const qb__cut_grid *grid = cut->grid;
    if (!grid) return qb__larger(1, cut->slices);
    return qb__larger(1, qb__ceil_div(qb__smaller(cut->thickness, qb__cut_tallest(grid)), (size_t)grid->columns));
}

/* Slices are downloaded into page-locked memory, which takes time to lock. A piece has enough slices for fast
 * transfers, and for all threads to write. */
size_t qb__fdk_gpu_piece_slices(const qb__fdk_gpu *gpu, const qb__cut *cut) {
    enum { LEAST = 1 << 20, MOST = 512 << 20, PARTS = 8 };
    const size_t slices = own_slices(cut), slice = qb__down_host(&gpu->way_down, 1), least = qb__ceil_div(LEAST, slice),
                 most = qb__larger(1, MOST / slice);
    return qb__smaller(slices, qb__smaller(most, qb__larger(least, qb__ceil_div(slices, PARTS))));
}

size_t qb__fdk_gpu_pieces(const qb__fdk_gpu *gpu, const qb__cut *cut) {
    return qb__ceil_div(own_slices(cut), qb__fdk_gpu_piece_slices(gpu, cut));
}

size_t qb__fdk_gpu_piece(const qb__fdk_gpu *gpu, const qb__cut *cut) {
    return qb__down_host(&gpu->way_down, qb__smaller(qb__fdk_gpu_piece_slices(gpu, cut), qb__fdk_gpu_down(cut)));
}

unsigned qb__fdk_gpu_ring(const qb__fdk_gpu *gpu, const qb__cut *cut) {
    return cut->slabs > 1 ? cut->slots : qb__fdk_gpu_pieces(gpu, cut) > 1 ? 2 : 1;
}

static double thinner(const qb__cut *cut) {
    return qb__fdk_lead(cut) > 1 ? (double)cut->thickness / (double)cut->slices : 1;
}

/* The stages are upload, filter, back-project and download, without those of ranks. */
void qb__fdk_gpu_weigh(const qb__fdk_gpu *gpu, const qb__cut *cut, qb__stage *stages) {
    for (int i = 0; i < 4 && qb__fdk_kept(cut); i++) {
        stages[i].first = i < 3 ? cut->blocks : qb__fdk_gpu_pieces(gpu, cut);
        stages[i].later = i < 2 ? 0 : thinner(cut);
    }
}

/* Join the first slabs into one. */
static void join(size_t *edge, qb__cut *cut) {
    const size_t lead = qb__fdk_lead(cut);
    if (lead < 2 || lead >= cut->slabs) return;
    cut->slabs -= lead - 1;
    for (size_t i = 1; i <= cut->slabs; i++) edge[i] = edge[i + lead - 1];
    cut->slices = qb__larger(cut->slices, edge[1] - edge[0]);
}

/* List the pieces in which slabs are downloaded: each has one or two runs of slices. */
static void list_pieces(const qb__fdk_gpu *gpu, const qb__cut *cut, const size_t *edge, qb__chunks *chunks) {
    const size_t nz = gpu->fdk->problem.nz, piece = qb__fdk_gpu_piece_slices(gpu, cut),
                 pieces = qb__fdk_gpu_pieces(gpu, cut);
    const bool paired = qb__fdk_paired(cut);
    chunks->count = cut->slabs * pieces;
    chunks->most = qb__smaller(piece, qb__ceil_div(cut->slices, (size_t)qb__fdk_gpu_columns(cut)));
    chunks->first = qb__mirrored_runs(nz, paired, cut->all_slices.first, cut->all_slices.end).of[0].first;
    for (size_t i = 0; i < chunks->count; i++) {
        const size_t slab = i / pieces, at = i % pieces * piece;
        const qb__run own = qb__cut_column(cut->grid, edge[slab + 1] - edge[slab]);
        const qb__runs whole = qb__mirrored_runs(nz, paired, edge[slab], edge[slab + 1]);
        chunks->chunk[i] = (qb__chunk){.slab = slab,
                                       .images = qb__runs_part(&whole, qb__smaller(own.first + at, own.end),
                                                               qb__smaller(own.first + at + piece, own.end)),
                                       .weight = slab == 0 ? 1 : thinner(cut)};
    }
}

void qb__fdk_gpu_slabs(void *state, qb__cut *cut, size_t *edge, qb__chunks *chunks) {
    const qb__fdk_gpu *gpu = state;
    join(edge, cut);
    qb__fdk_slabs(gpu->reading, cut, edge, qb__fdk_gpu_turns(gpu));
    if (chunks) list_pieces(gpu, cut, edge, chunks);
}
