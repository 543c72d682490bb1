/* SPDX-License-Identifier: MIT */
#include "job/pipeline.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/share.h"
#include "base/status.h"

typedef struct station {
    qb__pipeline *line;
    qb__stage stage;
    int index;
    void **ring; /* [slots], or fewer if there are fewer outputs */
    size_t rings;
    size_t chunks, started, finished;
    size_t share;            /* chunks of one output that `only` counts */
    double cpu, busy, since; /* seconds */
    size_t tasks, ended;     /* tasks of the current chunk */
    double spent;            /* seconds inside tasks, over all threads */
    double others;           /* processor time of helper threads before the chunk began */
    qb__batch batch;         /* the current chunk of a computing stage */
    pthread_t thread;        /* thread of a blocking stage */
    bool has_thread;
} station;

struct qb__pipeline {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    station station[QB__STAGES_MAX];
    int count;
    qb__pool *pool;
    const qb_env *env;
    const size_t *only; /* outputs to be made; NULL: all */
    int in_hand;        /* stages that have a chunk in work */
    const char *name;
    double from, told; /* time of the start; time of the last progress message */
    qb_status status;
    char detail[1024];
};

/* The first failure counts; running chunks end by themselves, and no new ones start. */
static void fail(qb__pipeline *line, qb_status status) {
    if (line->status != QB_OK) return;
    line->status = status;
    snprintf(line->detail, sizeof line->detail, "%s", qb_detail());
}

static size_t gathered(const station *s) { return s->stage.gather ? s->stage.gather : 1; }

static size_t scattered(const station *s) { return s->stage.scatter ? s->stage.scatter : 1; }

/* Number of a chunk among all chunks, for the outputs that are made. */
static size_t number(const station *s, size_t chunk) {
    const size_t *only = s->line->only;
    return only ? only[chunk / s->share] * s->share + chunk % s->share : chunk;
}

static void *slot(const station *s, size_t output) {
    while (s->stage.in_place) s--;
    return s->ring ? s->ring[output % s->stage.slots] : NULL;
}

/* The last stage that uses the slot of a stage. */
static const station *user_of(const station *s) {
    do s++;
    while (s->stage.in_place);
    return s;
}

/* A stage may begin its next chunk if it is idle, its input is ready, and its output buffer is free again. */
static bool ready(const qb__pipeline *line, const station *s) {
    if (line->status != QB_OK || s->started > s->finished || s->started == s->chunks) return false;
    const station *before = s - 1;
    if (s->index > 0 && before->finished / gathered(before) <= s->started / scattered(s)) return false;
    if (s->index + 1 == line->count || s->stage.in_place) return true;
    const station *user = user_of(s);
    return s->started / gathered(s) < user->finished / scattered(user) + s->stage.slots;
}

/* ---- progress ---- */

enum { ALL = 1000 };

/* Finished chunks, with fractions. */
static double done_of(const station *s) {
    const double part = s->tasks && s->started > s->finished ? (double)s->ended / (double)s->tasks : 0;
    return (double)s->finished + part;
}

/* The same, as time. */
static double worth_of(const station *s) { return qb__progress_rate_worth(s->stage.first, s->stage.later, done_of(s)); }

/* Ratio of measured to forecast time of the computing stages so far. */
static double correction(const qb__pipeline *line) {
    double spent = 0, forecast = 0;
    for (int i = 0; i < line->count; i++) {
        const station *s = &line->station[i];
        if (s->stage.blocking || !(s->stage.forecast > 0)) continue;
        spent += s->spent;
        forecast += s->stage.forecast * worth_of(s);
    }
    return forecast > 0 && spent > 0 ? spent / forecast : 1;
}

