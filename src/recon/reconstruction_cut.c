/* SPDX-License-Identifier: MIT */
/* What a cut of a job holds and takes with an engine, and where its chunks begin. */
#include <stdint.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/status.h"
#include "job/budget.h"
#include "recon/reconstruction_parts.h"

static qb__room need(void *context, const qb__cut *cut) {
    const qb__candidate *c = context;
    qb__stage stages[QB__STAGES_MAX];
    const int count = qb__candidate_stages(c, cut, stages);
    qb__room room = c->engine->memory(c->offer.state, cut);
    room.host += c->r->held + qb__pipeline_bytes(stages, count, qb__candidate_chunks(c, cut)) +
                 (size_t)c->r->task.threads * room.scratch;
    return room;
}

static double candidate_seconds(const qb__candidate *c, const qb__cut *cut) {
    if (c->engine->seconds) return c->engine->seconds(c->offer.state, cut);
    qb__stage stages[QB__STAGES_MAX];
    const int count = qb__candidate_stages(c, cut, stages);
    return qb__play_stages(stages, count, qb__candidate_chunks(c, cut), c->r->task.threads, NULL, NULL);
}

static double seconds(void *context, const qb__cut *cut) { return candidate_seconds(context, cut); }

static void slabs(void *context, const qb__cut *cut, const size_t *edge) {
    const qb__candidate *c = context;
    if (c->engine->slabs) c->engine->slabs(c->offer.state, cut, edge);
}

/* ---- the cut for an engine ---- */

qb_status qb__candidate_no_room(const qb__candidate *c, const qb__cut *least, const qb__room *cap, const qb_env *env) {
    qb__job_facts facts = {0};
    c->engine->facts(c->offer.state, least, &facts);
    const size_t bytes = cap ? least->need.device : c->engine->memory(c->offer.state, least).device;
    return qb__device_no_room(bytes, cap, facts.needs, facts.remedy, env);
}

static qb_status no_room(qb__candidate *c, const qb__cut *least, const qb_env *env) {
    const qb__cut_space *space = &c->offer.space;
    if (least->need.device > space->cap.device) return qb__candidate_no_room(c, least, &space->cap, env);
    const qb_status status = qb__too_small(space, least, c->r->job.caller);
    qb__job_facts facts = {0};
    char said[512];
    c->engine->facts(c->offer.state, least, &facts);
    if (!facts.alternative[0]) return status;
    snprintf(said, sizeof said, "%s", qb_detail());
    return qb__fail(status, "%s; %s", said, facts.alternative);
}

/* Of a rank only its own slices are cut; in a grid by thicknesses that suit all of them. */
static void take_share(const qb__candidate *c, qb__cut_space *space) {
    qb__reconstruction *r = c->r;
    if (!r->comm || space->shared) return;
    space->shared = true;
    size_t tallest = r->share.count;
    if (r->share.ranks) {
        r->share.grid.layers = space->layers;
        tallest = qb__cut_tallest(&r->share.grid);
        space->grid = &r->share.grid;
        const size_t turns = space->turns ? space->turns : 1, all = space->views / turns;
        qb__cut_rank(all, space->grid->view_grain, space->grid->columns, space->grid->column, &space->view0,
                     &space->views);
        if (space->views == 0) space->view0 = all - 1, space->views = 1; /* the room of one, for none */
        space->views *= turns;                                           /* as many of each range */
    }
    if (c->engine->slabs)
        space->layers = qb__layers_from(&space->layers, r->share.first, r->share.count);
    else /* an engine that does not ask where slabs begin takes them to be equal, from its first slice on */
        space->layers = (qb__layers){.thickness = space->layers.thickness};
    space->first = r->share.first;
    space->slices = r->share.count;
    space->most = qb__smaller(space->most, qb__round_up(tallest, space->layers.thickness));
}

/* Columns share what a block takes of each of its ranges of views. */
static qb_status check_columns(const qb__reconstruction *r, const qb__cut_space *space) {
    const int columns = r->share.ranks ? r->share.ranks->columns : 1;
    const size_t turns = space->turns ? space->turns : 1;
    if (turns == 1 || space->shared || space->views / turns >= (size_t)columns) return QB_OK;
    return qb__fail(QB_BAD_ARGUMENT,
                    "--grid %s: the kernel takes views from %zu parts of the turn together, and %zu views of each "
                    "cannot be shared by "
                    "%d columns: give fewer, or another --kernel",
                    r->decision.grid, turns, space->views / turns, columns);
}

/* Both sides of the mirror in a slab spare a kernel half its work, and slabs that lie farther out read rows on both sides: where
 * reading takes longest, slabs of neighbours may be faster. The bits are the same. */
static qb_status try_unpaired(qb__candidate *c, bool *fits) {
    const qb__cut_space plain = qb__cut_unpaired(&c->offer.space);
    qb__cut cut;
    bool other;
    qb_status status = qb__cut_search(&plain, &cut, &other);
    if (status != QB_OK) return status;
    const qb__room *need = &cut.need, *paired = &c->cut.need;
    const bool less = need->host + need->device < paired->host + paired->device;
    if (other != *fits ? other : other ? cut.seconds < c->cut.seconds : less) {
        c->offer.space = plain;
        c->cut = cut;
        *fits = other;
    }
    size_t *edge; /* what slabs were told of last are those of the cut that is taken */
    status = qb__alloc(c->offer.space.slices + 2, sizeof *edge, &edge);
    if (status == QB_OK) qb__cut_edges(&c->offer.space, edge, &c->cut);
    qb__free(edge);
    return status;
}

