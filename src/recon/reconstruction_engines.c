/* SPDX-License-Identifier: MIT */
/* Choice of the engine. All engines are asked, and the one with the shortest forecast of the whole job is tried
 * first. */
#include <stdint.h>
#include <stdio.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"
#include "planner/device_costs.h"
#include "planner/device_select.h"
#include "recon/device_arrays.h"
#include "recon/reconstruction_parts.h"

static void drop(qb__candidate *c) {
    if (c->offer.state) c->engine->destroy(c->offer.state);
    QB__FREE(c->edge, c->chunks.chunk);
    *c = (qb__candidate){0};
}

void qb__engines_report_next(const qb_env *env, const char *why) {
    qb__info(env, "--device auto: the CPU computes: %s", why);
}

/* Forecast seconds of the whole job, from the start to the last chunk. */
static double whole(const qb__candidate *c) { return c->seconds + c->offer.start; }

/* Insert the candidate before those that take longer. */
static void insert(qb__reconstruction *r, const qb__candidate *c) {
    int at = r->candidates++;
    for (; at > 0 && whole(&r->candidate[at - 1]) > whole(c); at--) {
        r->candidate[at] = r->candidate[at - 1];
        r->candidate[at].offer.space.context = &r->candidate[at];
    }
    r->candidate[at] = *c;
    r->candidate[at].offer.space.context = &r->candidate[at];
}

/* Opens the devices when the first engine on devices is asked. */
static qb_status look_for_devices(qb__reconstruction *r, const qb_env *env) {
    if (r->looked) return QB_OK;
    const qb_status status = qb__device_set_near(r->task.scan, env, &r->devices);
    r->devices.held = qb__phase_device_held(r->phase);
    r->looked = status == QB_OK;
    return status;
}

/* Ask one engine. offer->state stays NULL if the engine takes no part in this job. */
static qb_status offer_of(qb__reconstruction *r, const qb__engine *engine, const qb_env *env, qb__offer *offer) {
    qb__task task = r->task;
    qb_status status = engine->on_device ? look_for_devices(r, env) : QB_OK;
    if (engine->on_device) task.devices = &r->devices;
    if (status == QB_OK && (!engine->on_device || r->devices.count > 0))
        status = engine->decide(&task, r->plan, env, offer);
    offer->named |= qb__device_is_asked(env);
    return status;
}

static qb_status none_for_device(const qb__reconstruction *r, const qb_env *env) {
    return qb__fail(QB_BAD_ARGUMENT,
                    "--device %s: qb %s does not compute this job on devices: leave --device out, or give --device cpu",
                    env->device, r->method->verb);
}

/* Use the answer of an engine. If it offers, it becomes a candidate, or the only one if the user named its kernel. If
 * it declines although the user named it, the job fails. */
static qb_status ask(qb__reconstruction *r, const qb__engine *engine, const qb_env *env) {
    qb__candidate c = {.r = r, .engine = engine, .offer.space.cap = {r->cap, SIZE_MAX, 0}};
    bool fits = true;
    const size_t before = qb__resident_bytes();
    qb_status status = offer_of(r, engine, env, &c.offer);
    const size_t after = qb__resident_bytes();
    if (after > before) r->held += after - before; /* memory of the device libraries, loaded to look for devices */
    if (status == QB_OK && c.offer.state) status = qb__candidate_cut(&c, env, &fits);
    r->full |= !fits;
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

/* The libraries of devices alone take tens of MiB, even if no device is found. */
static bool is_cramped(const qb__reconstruction *r, const qb_env *env) {
    enum { AMPLE = 256 << 20 };
    if (r->cap >= AMPLE) return false;
    qb__log(env, QB_LOG_DEBUG, "--device auto: %.0f MiB are for the CPU alone; a device is looked for from 256 MiB on",
            (double)r->cap / 1048576.0);
    return true;
}

/* True if a device is not worth looking for: another engine finishes before a device has started, or did not fit in
 * memory although it needs less. A device that the user named is always looked for. */
static bool is_late(const qb__reconstruction *r, const qb__engine *engine, const qb_env *env) {
    if (!engine->on_device || qb__device_is_asked(env) || (r->candidates == 0 && !r->full)) return false;
    if (is_cramped(r, env)) return true;
    if (r->candidates == 0) return false;
    const double least = qb__device_least_start(env), other = whole(&r->candidate[0]);
    if (!(other < least)) return false;
    qb__log(env, QB_LOG_DEBUG,
            "--device auto: about %.2g s on the CPU; a device is not looked for, "
            "which takes %.2g s",
            other, least);
    return true;
}

static void tell_order(const qb__reconstruction *r, const qb_env *env) {
    const qb__candidate *c = r->candidate;
    if (r->candidates < 2 || c[0].engine->on_device) return;
    qb__info(env,
             "--device auto: the CPU computes: it is forecast to take %.2g s, %s %.2g s with what "
             "starting it takes",
             whole(&c[0]), qb__engine_place(c[1].engine), whole(&c[1]));
}

/* Engines that were asked before others took memory are cut again for the memory that is left. An engine that does not
 * fit any more is removed. */
static qb_status cut_again(qb__reconstruction *r, const qb_env *env) {
    const int count = r->candidates;
    qb_status status = QB_OK;
    r->candidates = 0;
    for (int i = 0; i < count; i++) {
        qb__candidate c = r->candidate[i];
        bool fits = true;
        qb_status failed = qb__candidate_cut(&c, env, &fits);
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
    const bool on_device = qb__device_is_asked(env);
    r->ends = r->full = false;
    for (const qb__engine *const *engine = r->method->engines; *engine && !r->ends; engine++) {
        if (on_device && !(*engine)->on_device) continue; /* no other may compute where the user named a device */
        if (is_late(r, *engine, env) || ((*engine)->last && r->candidates > 0)) continue;
        qb_status status = ask(r, *engine, env);
        if (status == QB_OK) continue;
        if (r->ends) return status;
        if (r->candidates > 0) qb__engines_report_next(env, qb_detail());
        if (refused && !(*engine)->last) continue;
        first = status;
        refused = *engine;
        snprintf(why, sizeof why, "%s", qb_detail());
    }
    if (on_device && r->candidates == 0) return none_for_device(r, env);
    if (r->held > held) {
        qb_status status = cut_again(r, env);
        if (status == QB_OK && r->candidates == 0) status = ask(r, refused, env); /* it now needs more memory */
        if (status != QB_OK) return status;
    }
    tell_order(r, env);
    return r->candidates ? QB_OK : qb__fail(first, "%s", why);
}

void qb__engines_destroy(qb__reconstruction *r) {
    for (int i = 0; i < r->candidates; i++) drop(&r->candidate[i]);
    r->candidates = 0;
}
