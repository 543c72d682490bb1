/* SPDX-License-Identifier: MIT */
#include "check.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "base/pool.h"
#include "base/status.h"
#include "geometry/partition.h"
#include "job/pipeline.h"

enum { CHUNKS = 23, TASKS = 7 };

typedef struct job {
    size_t written;
    int fail_stage;
    size_t fail_chunk;
    volatile sig_atomic_t stop;
} job;

static size_t tasks(void *context, size_t chunk) {
    (void)context;
    return 1 + chunk % TASKS;
}

static qb_status maybe_fail(job *j, int stage, size_t chunk) {
    if (j->fail_stage == stage && j->fail_chunk == chunk)
        return qb__fail(QB_IO, "stage %d broke at chunk %zu", stage, chunk);
    return QB_OK;
}

static qb_status make(void *context, size_t chunk, size_t task, int worker, const void *in, void *out) {
    (void)worker, (void)in;
    for (size_t i = task; i < 64; i += 1 + chunk % TASKS) ((size_t *)out)[i] = chunk * 64 + i;
    return maybe_fail(context, 0, chunk);
}

static qb_status twice(void *context, size_t chunk, size_t task, int worker, const void *in,
                       void *out) {
    (void)worker;
    for (size_t i = task; i < 64; i += 1 + chunk % TASKS)
        ((size_t *)out)[i] = 2 * ((const size_t *)in)[i];
    return maybe_fail(context, 1, chunk);
}

static qb_status keep(void *context, size_t chunk, size_t task, int worker, const void *in, void *out) {
    (void)worker, (void)out, (void)task;
    job *j = context;
    assert_int_equal(j->written, chunk); /* in order */
    for (size_t i = 0; i < 64; i++)
        assert_int_equal(((const size_t *)in)[i], 2 * (chunk * 64 + i));
    j->written++;
    if (j->written == 5 && j->stop == 2) j->stop = 1;
    return maybe_fail(context, 2, chunk);
}

static qb_status run(job *j, size_t slots, int threads, const qb_env *env) {
    qb__stage stages[] = {
        {.name = "make", .blocking = true, .slots = slots, .slot_bytes = 512, .tasks = tasks, .run = make},
        {.name = "twice", .slots = slots, .slot_bytes = 512, .tasks = tasks, .run = twice},
        {.name = "keep", .blocking = true, .run = keep},
    };
    qb__pool *pool;
    qb__pipeline_report report;
    assert_ok(qb__pool_create(threads, &pool));
    qb_status status = qb__pipeline_run(stages, 3, CHUNKS, j, pool, env, &report);
    qb__pool_destroy(pool);
    assert_int_equal(report.stages, 3);
    return status;
}

static void everything_arrives(void **state) {
    (void)state;
    for (int threads = 1; threads <= 4; threads++) {
        for (size_t slots = 1; slots <= 3; slots++) {
            for (int round = 0; round < 30; round++) {
                job j = {.fail_stage = -1};
                assert_ok(run(&j, slots, threads, NULL));
                assert_int_equal(j.written, CHUNKS);
            }
        }
    }
}

static void first_failure_comes_back(void **state) {
    (void)state;
    for (int stage = 0; stage < 3; stage++) {
        for (int round = 0; round < 30; round++) {
            job j = {.fail_stage = stage, .fail_chunk = 9};
            char expected[64];
            snprintf(expected, sizeof expected, "stage %d broke at chunk 9", stage);
            assert_status(run(&j, 2, 2, NULL), QB_IO);
            assert_string_equal(qb_detail(), expected);
        }
    }
}

static void cancelling_stops(void **state) {
    (void)state;
    job j = {.fail_stage = -1, .stop = 2};
    volatile sig_atomic_t now = 1;
    qb_env env = {.cancel = &now};
    assert_status(run(&j, 2, 2, &env), QB_CANCELLED);
    assert_true(j.written < CHUNKS);
}

static qb_status sum(void *context, size_t chunk, size_t task, int worker, const void *in, void *out) {
    (void)context, (void)task, (void)worker;
    size_t *to = out;
    if (chunk % 4 == 0) *to = 0;
    *to += ((const size_t *)in)[1];
    return QB_OK;
}

static qb_status keep_sum(void *context, size_t chunk, size_t task, int worker, const void *in,
                          void *out) {
    (void)task, (void)worker, (void)out;
    job *j = context;
    assert_int_equal(j->written++, chunk);
    size_t want = 0;
    for (size_t i = 4 * chunk; i < 4 * chunk + 4; i++) want += i * 64 + 1;
    assert_int_equal(*(const size_t *)in, want);
    return QB_OK;
}