qb_status qb__candidate_cut(qb__candidate *c, const qb_env *env, bool *fits) {
    qb__cut_space *space = &c->offer.space;
    const qb_status shared = check_columns(c->r, space);
    if (shared != QB_OK) return shared;
    take_share(c, space);
    *fits = true;
    c->cut = (qb__cut){0};
    if (qb__idle(c->r)) return QB_OK;
    space->cap.host = c->r->cap;
    space->context = c;
    space->need = need;
    space->slabs = slabs;
    space->seconds = c->offer.timed ? seconds : NULL;
    qb_status status = qb__ranks_cap(c);
    if (status == QB_OK) status = qb__cut_search(space, &c->cut, fits);
    if (status == QB_OK && space->either) status = try_unpaired(c, fits);
    if (status == QB_OK && !*fits) return no_room(c, &c->cut, env);
    if (status == QB_OK) c->cut.seconds = candidate_seconds(c, &c->cut);
    return status;
}

/* ---- the cut that is taken ---- */

/* Of a slab the slices that this rank writes: all, or of ranks of a grid the part that it has the sum of. */
static void own_of(const qb__reconstruction *r, size_t slab, size_t *first, size_t *count) {
    const qb__cut_grid *grid = &r->share.grid;
    const size_t *edge = r->pick.edge + slab;
    const bool summed = r->share.ranks && r->share.ranks->columns > 1;
    *first = 0, *count = edge[1] - edge[0];
    if (summed) qb__cut_rank(*count, 1, grid->columns, grid->column, first, count);
}

/* Chunks of the output: slabs, in pieces where they leave in such. Edges may count folded slices. */
static void fill_chunks(qb__reconstruction *r, bool runs) {
    const size_t slices = r->decision.stack.shape[0];
    qb__pick *p = &r->pick;
    const qb__cut *cut = &p->cut;
    for (size_t i = 0; i < cut->slabs * cut->pieces; i++) {
        const size_t slab = i / cut->pieces, at = i % cut->pieces * cut->piece;
        size_t first, count;
        own_of(r, slab, &first, &count);
        const size_t from = first + qb__smaller(at, count), to = first + qb__smaller(at + cut->piece, count);
        const qb__runs whole = qb__mirrored_runs(slices, cut->paired, p->edge[slab], p->edge[slab + 1]),
                       some = qb__runs_part(&whole, from, to);
        p->begin[i] = some.of[0].first, p->end[i] = some.of[0].end;
        p->begin2[i] = some.of[1].first, p->end2[i] = some.of[1].end;
    }
    qb__volume_chunks(&r->volume, p->begin, p->end, runs ? cut->slabs * cut->pieces : 0);
    if (cut->paired) qb__volume_pairs(&r->volume, p->begin2, p->end2);
}

static void fill_edges(qb__reconstruction *r) {
    qb__volume_chunks(&r->volume, r->pick.edge, r->pick.edge + 1, 0);
    if (qb__idle(r)) return;
    const qb__candidate *c = qb__chosen(r);
    const qb__cut *cut = &r->pick.cut;
    qb__cut_edges(&c->offer.space, r->pick.edge, &r->pick.cut);
    const bool parts = r->share.ranks && r->share.ranks->columns > 1;
    if (parts || cut->paired || cut->pieces > 1) fill_chunks(r, parts || cut->paired);
    if (!r->decision.of_views) return;
    for (size_t i = 0; i < cut->blocks; i++) r->pick.edge[i] = i * cut->views;
    r->pick.edge[cut->blocks] = c->offer.space.views;
}

void qb__engines_find_facts(qb__reconstruction *r) {
    const qb__candidate *c = qb__chosen(r);
    const size_t spare = r->pick.facts.spare;
    r->pick.facts = (qb__job_facts){.spare = spare};
    c->engine->facts(c->offer.state, &r->pick.cut, &r->pick.facts);
    if (r->method->facts) r->method->facts(r->plan, &r->pick.cut, &r->pick.facts);
}

void qb__engines_settle(qb__reconstruction *r) {
    qb__candidate *c = qb__chosen(r);
    qb__pick *p = &r->pick;
    fill_edges(r);
    p->memory = r->held;
    if (!qb__idle(r)) {
        p->cut.need = need(c, &p->cut);
        p->cut.seconds = candidate_seconds(c, &p->cut);
        p->memory = p->cut.need.host;
    }
    p->facts.spare = r->cap > p->memory ? r->cap - p->memory : 0;
    qb__engines_find_facts(r);
    p->memory += p->facts.spent;
    if (r->before > p->memory) p->memory = r->before;
}

qb_status qb__engines_choose(qb__reconstruction *r, int number, const qb_env *env) {
    qb__candidate *c = &r->candidate[number];
    const size_t slices = c->offer.space.slices, views = c->offer.space.views;
    r->pick.chosen = number;
    r->pick.cut = c->cut;
    qb__free(r->pick.edge);
    const size_t room = r->share.ranks ? qb__cut_room(&r->share.grid) : (slices > views ? slices : views) + 2;
    /* Pieces of slabs, the last of each shorter: no more than slabs and slices of slabs that are all as tall as the tallest. */
    const size_t chunks = c->offer.space.piece ? 5 * room : room;
    qb_status status = qb__alloc(room + 4 * chunks, sizeof *r->pick.edge, &r->pick.edge);
    if (status != QB_OK) return status;
    r->pick.begin = r->pick.edge + room;
    r->pick.end = r->pick.begin + chunks;
    r->pick.begin2 = r->pick.end + chunks;
    r->pick.end2 = r->pick.begin2 + chunks;
    qb__engines_settle(r);
    qb__facts_report(&r->pick.facts, env);
    return QB_OK;
}
