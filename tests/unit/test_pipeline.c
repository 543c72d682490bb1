/* SPDX-License-Identifier: MIT */
#include "check.h"

#include <signal.h>
#include <time.h>

#include "base/clock.h"
#include "base/pool.h"
#include "base/status.h"
#include "job/pipeline.h"

enum { CHUNKS = 23, TASKS = 7 };

typedef struct job {
    size_t written;
    int fail_stage;
    size_t fail_chunk;
    size_t stop_at; /* `stop` is set after so many chunks are written; 0 = never */
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

static qb_status twice(void *context, size_t chunk, size_t task, int worker, const void *in, void *out) {
    (void)worker;
    for (size_t i = task; i < 64; i += 1 + chunk % TASKS) ((size_t *)out)[i] = 2 * ((const size_t *)in)[i];
    return maybe_fail(context, 1, chunk);
}

static qb_status keep(void *context, size_t chunk, size_t task, int worker, const void *in, void *out) {
    (void)worker, (void)out, (void)task;
    job *j = context;
    assert_int_equal(j->written, chunk); /* chunks arrive in order */
    for (size_t i = 0; i < 64; i++) assert_int_equal(((const size_t *)in)[i], 2 * (chunk * 64 + i));
    j->written++;
    if (j->written == j->stop_at) j->stop = 1;
    return maybe_fail(context, 2, chunk);
}

static qb_status same(void *context, size_t chunk, size_t task, int worker, const void *in, void *out) {
    (void)worker, (void)task;
    assert_ptr_equal(in, out);
    return maybe_fail(context, 1, chunk);
}

static qb__pipeline_report report;

static qb_status run_stages(const qb__stage *stages, int count, size_t chunks, qb__pool *pool, const qb_env *env) {
    qb__pipeline *line;
    assert_ok(qb__pipeline_create(stages, count, chunks, &line));
    qb_status status = qb__pipeline_run(line, pool, env, &report);
    qb__pipeline_destroy(line);
    assert_int_equal(report.stages, count);
    return status;
}

static qb_status run(job *j, size_t slots, int threads, const qb_env *env) {
    qb__stage stages[] = {
        {.name = "make", .blocking = true, .slots = slots, .slot_bytes = 512, .tasks = tasks, .run = make},
        {.name = "twice", .slots = slots, .slot_bytes = 512, .tasks = tasks, .run = twice},
        {.name = "keep", .blocking = true, .run = keep},
    };
    qb__pool *pool;
    for (int i = 0; i < 3; i++) stages[i].self = j;
    assert_ok(qb__pool_create(threads, &pool));
    qb_status status = run_stages(stages, 3, CHUNKS, pool, env);
    qb__pool_destroy(pool);
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

/* Some stages change a slot in place. The stage that made the slot waits until the last of them is done, and so does
 * the stage behind them. */
static void slots_are_changed_in_place(void **state) {
    (void)state;
    for (size_t slots = 1; slots <= 3; slots++) {
        for (int blocking = 0; blocking < 4; blocking++) {
            job j = {.fail_stage = -1};
            qb__stage stages[] = {
                {.name = "make", .self = &j, .slots = slots, .slot_bytes = 512, .tasks = tasks, .run = make},
                {.name = "twice", .self = &j, .in_place = true, .blocking = blocking & 1, .tasks = tasks, .run = twice},
                {.name = "same", .self = &j, .in_place = true, .blocking = blocking & 2, .run = same},
                {.name = "keep", .self = &j, .blocking = true, .run = keep},
            };
            qb__pool *pool;
            assert_int_equal(qb__pipeline_bytes(stages, 4, CHUNKS), slots * 512);
            assert_ok(qb__pool_create(2, &pool));
            assert_ok(run_stages(stages, 4, CHUNKS, pool, NULL));
            qb__pool_destroy(pool);
            assert_int_equal(j.written, CHUNKS);
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

/* A run is cancelled in the middle. What was written is a beginning without gaps, and little comes after the wish to
 * stop. */
static void cancelling_stops(void **state) {
    (void)state;
    for (int threads = 1; threads <= 3; threads++) {
        for (size_t at = 1; at < CHUNKS; at += 3) {
            job j = {.fail_stage = -1, .stop_at = at};
            qb_env env = {.cancel = &j.stop};
            assert_status(run(&j, 2, threads, &env), QB_CANCELLED);
            assert_int_equal(j.written, at);
        }
    }
}

static void cancelled_before_it_begins(void **state) {
    (void)state;
    job j = {.fail_stage = -1, .stop = 1};
    qb_env env = {.cancel = &j.stop};
    assert_status(run(&j, 2, 2, &env), QB_CANCELLED);
    assert_int_equal(j.written, 0);
}

static qb_status sum(void *context, size_t chunk, size_t task, int worker, const void *in, void *out) {
    (void)context, (void)task, (void)worker;
    size_t *to = out;
    if (chunk % 4 == 0) *to = 0;
    *to += ((const size_t *)in)[1];
    return QB_OK;
}

static qb_status keep_sum(void *context, size_t chunk, size_t task, int worker, const void *in, void *out) {
    (void)task, (void)worker, (void)out;
    job *j = context;
    assert_int_equal(j->written++, chunk);
    size_t want = 0;
    for (size_t i = 4 * chunk; i < 4 * chunk + 4; i++) want += i * 64 + 1;
    assert_int_equal(*(const size_t *)in, want);
    return QB_OK;
}

/* Four chunks go into one output, like a slab to which several blocks of views are added. */
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
        for (int i = 0; i < 3; i++) stages[i].self = &j;
        assert_ok(qb__pool_create(2, &pool));
        assert_ok(run_stages(stages, 3, 40, pool, NULL));
        qb__pool_destroy(pool);
        assert_int_equal(j.written, 10);
    }
}

enum { PIECES = 3 };
static const size_t left_over[] = {1, 4, 8, 9}; /* of ten outputs */

static size_t sum_of(size_t output) {
    size_t all = 0;
    for (size_t i = 4 * output; i < 4 * output + 4; i++) all += i * 64 + 1;
    return all;
}

static qb_status cut(void *context, size_t chunk, size_t task, int worker, const void *in, void *out) {
    (void)context, (void)task, (void)worker;
    *(size_t *)out = *(const size_t *)in + chunk % PIECES;
    return QB_OK;
}

static qb_status keep_piece(void *context, size_t chunk, size_t task, int worker, const void *in, void *out) {
    (void)task, (void)worker, (void)out;
    job *j = context;
    const size_t n = j->written++, output = j->stop ? left_over[n / PIECES] : n / PIECES;
    assert_int_equal(chunk, output * PIECES + n % PIECES);
    assert_int_equal(*(const size_t *)in, sum_of(output) + n % PIECES);
    return QB_OK;
}

/* One output of a stage leaves in pieces, like a slab that is not downloaded as a whole. Runs with all outputs, and
 * with some that are left. */
static void outputs_scatter(void **state) {
    (void)state;
    for (int round = 0; round < 60; round++) {
        const size_t slots = 1 + (size_t)round % 3;
        const bool some = round % 2;
        job j = {.fail_stage = -1, .stop = some};
        qb__stage stages[] = {
            {.name = "make", .self = &j, .slots = slots, .slot_bytes = 512, .tasks = tasks, .run = make},
            {.name = "sum", .self = &j, .slots = slots, .slot_bytes = 64, .gather = 4, .run = sum},
            {.name = "cut",
             .self = &j,
             .slots = 1 + (size_t)round % 2,
             .slot_bytes = 8,
             .scatter = PIECES,
             .blocking = true,
             .run = cut},
            {.name = "keep", .self = &j, .blocking = round % 5 > 0, .run = keep_piece},
        };
        qb__pool *pool;
        qb__pipeline *line;
        qb__pipeline_report report;
        assert_int_equal(qb__pipeline_bytes(stages, 4, 40), slots * (512 + 64) + stages[2].slots * 8);
        assert_ok(qb__pool_create(2, &pool));
        assert_ok(qb__pipeline_create(stages, 4, 40, &line));
        if (some) qb__pipeline_only(line, 10, left_over, 4);
        assert_ok(qb__pipeline_run(line, pool, NULL, &report));
        qb__pipeline_destroy(line);
        qb__pool_destroy(pool);
        assert_int_equal(j.written, PIECES * (some ? 4 : 10));
    }
}

/* Each of these stages waits for another that must work at the same time: 4 slabs of 4 blocks on two threads. */
enum { BLOCKS = 16, GATHERED = 4, SLABS = BLOCKS / GATHERED };

typedef struct meeting {
    _Atomic bool read[BLOCKS], added[SLABS]; /* this work has begun */
    _Atomic int alone;                       /* waits that ended without the other stage */
} meeting;

static void meet(meeting *m, const _Atomic bool *other) {
    const double until = qb__now() + 300; /* longer than any delay of a busy machine */
    while (!*other && m->alone == 0)
        if (qb__now() > until)
            m->alone++;
        else
            nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
}

static qb_status meet_reading(void *context, size_t chunk, size_t task, int worker, const void *in, void *out) {
    (void)task, (void)worker, (void)in, (void)out;
    ((meeting *)context)->read[chunk] = true;
    return QB_OK;
}

static qb_status meet_filtering(void *context, size_t chunk, size_t task, int worker, const void *in, void *out) {
    (void)worker, (void)in, (void)out;
    meeting *m = context;
    if (task == 0 && chunk + 1 < BLOCKS) meet(m, &m->read[chunk + 1]);
    return QB_OK;
}

static qb_status meet_adding(void *context, size_t chunk, size_t task, int worker, const void *in, void *out) {
    (void)task, (void)worker, (void)in, (void)out;
    ((meeting *)context)->added[chunk / GATHERED] = true;
    return QB_OK;
}

static qb_status meet_writing(void *context, size_t chunk, size_t task, int worker, const void *in, void *out) {
    (void)task, (void)worker, (void)in, (void)out;
    meeting *m = context;
    if (chunk + 1 < SLABS) meet(m, &m->added[chunk + 1]);
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

/* The next block is read while one is filtered. The next slab is added to while one is written. */
static void stages_overlap(void **state) {
    (void)state;
    meeting m = {.alone = 0};
    qb__stage stages[] = {
        {.name = "read", .self = &m, .blocking = true, .slots = 2, .slot_bytes = 64, .run = meet_reading},
        {.name = "filter", .self = &m, .slots = 2, .slot_bytes = 64, .tasks = few, .run = meet_filtering},
        {.name = "add",
         .self = &m,
         .slots = 2,
         .slot_bytes = 64,
         .gather = GATHERED,
         .tasks = many,
         .run = meet_adding},
        {.name = "write", .self = &m, .blocking = true, .run = meet_writing},
    };
    qb__pool *pool;
    assert_ok(qb__pool_create(2, &pool));
    assert_ok(run_stages(stages, 4, BLOCKS, pool, NULL));
    qb__pool_destroy(pool);
    assert_int_equal(m.alone, 0);
}

/* ---- slots ---- */

typedef struct maker {
    int made, gone, most;
} maker;

static qb_status make_slot(void *self, size_t bytes, void **slot) {
    maker *m = self;
    assert_int_equal(bytes, 24);
    if (m->made == m->most) return qb__fail(QB_NO_MEMORY, "no room for slot %d", m->made);
    m->made++;
    *slot = malloc(sizeof(size_t));
    return QB_OK;
}

static void drop_slot(void *self, void *slot) {
    ((maker *)self)->gone += slot != NULL;
    free(slot);
}

static qb_status number(void *context, size_t chunk, size_t task, int worker, const void *in, void *out) {
    (void)context, (void)task, (void)worker, (void)in;
    *(size_t *)out = chunk;
    return QB_OK;
}

/* Every output, gathered or not, arrives in the slot that its stage filled for it. */
static qb_status same_number(void *context, size_t chunk, size_t task, int worker, const void *in, void *out) {
    (void)task, (void)worker, (void)out;
    assert_int_equal(*(const size_t *)in / *(size_t *)context, chunk);
    return QB_OK;
}

static qb_status stream_slots(maker *m, size_t gather) {
    qb__stage stages[] = {
        {.name = "number",
         .self = &gather,
         .blocking = true,
         .slots = 3,
         .slot_bytes = 24,
         .gather = gather,
         .maker = {m, make_slot, drop_slot},
         .run = number},
        {.name = "check", .self = &gather, .blocking = true, .run = same_number},
    };
    qb__pipeline *line;
    qb_status status = qb__pipeline_create(stages, 2, 24, &line);
    if (status == QB_OK) status = qb__pipeline_run(line, NULL, NULL, &report);
    qb__pipeline_destroy(line);
    return status;
}

static void slots_are_their_makers(void **state) {
    (void)state;
    for (size_t gather = 1; gather <= 4; gather++) {
        maker m = {.most = 3};
        assert_ok(stream_slots(&m, gather));
        assert_int_equal(m.made, 3);
        assert_int_equal(m.gone, 3);
    }
}

static void no_room_for_a_slot(void **state) {
    (void)state;
    for (int most = 0; most < 3; most++) {
        maker m = {.most = most};
        assert_status(stream_slots(&m, 1), QB_NO_MEMORY);
        assert_non_null(strstr(qb_detail(), "buffers of stage number: no room for slot"));
        assert_int_equal(m.gone, most);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_arrives),
        cmocka_unit_test(slots_are_changed_in_place),
        cmocka_unit_test(first_failure_comes_back),
        cmocka_unit_test(cancelling_stops),
        cmocka_unit_test(cancelled_before_it_begins),
        cmocka_unit_test(slots_are_their_makers),
        cmocka_unit_test(no_room_for_a_slot),
        cmocka_unit_test(chunks_gather),
        cmocka_unit_test(outputs_scatter),
        cmocka_unit_test(stages_overlap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
