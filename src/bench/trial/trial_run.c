/* SPDX-License-Identifier: MIT */
/* Times and checks an attempt: it is warmed up, compared with the oracle and repeated; the median time counts. */
#include "base/clock.h"
#include "base/memory.h"
#include "base/sort.h"
#include "base/status.h"
#include "bench/trial/trial_kind.h"

enum { REPEAT_MAX = 64 };

static const qb__trial_kind *kind_of(qb__operation operation, bool on_device) {
    static const qb__trial_kind *const kinds[] = {&qb__trial_parallel, &qb__trial_parallel_cpu, &qb__trial_cone,
                                                  &qb__trial_cone_cpu, &qb__trial_joseph};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i]->operation == operation && kinds[i]->on_device == on_device) return kinds[i];
    return NULL;
}

qb_status qb__trial_create(qb__operation operation, qb__device *device, const qb__trial_sizes *sizes,
                           qb__trial **trial) {
    const qb__trial_kind *kind = kind_of(operation, device);
    qb__trial *t;
    *trial = NULL;
    if (!kind)
        return qb__fail(QB_UNSUPPORTED, "there are no trials of %s kernels %s", qb__operation_of(operation)->whose,
                        device ? "on devices" : "on the CPU");
    qb_status status = qb__alloc(1, kind->bytes, &t);
    if (status != QB_OK) return status;
    t->kind = kind;
    t->device = device;
    t->views = sizes->views;
    t->pool = device ? NULL : sizes->pool;
    if (device) {
        QB__TRY(qb__queue_create(device, &t->queue));
        QB__TRY(qb__event_create(device, &t->from));
        QB__TRY(qb__event_create(device, &t->to));
    }
    QB__TRY(kind->make(t, sizes));
out:
    if (status == QB_OK)
        *trial = t;
    else
        qb__trial_destroy(t);
    return status;
}

void qb__trial_destroy(qb__trial *t) {
    if (!t) return;
    t->kind->release(t);
    QB__MEMORY_DESTROY(t->rows, t->out);
    qb__event_destroy(t->from);
    qb__event_destroy(t->to);
    qb__queue_destroy(t->queue);
    qb__free(t);
}

static const void *problem_of(const qb__trial *t) { return (const char *)t + t->kind->problem; }

qb__question qb__trial_question(const qb__trial *t) {
    return (qb__question){.operation = t->kind->operation,
                          .device = t->device ? qb__device_info_of(t->device) : NULL,
                          .problem = problem_of(t),
                          .slices = t->all};
}

/* ---- one attempt ---- */

static qb_status on_device(qb__trial *t, qb_status (*work)(qb__trial *), double *seconds) {
    QB__OR_RETURN(qb__event_record(t->from, t->queue));
    QB__OR_RETURN(work(t));
    QB__OR_RETURN(qb__event_record(t->to, t->queue));
    QB__OR_RETURN(qb__queue_finish(t->queue));
    return qb__event_seconds(t->from, t->to, seconds);
}

void qb__trial_each(qb__trial *t, size_t count, void (*run)(void *context, size_t task, int worker)) {
    if (t->pool) qb__pool_for(t->pool, count, run, t);
    for (size_t i = 0; !t->pool && i < count; i++) run(t, i, 0);
}

/* Time of some work: on a device by the device's clock, for one CPU thread its processor time, for several threads the
 * wall time. */
static qb_status elapsed(qb__trial *t, qb_status (*work)(qb__trial *), double *seconds) {
    if (t->queue) return on_device(t, work, seconds);
    const double from = t->pool ? qb__now() : qb__now_thread();
    const qb_status status = work(t);
    *seconds = (t->pool ? qb__now() : qb__now_thread()) - from;
    return status;
}

static qb_status open_attempt(qb__trial *t, qb__trial_result *result) {
    QB__OR_RETURN(t->kind->open(t, result));
    if (!t->device) {
        t->scratch_bytes = qb__round_up(t->scratch_bytes, 64);
        QB__OR_RETURN(qb__alloc(1, result->packed_bytes, &t->views_packed));
        return qb__alloc(t->pool ? (size_t)qb__pool_threads(t->pool) : 1, t->scratch_bytes, &t->scratch);
    }
    QB__OR_RETURN(qb__memory_create(t->device, result->packed_bytes, &t->packed));
    QB__OR_RETURN(qb__memory_fill(t->queue, t->packed, 0, 0xff, result->packed_bytes));
    return qb__memory_fill(t->queue, t->out, 0, 0xff, qb__memory_bytes(t->out));
}

static void close_attempt(qb__trial *t) {
    if (t->kind->close) t->kind->close(t);
    qb__memory_destroy(t->packed);
    QB__FREE(t->views_packed, t->scratch);
    t->packed = NULL;
    t->views_packed = t->scratch = NULL;
}

static double updates_of(const qb__trial *t) {
    if (t->kind->updates) return t->kind->updates(t);
    return qb__operation_of(t->kind->operation)->updates(problem_of(t)) * t->slices;
}

qb_status qb__trial_run(qb__trial *t, const qb__variant *row, const int *values, unsigned slices, int repeat,
                        qb__trial_result *result) {
    const qb__trial_kind *kind = t->kind;
    double seconds[REPEAT_MAX];
    qb_status status;
    t->row = row;
    t->values = values;
    t->slices = slices < t->all ? slices : t->all;
    if (row->most && t->slices > row->most) t->slices = row->most;
    if (repeat > REPEAT_MAX) repeat = REPEAT_MAX;
    *result = (qb__trial_result){0};
    QB__TRY(open_attempt(t, result));
    QB__TRY(elapsed(t, kind->pack, &result->pack_seconds)); /* warms up: compiling, first touch */
    QB__TRY(elapsed(t, kind->pass, &seconds[0]));
    QB__TRY(kind->error(t, &result->rel_l2));
    QB__TRY(elapsed(t, kind->pack, &result->pack_seconds));
    result->pack_seconds *= (double)t->views / (double)result->block;
    for (int i = 0; i < repeat; i++) QB__TRY(elapsed(t, kind->pass, &seconds[i]));
    result->seconds = qb__median(seconds, (size_t)repeat);
    result->fastest = seconds[0]; /* seconds[] is sorted by now */
    result->giga_updates = updates_of(t) / result->seconds * 1e-9;
out:
    close_attempt(t);
    return status;
}
