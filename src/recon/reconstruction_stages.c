/* SPDX-License-Identifier: MIT */
/* The stages of a job: the method's, the engine's, those of ranks and the output's. */
#include "base/memory.h"
#include "io/scan/scan.h"
#include "recon/reconstruction_parts.h"

size_t qb__candidate_chunks(const qb__candidate *c, const qb__cut *cut) {
    return c->offer.space.views_stream ? cut->slabs * cut->blocks : cut->slabs;
}

/* Of the output. */
static size_t chunks_out(const qb__candidate *c, const qb__cut *cut) {
    return c->r->decision.of_views ? cut->blocks : cut->slabs * cut->pieces;
}

/* Of this process' share of the scan's file, each number once unless the method says what it `reads`. */
static double read_seconds(const qb__reconstruction *r, const qb__cut *cut, double reads) {
    const qb_scan_info *info = r->task.info;
    const qb__decision *d = &r->decision;
    if (!info) return 0;
    const double computed = r->task.scan ? qb__scan_computed(r->task.scan) : 0;
    const double number = (double)qb_dtype_size(info->dtype);
    const double bytes = (double)info->views * (double)(d->row1 - d->row0) * (double)info->columns * number;
    const double share = d->of_views || d->instead ? 1
                         : r->share.ranks          ? 1.0 / r->comm->count
                                                   : (double)cut->count / (double)d->stack.shape[0];
    const double all = reads > 0 ? reads : share * bytes;
    return all / (computed > 0 ? computed : r->task.read) + qb__phase_seconds(r->phase, all / number, r->task.threads);
}

/* What is kept of the scan comes with the first slab, and a thicker one takes longer than those after it. */
static void weigh_first(const qb__cut *cut, qb__stage *stages, int count) {
    const double thinner = cut->lead > 1 ? (double)cut->thickness / (double)cut->slices : 1;
    size_t each = cut->blocks; /* chunks of a slab */
    bool of_scan = true;
    for (int i = 0; i < count; i++) {
        of_scan = of_scan && !stages[i].gather;
        if (stages[i].scatter) each *= stages[i].scatter;
        stages[i].first = each;
        stages[i].later = of_scan && cut->kept ? 0 : thinner;
        if (stages[i].gather) each /= stages[i].gather;
    }
}

int qb__candidate_stages(const qb__candidate *c, const qb__cut *cut, qb__stage *stages) {
    qb__reconstruction *r = c->r;
    const bool of_views = r->decision.of_views;
    const size_t columns = r->share.ranks ? (size_t)r->share.ranks->columns : 1, chunks = chunks_out(c, cut);
    const size_t images = of_views ? cut->views : qb__smaller(cut->piece, qb__ceil_div(cut->slices, columns));
    const size_t last = of_views                         ? c->offer.space.views - (cut->blocks - 1) * cut->views
                        : columns > 1 || cut->pieces > 1 ? images
                                                         : qb__cut_last(cut, c->offer.space.slices);
    qb__slot_maker source = {0};
    int n = r->method->stages(r->plan, cut, stages);
    int more = c->engine->stages(c->offer.state, cut, &source, stages + n);
    stages[n - 1].maker = source;
    n += more;
    more = c->offer.sums ? 0 : qb__ranks_stages(r, cut, stages + n);
    if (more && stages[n].in_place && chunks > 1)
        stages[n - 1].slots++; /* one is summed and another written meanwhile */
    n += more;
    const size_t slots = cut->pieces > 1 ? 2 : chunks > 1 ? cut->slots : 1;
    n += qb__volume_stages(&r->volume, c->offer.converts, images, last, slots, stages + n);
    if (cut->kept || cut->lead > 1) weigh_first(cut, stages, n);
    if (!(stages[0].forecast > 0))
        stages[0].forecast =
            read_seconds(r, cut, stages[0].reads) /
            qb__progress_rate_worth(stages[0].first, stages[0].later, (double)qb__candidate_chunks(c, cut));
    return n;
}

int qb__engines_stages(qb__reconstruction *r, qb__stage *stages, size_t *chunks) {
    const qb__candidate *c = qb__chosen(r);
    *chunks = qb__candidate_chunks(c, &r->pick.cut);
    return qb__candidate_stages(c, &r->pick.cut, stages);
}