/* Remaining seconds: from the measured times of the stages, and from forecasts for stages that have hardly begun. */
static double left(const qb__pipeline *line) {
    const double BEGUN = 0.02, wrong = correction(line);
    qb__progress_rate rate[QB__STAGES_MAX];
    for (int i = 0; i < line->count; i++) {
        const station *s = &line->station[i];
        const double done = done_of(s), part = done - (double)s->finished;
        const bool begun = done > BEGUN || (done > 0 && !(s->stage.forecast > 0));
        rate[i] = (qb__progress_rate){.blocking = s->stage.blocking,
                                      .chunks = s->chunks,
                                      .gather = s->stage.gather,
                                      .slots = s->stage.slots,
                                      .finished = s->finished,
                                      .part = fmin(part, 0.999),
                                      .seconds = begun ? s->spent / worth_of(s)
                                                       : s->stage.forecast * (s->stage.blocking ? 1 : wrong),
                                      .first = s->stage.first,
                                      .later = s->stage.later,
                                      .in_place = s->stage.in_place,
                                      .scatter = s->stage.scatter};
    }
    return qb__progress_rate_left(rate, line->count, line->pool ? qb__pool_threads(line->pool) : 1);
}

/* Call with the lock held. */
static void tell(qb__pipeline *line, bool due) {
    const double OFTEN = 0.2, now = qb__now(), elapsed = now - line->from;
    const station *last = &line->station[line->count - 1];
    if (line->status != QB_OK || (!due && now - line->told < OFTEN) || !line->env || !line->env->progress) return;
    if (qb__cancelled(line->env)) return;
    line->told = now;
    uint64_t done = ALL;
    if (last->finished < last->chunks) done = (uint64_t)fmin(ALL * elapsed / fmax(elapsed + left(line), 1e-9), ALL - 1);
    qb__progress(line->env, line->name, done, ALL);
}

void qb__pipeline_call(qb__pipeline *line, const char *name) { line->name = name; }

static void begin(qb__pipeline *line, station *s) {
    s->started++;
    s->ended = 0;
    s->tasks = s->stage.tasks ? s->stage.tasks(s->stage.self, number(s, s->started - 1)) : 1;
    s->since = qb__now();
    line->in_hand++;
}

static void end(qb__pipeline *line, station *s) {
    s->finished++;
    s->busy += qb__now() - s->since;
    line->in_hand--;
    if (s->index == line->count - 1) tell(line, true);
    if (line->status == QB_OK && qb__cancelled(line->env)) fail(line, qb__check_cancel(line->env));
}

static void run_task(station *s, size_t chunk, size_t task, int worker) {
    qb__pipeline *line = s->line;
    const void *in = s->index > 0 ? slot(&line->station[s->index - 1], chunk / scattered(s)) : NULL;
    double from = qb__now_thread() + qb__share_seconds(), entered = qb__now();
    pthread_mutex_lock(&line->lock);
    bool stop = line->status != QB_OK;
    if (!stop && qb__cancelled(line->env)) {
        fail(line, qb__check_cancel(line->env));
        stop = true;
    }
    pthread_mutex_unlock(&line->lock);
    qb_status status = QB_OK;
    void *out = slot(s, chunk / gathered(s));
    if (!stop) status = s->stage.run(s->stage.self, number(s, chunk), task, worker, in, out);
    double used = qb__now_thread() + qb__share_seconds() - from; /* includes helper threads */
    const double spent = qb__now() - entered;
    pthread_mutex_lock(&line->lock);
    s->cpu += used;
    s->spent += spent;
    s->ended++;
    if (status != QB_OK) fail(line, status);
    if (s->ended < s->tasks) tell(line, false);
    pthread_mutex_unlock(&line->lock);
}

static void compute_task(void *context, size_t task, int worker) {
    station *s = context;
    run_task(s, s->started - 1, task, worker);
}

/* Called with the lock held: give every computing stage that can proceed to the pool. The batches are submitted after
 * the lock is released, because submitting may call back. */
static int collect(qb__pipeline *line, station *list[]) {
    int n = 0;
    for (int i = line->count - 1; i >= 0; i--) {
        station *s = &line->station[i];
        if (s->stage.blocking || !ready(line, s)) continue;
        begin(line, s);
        list[n++] = s;
    }
    pthread_cond_broadcast(&line->moved);
    return n;
}

static void submit(qb__pipeline *line, station *list[], int n);

static void compute_done(void *context) {
    station *s = context, *list[QB__STAGES_MAX];
    qb__pipeline *line = s->line;
    pthread_mutex_lock(&line->lock);
    end(line, s);
    int n = collect(line, list);
    pthread_mutex_unlock(&line->lock);
    submit(line, list, n);
}

