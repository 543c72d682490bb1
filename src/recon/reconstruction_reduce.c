/* SPDX-License-Identifier: MIT */
/* Where columns of ranks share the views, each rank of a row has a sum over its column's. Every slab is cut into as many
 * runs of slices as there are columns, each rank is sent its run by all of its row, and adds them in the order of columns:
 * the same bits in every run of that grid. All this goes on while the next slab is back-projected. */
#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "recon/reconstruction_parts.h"

static size_t pixels(const qb__reconstruction *r) {
    return r->decision.stack.shape[1] * r->decision.stack.shape[2];
}

static void add(float *restrict sum, const float *restrict more, size_t count) {
    for (size_t i = 0; i < count; i++) sum[i] += more[i];
}

static qb_status reduce(void *self, size_t slab, size_t task, int worker, const void *in, void *out) {
    (void)task, (void)worker;
    const qb__reconstruction *r = self;
    const qb__comm_grid *ranks = r->share.ranks;
    const size_t slices = r->pick.edge[slab + 1] - r->pick.edge[slab], slice = pixels(r) * sizeof(float);
    const size_t own = (r->pick.end[slab] - r->pick.begin[slab]) * slice;
    qb__comm_part *from = r->share.parts, *to = r->share.parts + ranks->columns;
    for (int i = 0; i < ranks->columns; i++) {
        size_t first, count;
        qb__cut_rank(slices, 1, ranks->columns, i, &first, &count);
        to[i] = (qb__comm_part){(char *)in + first * slice, count * slice};
        from[i] = (qb__comm_part){(char *)out + (size_t)i * own, own};
    }
    const qb_status status = qb__comm_exchange(ranks->in_row, QB_OK, to, from);
    for (int i = 1; status == QB_OK && i < ranks->columns; i++) add(out, from[i].data, own / sizeof(float));
    return status;
}

/* What a rank has is the sum already: it writes a part as large as the others'. */
static qb_status pick(void *self, size_t slab, size_t task, int worker, const void *in, void *out) {
    (void)task, (void)worker;
    const qb__reconstruction *r = self;
    const qb__pick *p = &r->pick;
    const size_t slice = pixels(r) * sizeof(float);
    memcpy(out, (const char *)in + (p->begin[slab] - p->edge[slab]) * slice, (p->end[slab] - p->begin[slab]) * slice);
    return QB_OK;
}

static qb_status leave(void *self, qb_status status) {
    return qb__agree(((qb__reconstruction *)self)->share.ranks->in_row, status);
}

int qb__ranks_stages(qb__reconstruction *r, const qb__cut *cut, size_t chunks, qb__stage *stages) {
    if (!r->share.ranks || r->share.ranks->columns < 2) return 0;
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
                            .slots = chunks > 1 ? cut->slots : 1,
                            .slot_bytes = columns * run * pixels(r) * sizeof(float),
                            .forecast = fmax(bytes, 1) / 1e9,
                            .run = reduce,
                            .leave = leave};
    return 1;
}
