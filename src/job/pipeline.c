/* SPDX-License-Identifier: MIT */
#include "job/pipeline.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/status.h"

typedef struct station {
    struct pipeline *line;
    const qb__stage *stage;
    int index;
    char *ring;
    size_t chunks, started, finished;
    double cpu, busy, since;  /* seconds */
    qb__batch batch;          /* the chunk in hand, computing stages */
    pthread_t thread;         /* blocking stages */
    bool has_thread;
} station;

typedef struct pipeline {
    pthread_mutex_t lock;
    pthread_cond_t moved;
    station station[QB__STAGES_MAX];
    int count;
    void *job;
    qb__pool *pool;
    const qb_env *env;
    int in_hand; /* stages with a chunk in hand */
    qb_status status;
    char detail[1024];
} pipeline;

/* The first failure wins; what is still in hand ends by itself, nothing new starts. */
static void fail(pipeline *line, qb_status status) {
    if (line->status != QB_OK) return;
    line->status = status;
    snprintf(line->detail, sizeof line->detail, "%s", qb_detail());
}

static size_t gathered(const station *s) { return s->stage->gather ? s->stage->gather : 1; }

static void *slot(const station *s, size_t output) {
    return s->ring ? s->ring + output % s->stage->slots * s->stage->slot_bytes : NULL;
}

/* A stage may begin its next chunk when it is idle, its input is there, and the buffer that its output
 * goes to has been used up by the next stage. */
static bool ready(const pipeline *line, const station *s) {
    if (line->status != QB_OK || s->started > s->finished || s->started == s->chunks) return false;
    const station *before = s - 1, *after = s + 1;
    if (s->index > 0 && before->finished / gathered(before) <= s->started) return false;
    return s->index + 1 == line->count ||
           s->started / gathered(s) < after->finished + s->stage->slots;
}

static void begin(pipeline *line, station *s) {
    s->started++;
    s->since = qb__now();
    line->in_hand++;
}

static void end(pipeline *line, station *s) {
    s->finished++;
    s->busy += qb__now() - s->since;
    line->in_hand--;
    if (s->index == line->count - 1)
        qb__progress(line->env, s->stage->name, s->finished, s->chunks);
    if (line->status == QB_OK && qb__cancelled(line->env)) fail(line, qb__check_cancel(line->env));
}

static void run_task(station *s, size_t chunk, size_t task, int worker) {
    pipeline *line = s->line;
    const void *in = s->index > 0 ? slot(&line->station[s->index - 1], chunk) : NULL;
    double from = qb__now_thread();
    pthread_mutex_lock(&line->lock);
    bool stop = line->status != QB_OK;
    if (!stop && qb__cancelled(line->env)) {
        fail(line, qb__check_cancel(line->env));
        stop = true;
    }
    pthread_mutex_unlock(&line->lock);
    qb_status status = QB_OK;
    void *out = slot(s, chunk / gathered(s));
    if (!stop) status = s->stage->run(line->job, chunk, task, worker, in, out);
    double used = qb__now_thread() - from;
    pthread_mutex_lock(&line->lock);
    s->cpu += used;
    if (status != QB_OK) fail(line, status);
    pthread_mutex_unlock(&line->lock);
}

static void compute_task(void *context, size_t task, int worker) {
    station *s = context;
    run_task(s, s->started - 1, task, worker);
}

/* Called with the lock held: hand every computing stage that can move to the pool. The batches are
 * submitted after the lock is released, since submitting may call back. */
static int collect(pipeline *line, station *list[]) {
    int n = 0;
    for (int i = line->count - 1; i >= 0; i--) {
        station *s = &line->station[i];
        if (s->stage->blocking || !ready(line, s)) continue;
        begin(line, s);
        list[n++] = s;
    }
    pthread_cond_broadcast(&line->moved);
    return n;
}

static void submit(pipeline *line, station *list[], int n);

static void compute_done(void *context) {
    station *s = context, *list[QB__STAGES_MAX];
    pipeline *line = s->line;
    pthread_mutex_lock(&line->lock);
    end(line, s);
    int n = collect(line, list);
    pthread_mutex_unlock(&line->lock);
    submit(line, list, n);
}

static void submit(pipeline *line, station *list[], int n) {
    for (int i = 0; i < n; i++) {
        station *s = list[i];
        size_t count = s->stage->tasks ? s->stage->tasks(line->job, s->started - 1) : 1;
        s->batch = (qb__batch){.run = compute_task, .done = compute_done, .context = s,
                               .count = count, .priority = s->index};
        qb__pool_submit(line->pool, &s->batch);
    }
}