static void submit(qb__pipeline *line, station *list[], int n) {
    for (int i = 0; i < n; i++) {
        station *s = list[i];
        s->batch = (qb__batch){
            .run = compute_task, .done = compute_done, .context = s, .count = s->tasks, .priority = s->index};
        qb__pool_submit(line->pool, &s->batch);
    }
}

/* Call without the lock: callbacks may take long. */
static void barrier(station *s) {
    qb__pipeline *line = s->line;
    qb_status status = QB_OK;
    if (s->stage.barrier) {
        pthread_mutex_lock(&line->lock);
        if (line->status != QB_OK) status = qb__fail(line->status, "%s", line->detail);
        pthread_mutex_unlock(&line->lock);
        status = s->stage.barrier(s->stage.self, status);
    }
    pthread_mutex_lock(&line->lock);
    if (status != QB_OK) fail(line, status);
    pthread_cond_broadcast(&line->moved);
    pthread_mutex_unlock(&line->lock);
}

/* Take the next chunk of a blocking stage. Called with the lock held, which is released meanwhile. */
static void serve(qb__pipeline *line, station *s) {
    station *list[QB__STAGES_MAX];
    begin(line, s);
    const size_t chunk = s->started - 1;
    pthread_mutex_unlock(&line->lock);
    for (size_t task = 0; task < s->tasks; task++) run_task(s, chunk, task, 0);
    pthread_mutex_lock(&line->lock);
    end(line, s);
    const int n = collect(line, list);
    pthread_mutex_unlock(&line->lock);
    submit(line, list, n);
    pthread_mutex_lock(&line->lock);
}

static void *blocking_stage(void *context) {
    station *s = context;
    qb__pipeline *line = s->line;
    pthread_mutex_lock(&line->lock);
    while (s->finished < s->chunks) {
        while (line->status == QB_OK && !ready(line, s)) pthread_cond_wait(&line->moved, &line->lock);
        if (line->status != QB_OK) break;
        serve(line, s);
    }
    pthread_mutex_unlock(&line->lock);
    barrier(s);
    return NULL;
}

/* A stage of one chunk runs in the calling thread, which waits anyway: starting a thread takes longer than a small
 * slice. */
static bool by_caller(const station *s) { return s->stage.blocking && s->chunks == 1 && !s->stage.barrier; }

static station *for_caller(qb__pipeline *line) {
    for (int i = 0; i < line->count; i++)
        if (by_caller(&line->station[i]) && ready(line, &line->station[i])) return &line->station[i];
    return NULL;
}

size_t qb__pipeline_bytes(const qb__stage *stages, int count, size_t chunks) {
    size_t bytes = 0;
    for (int i = 0; i < count; i++) {
        const qb__stage *stage = &stages[i];
        if (stage->scatter) chunks *= stage->scatter;
        if (stage->gather) chunks /= stage->gather;
        /* Memory of a special allocator is always counted, because it is resident even if it is not touched. */
        bool all = chunks > stage->slots || !stage->last_bytes || stage->maker.create;
        size_t used = chunks < stage->slots && !stage->maker.create ? chunks : stage->slots;
        bytes += used * stage->slot_bytes;
        if (!all) bytes -= stage->slot_bytes - stage->last_bytes;
    }
    return bytes;
}

static qb_status make_ring(station *s, size_t outputs) {
    const qb__slot_maker *maker = &s->stage.maker;
    s->rings = maker->create ? s->stage.slots : qb__smaller(s->stage.slots, outputs);
    qb_status status = qb__alloc(s->rings, sizeof *s->ring, &s->ring);
    for (size_t i = 0; status == QB_OK && i < s->rings; i++)
        status = maker->create ? maker->create(maker->self, s->stage.slot_bytes, &s->ring[i])
                               : qb__alloc(s->stage.slot_bytes, 1, &s->ring[i]);
    return status;
}

static void free_ring(station *s) {
    const qb__slot_maker *maker = &s->stage.maker;
    for (size_t i = 0; s->ring && i < s->rings; i++) {
        if (maker->create)
            maker->destroy(maker->self, s->ring[i]);
        else
            qb__free(s->ring[i]);
    }
    qb__free(s->ring);
}

