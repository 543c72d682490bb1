/* SPDX-License-Identifier: MIT */
#ifndef QB_TESTS_RANKS_HERE_H
#define QB_TESTS_RANKS_HERE_H

/* Ranks without MPI. They are threads of this process that share a job. Each has a comm of its own. */
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/comm.h"
#include "base/memory.h"
#include "base/status.h"

enum { MOST = 6 };

/* A set of ranks that meet: all of them, or a part. */
typedef struct group {
    pthread_barrier_t all;
    const void *given[MOST];
    int count;
} group;

enum { GROUPS = 4 * MOST };

static struct {
    group group[GROUPS]; /* group[0] holds all ranks */
    int groups;
    pthread_mutex_t lock;
    pthread_cond_t moved;
    const void *mail[MOST]; /* what each rank sends to rank 0 */
    _Atomic int warnings[MOST];
    int count;
} world = {.lock = PTHREAD_MUTEX_INITIALIZER, .moved = PTHREAD_COND_INITIALIZER};

static bool gather(qb__comm *comm, const void *mine, size_t bytes, void *all) {
    group *g = comm->own;
    g->given[comm->rank] = mine;
    pthread_barrier_wait(&g->all);
    for (int i = 0; i < g->count; i++)
        if (bytes) memcpy((char *)all + (size_t)i * bytes, g->given[i], bytes);
    pthread_barrier_wait(&g->all);
    return true;
}

static bool bcast(qb__comm *comm, int from, void *data, size_t bytes) {
    group *g = comm->own;
    g->given[comm->rank] = data;
    pthread_barrier_wait(&g->all);
    if (comm->rank != from && bytes) memcpy(data, g->given[from], bytes);
    pthread_barrier_wait(&g->all);
    return true;
}

static bool exchange(qb__comm *comm, const qb__comm_part *out, const qb__comm_part *in) {
    group *g = comm->own;
    g->given[comm->rank] = out;
    pthread_barrier_wait(&g->all);
    bool good = true;
    for (int i = 0; i < g->count; i++) {
        const qb__comm_part *from = &((const qb__comm_part *)g->given[i])[comm->rank];
        good = good && from->bytes == in[i].bytes;
        if (good && from->bytes) memcpy(in[i].data, from->data, from->bytes);
    }
    pthread_barrier_wait(&g->all);
    return good;
}

/* Splits the ranks by colour. The first rank of each colour makes the group. */
static bool split(qb__comm *comm, int colour, qb__comm *part) {
    int colours[MOST];
    group *made = NULL, *all[MOST];
    gather(comm, &colour, sizeof colour, colours);
    part->rank = part->count = 0;
    for (int i = 0; i < comm->count; i++) {
        if (colours[i] != colour) continue;
        part->rank += i < comm->rank;
        part->count++;
    }
    if (part->rank == 0) {
        pthread_mutex_lock(&world.lock);
        made = &world.group[world.groups++];
        pthread_mutex_unlock(&world.lock);
        made->count = part->count;
        pthread_barrier_init(&made->all, NULL, (unsigned)part->count);
    }
    gather(comm, &made, sizeof made, all);
    for (int i = comm->count - 1; i >= 0; i--)
        if (colours[i] == colour && all[i]) part->own = all[i];
    return true;
}

static void put(int rank, const void *data) {
    pthread_mutex_lock(&world.lock);
    world.mail[rank] = data;
    pthread_cond_broadcast(&world.moved);
    pthread_mutex_unlock(&world.lock);
}

static const void *wait_for(int rank, bool there) {
    pthread_mutex_lock(&world.lock);
    while (!world.mail[rank] == there) pthread_cond_wait(&world.moved, &world.lock);
    const void *data = world.mail[rank];
    pthread_mutex_unlock(&world.lock);
    return data;
}

static bool send_to(qb__comm *comm, int to, const void *data, size_t bytes) {
    (void)to, (void)bytes;
    put(comm->rank, data);
    wait_for(comm->rank, false);
    return true;
}

static bool receive(qb__comm *comm, int from, void *data, size_t bytes) {
    (void)comm;
    memcpy(data, wait_for(from, true), bytes);
    put(from, NULL);
    return true;
}

static int rank_of_all(const qb__comm *comm) { return comm->whole ? comm->whole->rank : comm->rank; }

static _Atomic bool has_warned[MOST];

static void warn(qb__comm *comm) {
    if (atomic_exchange(&has_warned[rank_of_all(comm)], true)) return;
    for (int i = 0; i < world.count; i++)
        if (i != rank_of_all(comm)) atomic_fetch_add(&world.warnings[i], 1);
}

static bool warned(qb__comm *comm) { return atomic_load(&world.warnings[rank_of_all(comm)]) > 0; }

static _Atomic bool miscounted;

static void close_rank(qb__comm *comm, int warnings) {
    if (comm->whole) return;
    pthread_barrier_wait(&world.group->all);
    if (atomic_load(&world.warnings[comm->rank]) != warnings) miscounted = true;
}

static const qb__comm_calls calls = {gather, bcast, send_to, receive, exchange, split, warn, warned, close_rank};

typedef qb_status rank_work(qb__comm *comm, void *context);

typedef struct rank {
    pthread_t thread;
    rank_work *work;
    void *context;
    qb__comm *comm;
    qb_status status;
    char words[1024];
} rank;

static void *run_rank(void *own) {
    rank *r = own;
    r->status = r->work(r->comm, r->context);
    r->status = qb_ranks_agree(r->comm, r->status, NULL);
    snprintf(r->words, sizeof r->words, "%s", r->status == QB_OK ? "" : qb_detail());
    qb_ranks_close(r->comm);
    return NULL;
}

/* Runs `work` on all ranks. All must return the same status, which this returns too, with the words in `words`. An
 * alarm ends a test whose ranks wait for ever. */
static qb_status together(int count, rank_work *work, void *context, char words[1024]) {
    rank all[MOST];
    memset(&world.warnings, 0, sizeof world.warnings);
    memset(&has_warned, 0, sizeof has_warned);
    world.count = world.group->count = count;
    world.groups = 1;
    pthread_barrier_init(&world.group->all, NULL, (unsigned)count);
    alarm(1500);
    for (int i = 0; i < count; i++) {
        all[i] = (rank){.work = work, .context = context};
        assert_ok(qb__alloc(1, sizeof *all[i].comm, &all[i].comm));
        *all[i].comm = (qb__comm){.calls = &calls,
                                  .own = world.group,
                                  .rank = i,
                                  .count = count,
                                  .here = count,
                                  .sharing = count,
                                  .host = "here"};
        assert_ok(qb__comm_begin(all[i].comm));
    }
    for (int i = 0; i < count; i++) assert_int_equal(pthread_create(&all[i].thread, NULL, run_rank, &all[i]), 0);
    for (int i = 0; i < count; i++) pthread_join(all[i].thread, NULL);
    alarm(0);
    for (int i = 0; i < world.groups; i++) pthread_barrier_destroy(&world.group[i].all);
    for (int i = 1; i < count; i++) {
        assert_int_equal((int)all[i].status, (int)all[0].status);
        assert_string_equal(all[i].words, all[0].words);
    }
    assert_false(miscounted);
    snprintf(words, 1024, "%s", all[0].words);
    return all[0].status;
}

#endif