static void *blocking_stage(void *context) {
    station *s = context, *list[QB__STAGES_MAX];
    pipeline *line = s->line;
    pthread_mutex_lock(&line->lock);
    while (s->finished < s->chunks) {
        while (line->status == QB_OK && !ready(line, s))
            pthread_cond_wait(&line->moved, &line->lock);
        if (line->status != QB_OK) break;
        begin(line, s);
        size_t chunk = s->started - 1;
        pthread_mutex_unlock(&line->lock);
        size_t count = s->stage->tasks ? s->stage->tasks(line->job, chunk) : 1;
        for (size_t task = 0; task < count; task++) run_task(s, chunk, task, 0);
        pthread_mutex_lock(&line->lock);
        end(line, s);
        int n = collect(line, list);
        pthread_mutex_unlock(&line->lock);
        submit(line, list, n);
        pthread_mutex_lock(&line->lock);
    }
    pthread_cond_broadcast(&line->moved);
    pthread_mutex_unlock(&line->lock);
    return NULL;
}

size_t qb__pipeline_bytes(const qb__stage *stages, int count) {
    size_t bytes = 0;
    for (int i = 0; i < count; i++) bytes += stages[i].slots * stages[i].slot_bytes;
    return bytes;
}

static qb_status make_ring(pipeline *line, station *s) {
    const qb__stage *stage = s->stage;
    if (!stage->create) return qb__alloc(stage->slots, stage->slot_bytes, &s->ring);
    void *ring = NULL;
    qb_status status = stage->create(line->job, stage->slots * stage->slot_bytes, &ring);
    s->ring = ring;
    return status;
}

static void free_ring(pipeline *line, station *s) {
    if (s->stage && s->stage->destroy)
        s->stage->destroy(line->job, s->ring);
    else
        qb__free(s->ring);
}

static qb_status open_line(pipeline *line, const qb__stage *stages, size_t chunks) {
    for (int i = 0; i < line->count; i++) {
        station *s = &line->station[i];
        *s = (station){.line = line, .stage = &stages[i], .index = i, .chunks = chunks};
        chunks /= gathered(s);
        qb_status status = make_ring(line, s);
        if (status != QB_OK) return qb__fail_in(status, "buffers of stage %s", stages[i].name);
    }
    return QB_OK;
}

static void start_threads(pipeline *line) {
    for (int i = 0; i < line->count; i++) {
        station *s = &line->station[i];
        if (!s->stage->blocking) continue;
        int error = pthread_create(&s->thread, NULL, blocking_stage, s);
        s->has_thread = error == 0;
        if (error) {
            pthread_mutex_lock(&line->lock);
            fail(line, qb__fail_errno(error, "starting the thread of stage", s->stage->name));
            pthread_cond_broadcast(&line->moved);
            pthread_mutex_unlock(&line->lock);
            return;
        }
    }
}

/* Wait until all is done, or something failed and nothing is in hand any more. */
static void finish(pipeline *line) {
    pthread_mutex_lock(&line->lock);
    const station *last = &line->station[line->count - 1];
    while (line->in_hand > 0 || (line->status == QB_OK && last->finished < last->chunks))
        pthread_cond_wait(&line->moved, &line->lock);
    pthread_mutex_unlock(&line->lock);
    for (int i = 0; i < line->count; i++) {
        if (line->station[i].has_thread) pthread_join(line->station[i].thread, NULL);
    }
}

qb_status qb__pipeline_run(const qb__stage *stages, int count, size_t chunks, void *job,
                           qb__pool *pool, const qb_env *env, qb__pipeline_report *report) {
    pipeline line = {.count = count, .job = job, .pool = pool, .env = env};
    pthread_mutex_init(&line.lock, NULL);
    pthread_cond_init(&line.moved, NULL);
    double from = qb__now();
    line.status = open_line(&line, stages, chunks);
    if (line.status == QB_OK && chunks > 0) {
        station *list[QB__STAGES_MAX];
        start_threads(&line);
        pthread_mutex_lock(&line.lock);
        int n = collect(&line, list);
        pthread_mutex_unlock(&line.lock);
        submit(&line, list, n);
        finish(&line);
        if (line.status != QB_OK) qb__fail(line.status, "%s", line.detail);
    }
    *report = (qb__pipeline_report){.wall_seconds = qb__now() - from, .stages = count};
    for (int i = 0; i < count; i++) {
        station *s = &line.station[i];
        report->stage[i] = (qb__stage_time){stages[i].name, s->cpu, s->busy};
        free_ring(&line, s);
    }
    pthread_cond_destroy(&line.moved);
    pthread_mutex_destroy(&line.lock);
    return line.status;
}
