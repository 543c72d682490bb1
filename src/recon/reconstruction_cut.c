/* SPDX-License-Identifier: MIT */
/* Memory and time of a cut with an engine, and the limits of its chunks. */
#include <stdio.h>

#include "base/memory.h"
#include "base/status.h"
#include "job/job.h"
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

static void slabs(void *context, qb__cut *cut, size_t *edge) {
    qb__candidate *c = context;
    if (c->engine->slabs)
        c->engine->slabs(c->offer.state, cut, edge, &c->chunks);
    else
        qb__cut_chunks(cut, edge, &c->chunks);
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

/* A rank cuts only its own slices. In a grid of ranks the thickness must suit all ranks. */
static void take_share(const qb__candidate *c, qb__cut_space *space) {
    qb__reconstruction *r = c->r;
    if (!r->comm) return;
    size_t tallest = r->share.count;
    if (r->share.ranks) {
        r->share.grid.layers = space->layers;
        tallest = qb__cut_tallest(&r->share.grid);
        space->grid = &r->share.grid;
        const size_t all = space->views;
        qb__cut_rank(all, space->grid->view_grain, space->grid->columns, space->grid->column, &space->view0,
                     &space->views);
        /* a rank without views plans memory for one view */
        if (space->views == 0) space->view0 = all - 1, space->views = 1;
    }
    if (c->engine->slabs)
        space->layers = qb__layers_from(&space->layers, r->share.first, r->share.count);
    else /* an engine without slabs() assumes equal slabs, from its first slice on */
        space->layers = (qb__layers){.thickness = space->layers.thickness};
    space->first = r->share.first;
    space->slices = r->share.count;
    space->most = qb__smaller(space->most, qb__round_up(tallest, space->layers.thickness));
}

/* Allocate once: edges for any cut, and chunks for blocks of views. If slabs are divided into pieces, the last of each
 * shorter, there are at most as many pieces as slabs and slices together, counted as if all slabs were as thick as the
 * thickest. */
static qb_status take_room(qb__candidate *c) {
    const qb__cut_space *space = &c->offer.space;
    if (c->edge) return QB_OK;
    take_share(c, &c->offer.space);
    const size_t most = space->grid ? qb__cut_room(space->grid) : qb__larger(space->slices, space->views) + 2;
    QB__OR_RETURN(qb__alloc(most, sizeof *c->edge, &c->edge));
    return qb__alloc((c->engine->slabs ? 5 : 1) * most, sizeof *c->chunks.chunk, &c->chunks.chunk);
}

static qb_status search(qb__candidate *c, bool *fits) {
    qb__cut_space *space = &c->offer.space;
    space->cap.host = c->r->cap;
    space->context = c;
    space->need = need;
    space->slabs = slabs;
    space->seconds = c->offer.timed ? seconds : NULL;
    qb_status status = qb__ranks_cap(c);
    if (status == QB_OK) status = qb__cut_search(space, &c->cut, fits);
    if (status == QB_OK) c->seconds = candidate_seconds(c, &c->cut);
    return status;
}

/* Try the other kind of slabs, which gives the same bits. It is used if only these slabs fit, if they are faster, or if
 * they need less memory. */
static qb_status try_other(qb__candidate *c, bool *fits) {
    const qb__candidate first = *c;
    bool other;
    c->offer.space = *c->offer.other;
    QB__OR_RETURN(search(c, &other));
    const qb__room *need = &c->cut.need, *before = &first.cut.need;
    const bool less = need->host + need->device < before->host + before->device;
    if (other != *fits ? other : other ? c->seconds < first.seconds : less) {
        *fits = other;
        c->offer.other = NULL;
        return QB_OK;
    }
    *c = first;
    qb__cut_edges(&c->offer.space, c->edge, &c->cut); /* the engine has last seen the slabs of the other cut */
    return QB_OK;
}

qb_status qb__candidate_cut(qb__candidate *c, const qb_env *env, bool *fits) {
    qb_status status = take_room(c);
    *fits = true;
    if (status != QB_OK || qb__idle(c->r)) return status;
    status = search(c, fits);
    if (status == QB_OK && c->offer.other) status = try_other(c, fits);
    return status == QB_OK && !*fits ? no_room(c, &c->cut, env) : status;
}

/* ---- the cut that is taken ---- */

/* Chunks of the output are blocks of views. */
static void list_blocks(const qb__cut *cut, qb__candidate *c) {
    for (size_t i = 0; i <= cut->blocks; i++) c->edge[i] = qb__smaller(i * cut->views, c->offer.space.views);
    qb__cut_chunks(&(qb__cut){.slabs = cut->blocks, .slices = cut->views}, c->edge, &c->chunks);
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
    r->volume.chunks = &c->chunks;
    c->chunks.first = r->share.first;
    p->memory = r->held;
    if (!qb__idle(r)) {
        qb__cut_edges(&c->offer.space, c->edge, &p->cut);
        if (r->decision.of_views) list_blocks(&p->cut, c);
        p->cut.need = need(c, &p->cut);
        c->seconds = candidate_seconds(c, &p->cut);
        p->memory = p->cut.need.host;
    }
    p->facts.spare = r->cap > p->memory ? r->cap - p->memory : 0;
    qb__engines_find_facts(r);
    p->memory += p->facts.spent;
    if (r->before > p->memory) p->memory = r->before;
}

void qb__engines_choose(qb__reconstruction *r, int number, const qb_env *env) {
    r->pick.chosen = number;
    r->pick.cut = r->candidate[number].cut;
    qb__engines_settle(r);
    qb__facts_report(&r->pick.facts, env);
}
