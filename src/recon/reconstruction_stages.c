/* SPDX-License-Identifier: MIT */
/* The stages of a job: those of the method, the engine, the ranks and the output. */
#include "io/scan/scan.h"
#include "recon/reconstruction_parts.h"

size_t qb__candidate_chunks(const qb__candidate *c, const qb__cut *cut) {
    return c->offer.space.views_stream ? cut->slabs * cut->blocks : cut->slabs;
}

/* For this process's share of the scan's file, each number once, unless the method has its own `reads`. */
static double read_seconds(const qb__reconstruction *r, const qb__cut *cut, double reads) {
    const qb_scan_info *info = r->task.info;
    const qb__decision *d = &r->decision;
    if (!info) return 0;
    const double computed = r->task.scan ? qb__scan_computed(r->task.scan) : 0;
    const double number = (double)qb_dtype_size(info->dtype);
    const double bytes = (double)info->views * (double)(d->row1 - d->row0) * (double)info->columns * number;
    const double share = d->of_views      ? 1
                         : r->share.ranks ? 1.0 / r->comm->count
                                          : (double)qb__run_count(cut->all_slices) / (double)d->stack.shape[0];
    const double all = reads > 0 ? reads : share * bytes;
    return all / (computed > 0 ? computed : r->task.read) + qb__phase_seconds(r->phase, all / number, r->task.threads) +
           qb__dense_seconds(r->dense, all / number, r->task.threads);
}

/* The output's stages take time for a chunk in proportion to the list. */
static void weigh(const qb__chunks *chunks, qb__stage *stages, int count) {
    const double later = chunks->count ? chunks->chunk[chunks->count - 1].weight : 1;
    size_t first = 0;
    if (!(later < 1)) return;
    while (chunks->chunk[first].slab == 0) first++;
    for (int i = 0; i < count; i++) stages[i].first = first, stages[i].later = later;
}

int qb__candidate_stages(const qb__candidate *c, const qb__cut *cut, qb__stage *stages) {
    qb__reconstruction *r = c->r;
    const qb__chunks *list = &c->chunks;
    const bool of_views = r->decision.of_views != NULL, pieces = list->count > cut->slabs && !of_views;
    const size_t chunks = of_views ? cut->blocks : list->count, images = of_views ? cut->views : list->most;
    const size_t last = of_views ? c->offer.space.views - (cut->blocks - 1) * cut->views
                        : pieces || (cut->grid && cut->grid->columns > 1) ? images
                                                                          : qb__cut_last(cut, c->offer.space.slices);
    qb__slot_maker source = {0};
    int n = r->method->stages(r->plan, cut, stages);
    int more = c->engine->stages(c->offer.state, cut, &source, stages + n);
    stages[n - 1].maker = source;
    n += more;
    more = c->offer.sums ? 0 : qb__ranks_stages(r, cut, stages + n);
    if (more && stages[n].in_place && chunks > 1) stages[n - 1].slots++; /* one is summed while another is written */
    n += more;
    const size_t slots = pieces ? 2 : chunks > 1 ? cut->slots : 1;
    more = qb__volume_stages(&r->volume, c->offer.converts, images, last, slots, stages + n);
    if (!of_views) weigh(list, stages + n, more);
    n += more;
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
