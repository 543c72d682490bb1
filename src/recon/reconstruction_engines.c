/* SPDX-License-Identifier: MIT */
/* Which engine computes, in what cut, and what happens when there is less room than was forecast. */
#include <stdint.h>
#include <stdio.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "job/budget.h"
#include "recon/reconstruction_parts.h"

/* ---- what a cut holds ---- */

/* Chunks that the first stage makes; chunks of the output. */
static size_t chunks_in(const qb__candidate *c, const qb__cut *cut) {
    return c->offer.space.views_stream ? cut->slabs * cut->blocks : cut->slabs;
}

static size_t chunks_out(const qb__candidate *c, const qb__cut *cut) {
    return c->r->decision.of_views ? cut->blocks : cut->slabs;
}

static int stages_of(const qb__candidate *c, const qb__cut *cut, qb__stage *stages) {
    qb__reconstruction *r = c->r;
    const bool of_views = r->decision.of_views;
    const size_t images = of_views ? cut->views : cut->slices, chunks = chunks_out(c, cut);
    const size_t last = of_views ? c->offer.space.views - (cut->blocks - 1) * cut->views
                                 : qb__cut_last(cut, c->offer.space.slices);
    qb__slot_maker source = {0};
    int n = r->method->stages(r->plan, cut, stages);
    int more = c->engine->stages(c->offer.state, cut, &source, stages + n);
    stages[n - 1].maker = source;
    n += more;
    return n + qb__volume_stages(&r->volume, images, last, chunks > 1 ? cut->slots : 1, stages + n);
}

static qb__room need(void *context, const qb__cut *cut) {
    const qb__candidate *c = context;
    qb__stage stages[QB__STAGES_MAX];
    const int count = stages_of(c, cut, stages);
    qb__room room = c->engine->memory(c->offer.state, cut);
    room.host += c->r->held + qb__pipeline_bytes(stages, count, chunks_in(c, cut)) +
                 (size_t)c->r->task.threads * c->engine->scratch(c->offer.state, cut);
    return room;
}

static double seconds(void *context, const qb__cut *cut) {
    const qb__candidate *c = context;
    return c->engine->seconds(c->offer.state, cut);
}

static void slabs(void *context, const qb__cut *cut, const size_t *edge) {
    const qb__candidate *c = context;
    if (c->r->method->slabs) c->r->method->slabs(c->r->plan, cut, edge);
    if (c->engine->slabs) c->engine->slabs(c->offer.state, cut, edge);
}

/* ---- offers ---- */

static qb_status no_room(qb__candidate *c, const qb__cut *least, const qb_env *env) {
    const qb__cut_space *space = &c->offer.space;
    if (least->need.device > space->cap.device)
        return c->engine->no_room(c->offer.state, least, &space->cap, env);
    return qb__too_small(space, least);
}

static qb_status cut_for(qb__candidate *c, const qb_env *env, bool *fits) {
    qb__cut_space *space = &c->offer.space;
    space->cap.host = c->r->cap;
    space->context = c;
    space->need = need;
    space->slabs = slabs;
    space->seconds = c->offer.timed ? seconds : NULL;
    qb_status status = qb__cut_search(space, &c->cut, fits);
    if (status == QB_OK && !*fits) return no_room(c, &c->cut, env);
    if (status == QB_OK) c->cut.seconds = seconds(c, &c->cut);
    return status;
}

static void drop(qb__candidate *c) {
    if (c->offer.state) c->engine->destroy(c->offer.state);
    *c = (qb__candidate){0};
}

static void tell_next(const qb_env *env, const char *why) {
    qb__info(env, "--device auto: the CPU computes: %s", why);
}

/* The whole job, from nothing to the last chunk. */
static double whole(const qb__candidate *c) {
    return c->cut.seconds + (c->engine->start ? c->engine->start(c->offer.state) : 0);
}

/* Before those that take longer. */
static void insert(qb__reconstruction *r, const qb__candidate *c) {
    int at = r->candidates++;
    for (; at > 0 && whole(&r->candidate[at - 1]) > whole(c); at--) {
        r->candidate[at] = r->candidate[at - 1];
        r->candidate[at].offer.space.context = &r->candidate[at];
    }
    r->candidate[at] = *c;
    r->candidate[at].offer.space.context = &r->candidate[at];
}

/* What an engine answers: it is among the candidates, or alone when it was named; or it is not, which
 * fails when it was. */