/* Four chunks into one output, as a slab that several blocks of views add to. */
static void chunks_gather(void **state) {
    (void)state;
    for (int round = 0; round < 60; round++) {
        size_t slots = 1 + (size_t)round % 3;
        qb__stage stages[] = {
            {.name = "make", .slots = slots, .slot_bytes = 512, .tasks = tasks, .run = make},
            {.name = "sum", .slots = slots, .slot_bytes = 64, .gather = 4, .run = sum},
            {.name = "keep", .blocking = true, .run = keep_sum},
        };
        job j = {.fail_stage = -1};
        qb__pool *pool;
        qb__pipeline_report report;
        assert_ok(qb__pool_create(2, &pool));
        assert_ok(qb__pipeline_run(stages, 3, 40, &j, pool, NULL, &report));
        qb__pool_destroy(pool);
        assert_int_equal(j.written, 10);
    }
}

/* Stages that sleep, in the proportions of a cone-beam reconstruction on two threads: 4 slabs of 4 blocks.
 * How long each slept is measured, so that a busy machine changes both sides alike. */
typedef struct naps {
    pthread_mutex_t lock;
    double computing, reading, writing;
} naps;

static double clock_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void nap(naps *n, double *sum, long milliseconds) {
    double from = clock_now();
    nanosleep(&(struct timespec){.tv_nsec = milliseconds * 1000000}, NULL);
    double took = clock_now() - from;
    pthread_mutex_lock(&n->lock);
    *sum += took;
    pthread_mutex_unlock(&n->lock);
}

static qb_status nap_reading(void *job, size_t chunk, size_t task, int worker, const void *in,
                             void *out) {
    (void)chunk, (void)task, (void)worker, (void)in, (void)out;
    nap(job, &((naps *)job)->reading, 6);
    return QB_OK;
}

static qb_status nap_computing(void *job, size_t chunk, size_t task, int worker, const void *in,
                               void *out) {
    (void)chunk, (void)task, (void)worker, (void)in, (void)out;
    nap(job, &((naps *)job)->computing, 3);
    return QB_OK;
}

static qb_status nap_writing(void *job, size_t chunk, size_t task, int worker, const void *in,
                             void *out) {
    (void)chunk, (void)task, (void)worker, (void)in, (void)out;
    nap(job, &((naps *)job)->writing, 40);
    return QB_OK;
}

static size_t few(void *job, size_t chunk) {
    (void)job, (void)chunk;
    return 8;
}

static size_t many(void *job, size_t chunk) {
    (void)job, (void)chunk;
    return 20;
}

/* Reading and writing hide behind computing but for the first block and the last slab. */
static void stages_overlap(void **state) {
    (void)state;
    qb__stage stages[] = {
        {.name = "read", .blocking = true, .slots = 2, .slot_bytes = 64, .run = nap_reading},
        {.name = "filter", .slots = 2, .slot_bytes = 64, .tasks = few, .run = nap_computing},
        {.name = "add", .slots = 2, .slot_bytes = 64, .gather = 4, .tasks = many, .run = nap_computing},
        {.name = "write", .blocking = true, .run = nap_writing},
    };
    naps n = {.lock = PTHREAD_MUTEX_INITIALIZER};
    qb__pool *pool;
    qb__pipeline_report report;
    assert_ok(qb__pool_create(2, &pool));
    assert_ok(qb__pipeline_run(stages, 4, 16, &n, pool, NULL, &report));
    qb__pool_destroy(pool);
    double bound = fmax(n.computing / 2, fmax(n.reading, n.writing));
    if (!(report.wall_seconds < 1.15 * bound))
        fail_msg("%g s, while computing takes %g on two threads, reading %g, writing %g",
                 report.wall_seconds, n.computing / 2, n.reading, n.writing);
    double all = n.computing / 2 + n.reading + n.writing;
    assert_true(report.wall_seconds < 0.95 * all);
}

static size_t linear(const void *context, size_t slices, unsigned slots) {
    return *(const size_t *)context + slices * slots * 100;
}

static void partitions(void **state) {
    (void)state;
    size_t fixed = 1000;
    qb__partition p;
    qb__partition_problem problem = {.slices = 200, .step = 16, .most = 64, .cap = SIZE_MAX,
                                     .bytes = linear, .context = &fixed};
    assert_ok(qb__partition_slices(&problem, &p));
    assert_int_equal(p.slices_per_chunk, 64); /* 200 = 4 x 50, rounded up to whole vectors */
    assert_int_equal(p.chunks, 4);
    assert_int_equal(p.slots, 2);
    problem.cap = 1000 + 64 * 100;
    assert_ok(qb__partition_slices(&problem, &p));
    assert_int_equal(p.slots, 1);
    for (size_t cap = 1000 + 1600; cap < 20000; cap += 100) {
        problem.cap = cap;
        assert_ok(qb__partition_slices(&problem, &p));
        assert_true(p.bytes <= cap && p.slices_per_chunk * p.chunks >= 200);
        assert_true((p.chunks - 1) * p.slices_per_chunk < 200);
    }
    problem.cap = 1000 + 1599;
    assert_status(qb__partition_slices(&problem, &p), QB_BAD_ARGUMENT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_arrives),
        cmocka_unit_test(first_failure_comes_back),
        cmocka_unit_test(cancelling_stops),
        cmocka_unit_test(chunks_gather),
        cmocka_unit_test(stages_overlap),
        cmocka_unit_test(partitions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
