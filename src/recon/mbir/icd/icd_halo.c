/* SPDX-License-Identifier: MIT */
#include "recon/mbir/icd/icd_halo.h"

#include <math.h>

#include "base/memory.h"
#include "base/status.h"
#include "geometry/partition.h"

static qb_status swap(void *self, qb_status mine, const qb__icd_swap *s) {
    const qb__icd_halo *h = self;
    const int ranks = h->comm->count, rank = h->comm->rank;
    qb__comm_part *out = h->parts, *in = h->parts + ranks;
    for (int i = 0; i < 2 * ranks; i++) h->parts[i] = (qb__comm_part){NULL, 0};
    if (h->edges.before) {
        out[rank - 1] = (qb__comm_part){s->first, s->bytes};
        in[rank - 1] = (qb__comm_part){s->before, s->bytes};
    }
    if (h->edges.after) {
        out[rank + 1] = (qb__comm_part){s->last, s->bytes};
        in[rank + 1] = (qb__comm_part){s->after, s->bytes};
    }
    return qb__comm_exchange(h->comm, mine, out, in);
}

qb_status qb__icd_halo_create(qb__comm *comm, size_t slices, qb__icd_halo *h) {
    const int ranks = qb__comm_count(comm), rank = qb__comm_rank(comm);
    size_t first, count;
    qb_status status;
    qb__cut_rank(slices, 1, ranks, rank, &first, &count);
    *h = (qb__icd_halo){
        .edges = {.before = rank > 0, .after = rank + 1 < ranks, .first = first, .swap = swap, .self = h},
        .comm = comm,
        .slices = slices,
        .tallest = qb__ceil_div(slices, (size_t)ranks)};
    QB__TRY(qb__alloc(2 * (size_t)ranks, sizeof *h->parts, &h->parts));
    QB__TRY(qb__alloc((size_t)ranks * QB__HALO_NUMBERS, sizeof *h->numbers, &h->numbers));
out:
    return status;
}

void qb__icd_halo_release(qb__icd_halo *h) {
    qb__free(h->parts);
    qb__free(h->numbers);
    *h = (qb__icd_halo){.parts = NULL};
}

qb_status qb__icd_halo_gather(const qb__icd_halo *h, qb_status mine, const double *numbers, size_t count) {
    return qb__comm_gather(h->comm, mine, numbers, count * sizeof *numbers, h->numbers);
}

static double add(double a, double b) { return a + b; }

static qb_status fold(const qb__icd_halo *h, qb_status mine, double *numbers, size_t count,
                      double (*with)(double, double)) {
    if (!h) return mine;
    const qb_status status = qb__icd_halo_gather(h, mine, numbers, count);
    for (size_t i = 0; status == QB_OK && i < count; i++) {
        numbers[i] = h->numbers[i];
        for (size_t rank = 1; rank < (size_t)h->comm->count; rank++)
            numbers[i] = with(numbers[i], h->numbers[rank * count + i]);
    }
    return status;
}

qb_status qb__icd_halo_sum(const qb__icd_halo *h, qb_status mine, double *numbers, size_t count) {
    return fold(h, mine, numbers, count, add);
}

qb_status qb__icd_halo_largest(const qb__icd_halo *h, qb_status mine, double *numbers, size_t count) {
    return fold(h, mine, numbers, count, fmax);
}