static qb_status ask(qb__reconstruction *r, const qb__engine *engine, const qb_env *env) {
    qb__candidate c = {.r = r, .engine = engine, .offer.space.cap.device = SIZE_MAX};
    bool fits = true;
    const size_t before = qb__resident_bytes();
    qb_status status = engine->decide(&r->task, r->plan, env, &c.offer);
    const size_t after = qb__resident_bytes();
    if (after > before)
        r->held += after - before; /* libraries of devices, loaded to look for them */
    if (status == QB_OK && c.offer.state) status = cut_for(&c, env, &fits);
    if (status != QB_OK || !c.offer.state) {
        const bool final = c.offer.named || (status == QB_NO_MEMORY && fits);
        drop(&c);
        r->ends = final && status != QB_OK;
        return status;
    }
    if (c.offer.named) qb__engines_destroy(r);
    r->ends = c.offer.named;
    insert(r, &c);
    return QB_OK;
}

/* Not worth looking for: others are done before it has started. */
static bool is_late(const qb__reconstruction *r, const qb__engine *engine, const qb_env *env) {
    if (!engine->least || r->candidates == 0) return false;
    const double least = engine->least(env), other = whole(&r->candidate[0]);
    if (!(other < least)) return false;
    qb__log(env, QB_LOG_DEBUG,
            "--device auto: about %.2g s on the CPU; a device is not looked for, "
            "which takes %.2g s",
            other, least);
    return true;
}

static void tell_order(const qb__reconstruction *r, const qb_env *env) {
    const qb__candidate *c = r->candidate;
    if (r->candidates < 2 || c[0].engine->start) return;
    qb__info(env,
             "--device auto: the CPU computes: it is forecast to take %.2g s, %s %.2g s with what "
             "starting it takes",
             whole(&c[0]), c[1].engine->place, whole(&c[1]));
}

/* Those that were asked before others took memory are cut to what is left; those that it is too little
 * for are none any more. */
static qb_status cut_again(qb__reconstruction *r, const qb_env *env) {
    const int count = r->candidates;
    qb_status status = QB_OK;
    r->candidates = 0;
    for (int i = 0; i < count; i++) {
        qb__candidate c = r->candidate[i];
        bool fits = true;
        qb_status failed = cut_for(&c, env, &fits);
        if (failed == QB_OK) {
            insert(r, &c);
        } else {
            status = failed;
            drop(&c);
        }
    }
    return r->candidates || count == 0 ? QB_OK : status;
}

qb_status qb__engines_decide(qb__reconstruction *r, const qb_env *env) {
    const qb__engine *refused = NULL;
    const size_t held = r->held;
    qb_status first = QB_OK;
    char why[1024] = "";
    r->ends = false;
    for (const qb__engine *const *engine = r->method->engines; *engine && !r->ends; engine++) {
        if (is_late(r, *engine, env)) continue;
        qb_status status = ask(r, *engine, env);
        if (status == QB_OK) continue;
        if (r->ends) return status;
        if (r->candidates > 0) tell_next(env, qb_detail());
        if (refused) continue;
        first = status;
        refused = *engine;
        snprintf(why, sizeof why, "%s", qb_detail());
    }
    if (r->held > held) {
        qb_status status = cut_again(r, env);
        if (status == QB_OK && r->candidates == 0)
            status = ask(r, refused, env); /* needs more now */
        if (status != QB_OK) return status;
    }
    tell_order(r, env);
    return r->candidates ? QB_OK : qb__fail(first, "%s", why);
}

void qb__engines_destroy(qb__reconstruction *r) {
    for (int i = 0; i < r->candidates; i++) drop(&r->candidate[i]);
    r->candidates = 0;
}

/* ---- the cut that is taken ---- */

static void fill_edges(qb__reconstruction *r) {
    const qb__candidate *c = qb__chosen(r);
    const qb__cut *cut = &r->cut;
    qb__cut_edges(&c->offer.space, r->edge, &r->cut);
    r->volume.edge = r->edge;
    if (!r->decision.of_views) return;
    for (size_t i = 0; i < cut->blocks; i++) r->edge[i] = i * cut->views;
    r->edge[cut->blocks] = c->offer.space.views;
}

void qb__engines_settle(qb__reconstruction *r) {
    qb__candidate *c = qb__chosen(r);
    fill_edges(r);
    r->cut.need = need(c, &r->cut);
    r->cut.seconds = seconds(c, &r->cut);
    r->memory = r->cut.need.host;
    r->start = c->engine->start ? c->engine->start(c->offer.state) : 0;
    if (r->method->spend)
        r->memory +=
            r->method->spend(r->plan, &r->cut, r->cap > r->memory ? r->cap - r->memory : 0);
    if (r->before > r->memory) r->memory = r->before;
}

