/* SPDX-License-Identifier: MIT */
/* What happens if there is less memory than forecast: smaller cuts, then other engines. */
#include <stdint.h>
#include <stdio.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "recon/reconstruction_parts.h"

static qb_status take_scratch(qb__reconstruction *r) {
    const qb__candidate *c = qb__chosen(r);
    const size_t threads = (size_t)r->task.threads;
    const size_t bytes = c->engine->memory(c->offer.state, &r->pick.cut).scratch;
    QB__OR_RETURN(qb__alloc(threads, sizeof *r->running.counts, &r->running.counts));
    QB__OR_RETURN(qb__alloc(threads, sizeof *r->running.scratch, &r->running.scratch));
    for (size_t i = 0; i < threads; i++) QB__OR_RETURN(qb__alloc(bytes, 1, &r->running.scratch[i]));
    return QB_OK;
}

static qb_status open_cut(qb__reconstruction *r) {
    const qb__candidate *c = qb__chosen(r);
    qb__stage stages[QB__STAGES_MAX];
    QB__OR_RETURN(take_scratch(r));
    if (r->method->open) QB__OR_RETURN(r->method->open(r->plan, &r->pick.cut));
    r->opened = true;
    if (c->engine->on_device && !r->devices.env) qb__compile_watch(&r->devices, r->running.env);
    QB__OR_RETURN(c->engine->open(c->offer.state, &r->pick.cut, &r->running));
    int count = qb__candidate_stages(c, &r->pick.cut, stages);
    QB__OR_RETURN(qb__pipeline_create(stages, count, qb__candidate_chunks(c, &r->pick.cut), &r->line));
    qb__pipeline_call(r->line, r->method->verb);
    return QB_OK;
}

void qb__engines_close(qb__reconstruction *r) {
    const qb__candidate *c = qb__chosen(r);
    qb__pipeline_destroy(r->line);
    if (r->opened && c->engine->close) c->engine->close(c->offer.state);
    for (int i = 0; r->running.scratch && i < r->task.threads; i++) qb__free(r->running.scratch[i]);
    QB__FREE(r->running.scratch, r->running.counts);
    r->line = NULL;
    r->running.scratch = NULL;
    r->running.counts = NULL;
}

/* Make the cut smaller; false if it cannot become smaller. */
static bool shrink(qb__reconstruction *r, const qb_env *env) {
    const qb__candidate *c = qb__chosen(r);
    const qb__cut was = r->pick.cut;
    char why[512];
    snprintf(why, sizeof why, "%s", qb_detail());
    if (!qb__cut_less(&c->offer.space, &r->pick.cut)) return false;
    qb__engines_settle(r);
    if (was.schedule != r->pick.cut.schedule)
        qb__warn(env,
                 "%s has no room to keep the data of all slabs (%s): each slab reads its own" QB__CODE("less-memory"),
                 qb__engine_place(c->engine), why);
    else if (r->pick.cut.slices < was.slices)
        qb__warn(env, "%s has no room for %zu slices at a time (%s): it goes on with %zu" QB__CODE("less-memory"),
                 qb__engine_place(c->engine), was.slices, why, r->pick.cut.slices);
    else if (r->pick.cut.slots < was.slots)
        qb__warn(env, "%s has no room for two buffers (%s): it goes on with one" QB__CODE("less-memory"),
                 qb__engine_place(c->engine), why);
    else
        qb__warn(env, "%s has no room for so many views at a time (%s): it goes on with %zu" QB__CODE("less-memory"),
                 qb__engine_place(c->engine), why, qb__cut_bundled(&c->offer.space, r->pick.cut.views));
    return true;
}

/* The next engine, if the chosen one has no memory even for the smallest cut; else its error. */
static qb_status next_engine(qb__reconstruction *r, const qb_env *env) {
    const qb__candidate *c = qb__chosen(r);
    qb_status status = QB_NO_MEMORY;
    if (c->engine->on_device) status = qb__candidate_no_room(c, &r->pick.cut, NULL, env);
    if (c->offer.named || r->pick.chosen + 1 == r->candidates) return status;
    qb__engines_report_next(env, qb_detail());
    qb__compile_done(&r->devices, NULL);
    r->opened = false;
    qb__engines_choose(r, r->pick.chosen + 1, env);
    return QB_OK;
}

/* A cut for all ranks: if one has no memory, all take a smaller one. */
static qb_status open_together(qb__reconstruction *r, const qb_env *env, bool *changed) {
    const qb__cut_space *space = &qb__chosen(r)->offer.space;
    char why[1024];
    for (;;) {
        const qb_status mine = open_cut(r);
        const qb__cut was = r->pick.cut;
        uint64_t lack = mine == QB_NO_MEMORY, less = 0;
        snprintf(why, sizeof why, "%s", qb_detail());
        qb_status status = qb__comm_sum(r->comm, lack ? QB_OK : mine, &lack, 1);
        if (status != QB_OK || lack == 0) return status;
        qb__engines_close(r);
        *changed = true;
        less = qb__cut_less(space, &r->pick.cut);
        status = qb__comm_sum(r->comm, QB_OK, &less, 1);
        if (status == QB_OK && less == 0)
            status = qb__agree(r->comm, mine == QB_OK ? QB_OK : qb__fail(mine, "%s", why));
        if (status == QB_OK) status = qb__ranks_cut(r);
        if (status != QB_OK) return status;
        qb__warn(
            env,
            "%llu of %d ranks had no room for %zu slices and %zu views at a time: all go on with %zu and %zu" QB__CODE(
                "less-memory"),
            (unsigned long long)lack, r->comm->count, was.slices, qb__cut_bundled(space, was.views), r->pick.cut.slices,
            qb__cut_bundled(space, r->pick.cut.views));
    }
}

qb_status qb__engines_open(qb__reconstruction *r, const qb_env *env) {
    bool changed = false;
    qb_status status = r->share.ranks ? open_together(r, env, &changed) : open_cut(r);
    while (status == QB_NO_MEMORY && !r->share.ranks) {
        qb__engines_close(r);
        changed = true;
        if (!shrink(r, env)) {
            status = next_engine(r, env);
            if (status != QB_OK) return status;
        }
        status = open_cut(r);
    }
    if (status == QB_OK && r->share.ranks && qb__chosen(r)->engine->join)
        status = qb__chosen(r)->engine->join(qb__chosen(r)->offer.state);
    if (status == QB_OK && changed) status = qb__reconstruction_describe(r);
    return status;
}