qb_status qb__pipeline_create(const qb__stage *stages, int count, size_t chunks, qb__pipeline **out) {
    qb__pipeline *line;
    *out = NULL;
    qb_status status = qb__alloc(1, sizeof *line, &line);
    if (status != QB_OK) return status;
    pthread_mutex_init(&line->lock, NULL);
    pthread_cond_init(&line->moved, NULL);
    line->count = count;
    line->name = count ? stages[count - 1].name : "";
    for (int i = 0; i < count; i++) {
        station *s = &line->station[i];
        chunks *= stages[i].scatter ? stages[i].scatter : 1;
        *s = (station){.line = line, .stage = stages[i], .index = i, .chunks = chunks};
        chunks /= gathered(s);
        if (status == QB_OK) status = make_ring(s, chunks);
        if (status != QB_OK) {
            qb__fail_in(status, "buffers of stage %s", stages[i].name);
            line->count = i + 1;
            qb__pipeline_destroy(line);
            return status;
        }
    }
    *out = line;
    return QB_OK;
}

void qb__pipeline_only(qb__pipeline *line, size_t all, const size_t *outputs, size_t count) {
    for (int i = 0; i < line->count; i++) {
        station *s = &line->station[i];
        s->share = all ? s->chunks / all : 1;
        s->chunks = count * s->share;
    }
    line->only = outputs;
}

void qb__pipeline_destroy(qb__pipeline *line) {
    if (!line) return;
    for (int i = 0; i < line->count; i++) free_ring(&line->station[i]);
    pthread_cond_destroy(&line->moved);
    pthread_mutex_destroy(&line->lock);
    qb__free(line);
}

static void start_threads(qb__pipeline *line) {
    for (int i = 0; i < line->count; i++) {
        station *s = &line->station[i];
        if (!s->stage.blocking || by_caller(s)) continue;
        int error = pthread_create(&s->thread, NULL, blocking_stage, s);
        s->has_thread = error == 0;
        if (error) {
            pthread_mutex_lock(&line->lock);
            fail(line, qb__fail_errno(error, "starting the thread of stage", s->stage.name));
            pthread_cond_broadcast(&line->moved);
            pthread_mutex_unlock(&line->lock);
            return;
        }
    }
}

/* Wait until all is done, or until something failed and no chunk is in work. */
static void finish(qb__pipeline *line) {
    pthread_mutex_lock(&line->lock);
    const station *last = &line->station[line->count - 1];
    while (line->in_hand > 0 || (line->status == QB_OK && last->finished < last->chunks)) {
        station *mine = for_caller(line);
        if (mine)
            serve(line, mine);
        else
            pthread_cond_wait(&line->moved, &line->lock);
    }
    pthread_mutex_unlock(&line->lock);
    for (int i = 0; i < line->count; i++) {
        station *s = &line->station[i];
        if (!s->has_thread) barrier(s); /* it needed no thread, or the thread could not be started */
    }
    for (int i = 0; i < line->count; i++) {
        if (line->station[i].has_thread) pthread_join(line->station[i].thread, NULL);
    }
}

qb_status qb__pipeline_run(qb__pipeline *line, qb__pool *pool, const qb_env *env, qb__pipeline_report *report) {
    double from = qb__now();
    for (int i = 0; i < line->count; i++) {
        station *s = &line->station[i];
        if (s->stage.cpu_seconds) s->others = s->stage.cpu_seconds(s->stage.self);
    }
    line->pool = pool;
    line->env = env;
    line->from = line->told = from;
    qb__progress(env, line->name, 0, ALL);
    if (line->station[0].chunks > 0) {
        station *list[QB__STAGES_MAX];
        start_threads(line);
        pthread_mutex_lock(&line->lock);
        int n = collect(line, list);
        pthread_mutex_unlock(&line->lock);
        submit(line, list, n);
        finish(line);
        if (line->status != QB_OK) qb__fail(line->status, "%s", line->detail);
    }
    *report = (qb__pipeline_report){.wall_seconds = qb__now() - from, .stages = line->count};
    for (int i = 0; i < line->count; i++) {
        const station *s = &line->station[i];
        report->stage[i] = (qb__stage_time){s->stage.name, s->cpu, s->busy};
        if (s->stage.cpu_seconds) report->stage[i].cpu_seconds += s->stage.cpu_seconds(s->stage.self) - s->others;
    }
    return line->status;
}
