/* SPDX-License-Identifier: MIT */
/* Each view of a column of ranks is read and filtered by one rank, and packed for each of the others: the rows that its
 * slab needs, in the layout of the kernel. This stage sends them. Meanwhile the next views are read and filtered, and
 * the previous ones are back-projected. */
#include <math.h>

#include "base/status.h"
#include "recon/fdk/fdk_cpu.h"

static qb_status gather(void *self, size_t chunk, size_t task, int worker, const void *in, void *out) {
    (void)task, (void)worker;
    const qb__fdk_on_cpu *cpu = self;
    const qb__fdk *fdk = cpu->fdk;
    const qb__comm_grid *ranks = cpu->filter.run->ranks;
    const qb__fdk_piece p = qb__fdk_piece_of(fdk, chunk);
    const size_t mine = qb__fdk_share_views(fdk, &p, ranks->row), own = qb__fdk_packed_bytes(fdk, p.need);
    qb__comm_part *from = cpu->parts, *to = cpu->parts + ranks->rows;
    char *given = (char *)in, *taken = out;
    for (int row = 0; row < ranks->rows; row++) {
        to[row] = (qb__comm_part){given, mine * qb__fdk_packed_bytes(fdk, qb__fdk_window_of(fdk, chunk, row))};
        from[row] = (qb__comm_part){taken, qb__fdk_share_views(fdk, &p, row) * own};
        given += to[row].bytes;
        taken += from[row].bytes;
    }
    return qb__comm_exchange(ranks->in_column, QB_OK, to, from);
}

static qb_status barrier(void *self, qb_status status) {
    return qb__agree(((qb__fdk_on_cpu *)self)->filter.run->ranks->in_column, status);
}

int qb__fdk_gather_stage(qb__fdk_on_cpu *cpu, const qb__cut *cut, qb__stage *stage) {
    if (!cut->grid || cut->grid->rows < 2) return 0;
    const size_t bytes = cut->views * cpu->view_bytes;
    *stage = (qb__stage){.name = "gather",
                         .self = cpu,
                         .blocking = true,
                         .slots = cut->slots,
                         .slot_bytes = bytes,
                         .forecast = fmax((double)bytes, 1) / 1e9,
                         .run = gather,
                         .barrier = barrier};
    return 1;
}

size_t qb__fdk_packed_bytes(const qb__fdk *fdk, const qb__fdk_window *window) {
    return window->rows.r0 == window->rows.r1 ? 0 : fdk->variant->view_bytes(&fdk->problem, window->rows);
}