qb_status qb__engines_choose(qb__reconstruction *r, int number, const qb_env *env) {
    qb__candidate *c = &r->candidate[number];
    const size_t slices = c->offer.space.slices, views = c->offer.space.views;
    r->chosen = number;
    r->cut = c->cut;
    qb__free(r->edge);
    qb_status status = qb__alloc((slices > views ? slices : views) + 2, sizeof *r->edge, &r->edge);
    if (status != QB_OK) return status;
    qb__engines_settle(r);
    if (c->engine->tell) c->engine->tell(c->offer.state, env);
    return QB_OK;
}

/* ---- opening ---- */

static qb_status take_scratch(qb__reconstruction *r) {
    const qb__candidate *c = qb__chosen(r);
    const size_t threads = (size_t)r->task.threads;
    const size_t bytes = c->engine->scratch(c->offer.state, &r->cut);
    qb_status status;
    QB__TRY(qb__alloc(threads, sizeof *r->running.counts, &r->running.counts));
    QB__TRY(qb__alloc(threads, sizeof *r->running.scratch, &r->running.scratch));
    for (size_t i = 0; i < threads; i++) QB__TRY(qb__alloc(bytes, 1, &r->running.scratch[i]));
out:
    return status;
}

static qb_status open_cut(qb__reconstruction *r) {
    const qb__candidate *c = qb__chosen(r);
    qb__stage stages[QB__STAGES_MAX];
    qb_status status;
    QB__TRY(take_scratch(r));
    if (r->method->open) QB__TRY(r->method->open(r->plan, &r->cut));
    r->opened = true;
    QB__TRY(c->engine->open(c->offer.state, &r->cut, &r->running));
    int count = stages_of(c, &r->cut, stages);
    QB__TRY(qb__pipeline_create(stages, count, chunks_in(c, &r->cut), &r->line));
    qb__pipeline_call(r->line, r->method->verb);
out:
    return status;
}

void qb__engines_close(qb__reconstruction *r) {
    const qb__candidate *c = qb__chosen(r);
    qb__pipeline_destroy(r->line);
    if (r->opened && c->engine->close) c->engine->close(c->offer.state);
    if (r->method->close) r->method->close(r->plan);
    for (int i = 0; r->running.scratch && i < r->task.threads; i++) qb__free(r->running.scratch[i]);
    qb__free(r->running.scratch);
    qb__free(r->running.counts);
    r->line = NULL;
    r->running.scratch = NULL;
    r->running.counts = NULL;
}

/* Less at a time; false when nothing is left to take away. */
static bool shrink(qb__reconstruction *r, const qb_env *env) {
    const qb__candidate *c = qb__chosen(r);
    const qb__cut was = r->cut;
    char why[512];
    snprintf(why, sizeof why, "%s", qb_detail());
    if (!qb__cut_less(&c->offer.space, &r->cut)) return false;
    qb__engines_settle(r);
    if (r->cut.slices < was.slices)
        qb__warn(env, "%s has no room for %zu slices at a time (%s); now with %zu",
                 c->engine->place, was.slices, why, r->cut.slices);
    else if (r->cut.slots < was.slots)
        qb__warn(env, "%s has no room for two buffers (%s); now with one", c->engine->place, why);
    else
        qb__warn(env, "%s has no room for so many views at a time (%s); now with %zu",
                 c->engine->place, why, r->cut.views);
    return true;
}

/* The next engine, when the chosen one has no room for anything; else its refusal. */
static qb_status next_engine(qb__reconstruction *r, const qb_env *env) {
    const qb__candidate *c = qb__chosen(r);
    qb_status status = QB_NO_MEMORY;
    if (c->engine->no_room) status = c->engine->no_room(c->offer.state, &r->cut, NULL, env);
    if (c->offer.named || r->chosen + 1 == r->candidates) return status;
    tell_next(env, qb_detail());
    if (r->opened && c->engine->finish) c->engine->finish(c->offer.state, NULL, NULL);
    r->opened = false;
    return qb__engines_choose(r, r->chosen + 1, env);
}

qb_status qb__engines_open(qb__reconstruction *r, const qb_env *env) {
    bool changed = false;
    qb_status status = open_cut(r);
    while (status == QB_NO_MEMORY) {
        qb__engines_close(r);
        changed = true;
        if (!shrink(r, env)) {
            status = next_engine(r, env);
            if (status != QB_OK) return status;
        }
        status = open_cut(r);
    }
    if (status == QB_OK && changed) status = qb__reconstruction_describe(r);
    return status;
}
