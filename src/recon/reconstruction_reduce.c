/* SPDX-License-Identifier: MIT */
/* If columns of ranks share the views, each rank of a row has the sum over its column's views. Every slab is divided
 * into as many runs of slices as there are columns; each rank receives its run from all ranks of its row, and adds them
 * in the order of columns: the same bits in every run with that grid. Meanwhile the next slab is back-projected.
 *
 * A run is sent in pieces that stay in the core's cache from their arrival to their sum, and the sum goes to the front
 * of the slab, where the first column's run was, because touching memory for the first time costs more than all the
 * rest. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "recon/reconstruction_parts.h"

static size_t pixels(const qb__reconstruction *r) { return r->decision.stack.shape[1] * r->decision.stack.shape[2]; }

static void add(float *restrict sum, const float *restrict more, size_t count) {
    for (size_t i = 0; i < count; i++) sum[i] += more[i];
}

/* The rest of a run from `at` on, at most one piece. */
static size_t piece(size_t bytes, size_t at) { return bytes > at ? qb__smaller(bytes - at, QB__SUM_PIECE) : 0; }

/* Send the piece at `at` of each column's run to that column, and receive the other columns' pieces of the own run. */
static void parts_of(const qb__reconstruction *r, size_t slices, char *slab, size_t at) {
    const qb__comm_grid *ranks = r->share.ranks;
    const size_t slice = pixels(r) * sizeof(float);
    qb__comm_part *from = r->share.parts, *to = r->share.parts + ranks->columns;
    size_t first, count;
    qb__cut_rank(slices, 1, ranks->columns, ranks->column, &first, &count);
    const size_t own = piece(count * slice, at);
    for (int i = 0; i < ranks->columns; i++) {
        from[i] = (qb__comm_part){r->share.staged + (size_t)i * QB__SUM_PIECE, own};
        qb__cut_rank(slices, 1, ranks->columns, i, &first, &count);
        to[i] = (qb__comm_part){slab + first * slice + at, piece(count * slice, at)};
    }
    from[ranks->column] = (qb__comm_part){to[ranks->column].data, 0};
    to[ranks->column].bytes = 0; /* it is there already */
}

/* All of the first column's run up to here has been sent: it is the longest. */
static void add_piece(const qb__reconstruction *r, size_t bytes, char *sum) {
    const qb__comm_part *from = r->share.parts;
    for (int i = 1; i < r->share.ranks->columns; i++) add(from[0].data, from[i].data, bytes / sizeof(float));
    if (bytes > 0 && from[0].data != sum) memcpy(sum, from[0].data, bytes);
}

static qb_status reduce(void *self, size_t slab, size_t task, int worker, const void *in, void *out) {
    (void)task, (void)worker, (void)in;
    const qb__reconstruction *r = self;
    const qb__comm_grid *ranks = r->share.ranks;
    const size_t *edge = qb__chosen((qb__reconstruction *)r)->edge + slab, slices = edge[1] - edge[0],
                 slice = pixels(r) * sizeof(float);
    const size_t own = qb__run_count(qb__cut_column(&r->share.grid, slices)) * slice;
    const size_t longest = qb__ceil_div(slices, (size_t)ranks->columns) * slice;
    const qb__comm_part *from = r->share.parts, *to = r->share.parts + ranks->columns;
    qb_status status = QB_OK;
    size_t at = 0;
    do {
        parts_of(r, slices, out, at);
        status = at == 0 ? qb__comm_exchange(ranks->in_row, QB_OK, to, from) : qb__comm_go_on(ranks->in_row, to, from);
        if (status == QB_OK) add_piece(r, piece(own, at), (char *)out + at);
        at += QB__SUM_PIECE;
    } while (status == QB_OK && at < longest);
    return status;
}

/* The rank has the sum already: it writes a part as large as the others'. */
static qb_status pick(void *self, size_t slab, size_t task, int worker, const void *in, void *out) {
    (void)task, (void)worker;
    const qb__reconstruction *r = self;
    const size_t *edge = qb__chosen((qb__reconstruction *)r)->edge + slab, slice = pixels(r) * sizeof(float);
    const qb__run own = qb__cut_column(&r->share.grid, edge[1] - edge[0]);
    memcpy(out, (const char *)in + own.first * slice, qb__run_count(own) * slice);
    return QB_OK;
}

static qb_status barrier(void *self, qb_status status) {
    return qb__agree(((qb__reconstruction *)self)->share.ranks->in_row, status);
}

int qb__ranks_stages(qb__reconstruction *r, const qb__cut *cut, qb__stage *stages) {
    if (!r->share.ranks || r->share.ranks->columns < 2 || r->decision.shares_slices) return 0;
    const size_t columns = (size_t)r->share.ranks->columns, run = qb__ceil_div(cut->slices, columns);
    const double bytes = (double)cut->slices * (double)pixels(r) * sizeof(float);
    if (r->decision.summed) {
        stages[0] = (qb__stage){.name = "pick",
                                .self = r,
                                .blocking = true,
                                .slots = 1,
                                .slot_bytes = run * pixels(r) * sizeof(float),
                                .forecast = fmax(bytes / (double)columns, 1) / 4e9,
                                .run = pick};
        return 1;
    }
    stages[0] = (qb__stage){.name = "reduce",
                            .self = r,
                            .blocking = true,
                            .in_place = true,
                            .forecast = fmax(bytes, 1) / 1e9,
                            .run = reduce,
                            .barrier = barrier};
    return 1;
}
